//! The suite of every store, and what only the store in files does.

mod caring;
mod erasing;
mod failing;
mod faults;
mod fresh;
mod held;
mod opening;
mod packing;
mod searching;
mod slow;
mod uploading;

use session::{NodeId, SessionId};
use uuid::Uuid;

mod memory {
    store::conformance_suite!(crate::fresh::Memory);
}

mod sqlite {
    store::conformance_suite!(crate::fresh::Directories::new());
}

mod postgres {
    store::conformance_suite!(crate::fresh::Schemas::new());
}

fn session_id(number: u128) -> SessionId {
    SessionId(Uuid::from_u128(number))
}

fn node(number: u128) -> NodeId {
    NodeId(Uuid::from_u128(number))
}
