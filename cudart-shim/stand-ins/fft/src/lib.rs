//! `libcufft.so` of CUDA 10 to 13, in place of the vendor's library where this cannot run.
//!
//! A plan is a list of passes. Each is a launch of a kernel that is ours (`kernels/fft`), on the stream
//! of the plan, through the driver. Enumerations and signatures follow the documentation of cuFFT.
//! Functions without a body return `CUFFT_NOT_SUPPORTED`, and a message names each once.

#![allow(unsafe_code)]
// Signatures are those of cuFFT.
#![allow(clippy::too_many_arguments)]
// A test exports no symbols.
#![cfg_attr(test, allow(dead_code))]

mod execute;
// A test has no symbol versions.
#[cfg(not(test))]
mod exports;
mod kernels;
mod lengths;
mod make;
mod plan;
mod request;
mod status;
mod steps;
mod tables;
