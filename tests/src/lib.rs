//! What the suites that span crates share with `cargo xtask`: the catalogue of CUDA programs.

pub mod catalogue;
