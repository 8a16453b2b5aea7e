//! The suite of every store, and what only the store in files does.

mod fresh;

mod memory {
    store::conformance_suite!(crate::fresh::Memory);
}

mod sqlite {
    store::conformance_suite!(crate::fresh::Directory::new());
}
