//! Nothing but its dependencies: cargo compiles a dependency once for each set of features, and all
//! that depends on it. The libraries are built alone, by the command and by the tests; with the
//! features here that is what has been compiled for the command, and by `cargo test --workspace`,
//! already.
