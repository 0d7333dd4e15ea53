//! Dependencies with the union of their features. Cargo compiles a dependency, and all that depends
//! on it, once for each set of features. The command and the tests build the libraries alone; with
//! the features here, the builds of the command and of `cargo test --workspace` serve them.
