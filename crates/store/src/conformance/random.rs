//! x
pub async fn random_operations_give_what_the_reference_store_gives(_fresh: &dyn super::Fresh) {}
