//! The runtime API, `libcudart.so.*`: one file per area.

#![allow(non_snake_case)]

mod error;
mod registration;

pub(crate) use error::*;
pub(crate) use registration::*;
