//! Shared by the suites that span crates and `cargo xtask`: the catalogue of CUDA programs, rules for texts, the
//! book, the graph of modules.

pub mod book;
pub mod catalogue;
pub mod module_graph;
pub mod tidy;
