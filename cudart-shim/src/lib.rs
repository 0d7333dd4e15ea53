//! Core library behind `libcudart.so.*`, `libcuda.so.1` and `libnvidia-ml.so.1`: the CUDA API on
//! top of the simulator.
//!
//! The front libraries contain only jumps through tables, which [`core::bind`] fills with the
//! functions of [`api`].
//!
//! | folder | content | may use |
//! |---|---|---|
//! | [`host`] | the process: environment, log, output files, mapped files | |
//! | [`abi`] | types, handles and error codes of the API; no state | `host` |
//! | [`profile`] | the device as the program sees it | `host`, `abi` |
//! | [`objects`] | memory, arrays, textures, pools, modules | those above |
//! | [`graph`] | CUDA graphs | those above |
//! | [`session`] | the launch pipeline and its observers | those above |
//! | [`api`] | bodies of the exported functions | those above |
//! | [`core`] | tables of the fronts | all |

#![allow(unsafe_code)]

mod abi;
mod api;
pub mod core;
mod graph;
mod host;
mod objects;
mod profile;
mod session;

pub use abi::error::Error;
