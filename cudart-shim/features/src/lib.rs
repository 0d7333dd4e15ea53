//! Nothing but its dependencies: cargo compiles a dependency once for each set of features, and all that depends on it. The
//! tests build the libraries alone; with the features here that is what `cargo test --workspace` has compiled already.
