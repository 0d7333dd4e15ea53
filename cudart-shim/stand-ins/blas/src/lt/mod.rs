//! cuBLASLt: products that descriptors describe, with epilogues.

pub(crate) mod algorithm;
pub(crate) mod descriptor;
pub(crate) mod matmul;
