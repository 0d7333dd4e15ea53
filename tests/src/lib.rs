//! Shared by the suites that span crates and `cargo xtask`: the catalogue of CUDA programs, rules for texts, the
//! book.

pub mod book;
pub mod catalogue;
pub mod tidy;
