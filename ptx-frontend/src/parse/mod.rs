//! Parsing: a fast outline of the module, then the pest grammar on single functions.

pub mod comment;
pub mod constant;
pub mod grammar;
pub mod outline;
pub mod tree;

pub use outline::{FunctionItem, FunctionKind, Outline};
