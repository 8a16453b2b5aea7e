//! The contract, rule by rule, through the hub on the SQLite store. A test's name starts with its rule's id.

mod first;
