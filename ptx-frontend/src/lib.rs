//! From a fat binary to a decoded kernel: containers, PTX text, typed intermediate form, validation, analysis.

pub mod container;
pub mod ir;
pub mod isa;
