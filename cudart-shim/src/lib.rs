//! Core library behind `libcudart.so.*`, `libcuda.so.1` and `libnvidia-ml.so.1`: the CUDA API on
//! top of the simulator.
//!
//! The front libraries contain only jumps through tables, which [`core::bind`] fills from the tables
//! of `api`.
//!
//! | folder | content | may use |
//! |---|---|---|
//! | `host` | the process: environment, log, output files, mapped files | |
//! | `abi` | types, handles and error codes of the API; no state | `host` |
//! | `code` | registered fat binaries, and the PTX in images | those above |
//! | `profile` | the device as the program sees it | those above |
//! | `objects` | memory, arrays, textures, pools, modules, contexts | those above |
//! | `work` | device work as data: launches, copies, fills | those above |
//! | `graph` | CUDA graphs | those above |
//! | `session` | the launch pipeline and its observers | those above |
//! | `root` | the session of the process, for entry points | those above |
//! | `api` | bodies of the exported functions, and their tables | those above |
//! | [`core`] | entry point of the fronts | all |

#![allow(unsafe_code)]

mod abi;
mod api;
mod code;
pub mod core;
mod graph;
mod host;
mod objects;
mod profile;
mod root;
mod session;
mod work;

pub use abi::error::Error;
