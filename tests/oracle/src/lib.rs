//! Single instructions against independent answers: every form of the op table whose results depend on its register
//! operands alone, in every combination of types and modifiers, on edge values and random ones.
//!
//! [`variant`] reads the combinations off the op table, [`operands`] makes rows of values, [`kernel`] writes the PTX
//! that executes one combination on all rows, [`machine`] runs it, and [`oracle`] says what must come out. Nothing here
//! shares code with the engine: integers are computed in 128 bits as the manual's pseudocode has it, floating-point
//! numbers by `rustc_apfloat`. [`assembler`] asks the vendor's which instructions there are.

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
