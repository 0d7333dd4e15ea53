//! The engine: frames of register rows, warp-wide ops, divergence, CTAs and grids.

pub mod access;
pub mod arithmetic;
pub mod barrier;
pub mod call;
pub mod cluster;
pub mod constants;
pub mod cta;
pub mod divergence;
pub mod frame;
pub mod grid;
pub mod isa;
pub mod lane;
pub mod machine;
pub mod members;
pub mod native;
pub mod op;
mod passing;
mod printf;
pub mod probe;
pub mod program;
pub mod running;
pub mod shapes;
pub(crate) mod sparse;
pub mod special;
mod spin;
pub(crate) mod stepping;
pub mod view;
