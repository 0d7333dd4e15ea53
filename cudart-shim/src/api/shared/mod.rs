//! Calls with equal arguments in both APIs, written once. Graph calls are in [`super::graph`].

#![allow(non_snake_case)]

mod array;
mod batch_copy;
mod error_log;
mod external_memory;
mod interprocess;
mod library;
mod managed;
mod stream;

pub(crate) mod runtime {
    pub(crate) use super::array::runtime::*;
    pub(crate) use super::batch_copy::runtime::*;
    pub(crate) use super::error_log::runtime::*;
    pub(crate) use super::external_memory::runtime::*;
    pub(crate) use super::interprocess::runtime::*;
    pub(crate) use super::library::runtime::*;
    pub(crate) use super::managed::runtime::*;
    pub(crate) use super::stream::runtime::*;
}

pub(crate) mod driver {
    pub(crate) use super::array::driver::*;
    pub(crate) use super::batch_copy::driver::*;
    pub(crate) use super::error_log::driver::*;
    pub(crate) use super::external_memory::driver::*;
    pub(crate) use super::interprocess::driver::*;
    pub(crate) use super::library::driver::*;
    pub(crate) use super::managed::driver::*;
    pub(crate) use super::stream::driver::*;
}
