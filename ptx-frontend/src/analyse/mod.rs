//! Analyses of a function's code: control flow, post-dominators, liveness.

mod dot;
mod flow;
mod liveness;
mod parameters;
mod registers;
mod written;

pub use dot::dot;
pub use flow::{Block, BlockId, ControlFlow};
pub use liveness::Liveness;
pub use parameters::ParametersRead;
pub use registers::{reads, writes};
pub use written::Written;
