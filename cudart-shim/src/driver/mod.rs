//! The driver API, `libcuda.so.1`: one file per area.

#![allow(non_snake_case)]

mod error;

pub(crate) use error::*;
