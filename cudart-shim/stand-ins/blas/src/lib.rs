//! `libcublas.so` and `libcublasLt.so` of CUDA 11, 12 and 13, in place of the vendor's libraries
//! where these cannot run.
//!
//! The bodies make launches of kernels that are ours (`kernels/blas`), on the stream of the handle,
//! through the driver. Enumerations and signatures follow the documentation of cuBLAS. A case
//! without a kernel returns `CUBLAS_STATUS_NOT_SUPPORTED`, and a message names each once.

#![allow(unsafe_code)]
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
mod lt;
mod product;
mod status;
