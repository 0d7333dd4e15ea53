//! Tests of single instructions against independent oracles. They cover every form whose results depend
//! only on register operands, in every combination of types and modifiers, with edge and random values.
//!
//! [`variant`] enumerates the combinations of the op table. [`operands`] generates rows of values.
//! [`kernel`] writes PTX that executes one combination on all rows. [`machine`] runs the PTX, and
//! [`oracle`] gives the allowed results. No code is shared with the engine: integers use 128-bit arithmetic
//! after the manual's pseudocode, and floating-point numbers use `rustc_apfloat`. [`assembler`] compares
//! the op table with the vendor's assembler.

pub mod assembler;
pub mod case;
pub mod format;
pub mod kernel;
pub mod machine;
pub mod operands;
pub mod oracle;
pub mod random;
pub mod recording;
pub mod sweep;
pub mod variant;
