//! Calls that have the same arguments in both APIs, written once; those of graphs lie beside the graphs.

#![allow(non_snake_case)]

mod batch_copy;
mod error_log;
mod managed;

pub(crate) mod runtime {
    pub(crate) use super::batch_copy::runtime::*;
    pub(crate) use super::error_log::runtime::*;
    pub(crate) use super::managed::runtime::*;
}

pub(crate) mod driver {
    pub(crate) use super::batch_copy::driver::*;
    pub(crate) use super::error_log::driver::*;
    pub(crate) use super::managed::driver::*;
}
