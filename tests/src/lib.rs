//! Code shared by the cross-crate suites and `cargo xtask`: the catalogue of CUDA programs, rules for texts,
//! the book, and the module graph.

pub mod book;
pub mod catalogue;
pub mod module_graph;
pub mod tidy;
