//! `libcublas.so` and `libcublasLt.so` of CUDA 11, 12 and 13, in place of the vendor's libraries
//! where these cannot run.
//!
//! The bodies make launches of kernels that are ours (`kernels/blas`), on the stream of the handle,
//! through the driver. Enumerations and signatures follow the documentation of cuBLAS. Functions
//! without a body and cases without a kernel return `CUBLAS_STATUS_NOT_SUPPORTED`, and
//! a message names each once.

#![allow(unsafe_code)]
// Signatures are those of cuBLAS.
#![allow(clippy::too_many_arguments)]
// A test exports no symbols.
#![cfg_attr(test, allow(dead_code))]

mod arguments;
mod element;
// A test has no symbol versions.
#[cfg(not(test))]
mod exports;
mod gemm;
mod handle;
mod kernels;
mod level1;
mod level2;
mod level3;
mod lt;
mod mixed;
mod product;
// As above.
#[cfg(not(test))]
mod refused;
mod shaped;
mod solve;
mod status;
mod transfer;
