//! From a fat binary to a decoded kernel: containers, PTX text, typed intermediate form, validation, analysis.

// The code that pest generates names it.
extern crate alloc;

pub mod analyse;
pub mod cache;
pub mod container;
pub mod diagnostic;
pub mod disassemble;
pub mod instrument;
pub mod ir;
pub mod isa;
pub mod judge;
pub mod link;
pub mod lower;
pub mod module;
pub mod parse;
pub mod resolve;
pub mod source;
pub mod usage;
pub mod validate;

pub use diagnostic::Diagnostic;
pub use module::{Error, Module};
