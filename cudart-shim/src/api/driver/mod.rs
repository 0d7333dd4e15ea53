//! The driver API, `libcuda.so.1`: one file per area.

#![allow(non_snake_case)]

mod array;
mod array_copy;
mod context;
mod copy;
mod coredump;
mod device;
mod entry_point;
mod error;
mod event;
mod function;
mod interprocess;
pub(crate) mod legacy_launch;
mod library;
pub(crate) mod linker;
mod memory;
mod memory_operation;
mod module;
mod multicast;
mod pool;
mod stream;
mod tensor_map;
mod texture;
mod texture_reference;
mod virtual_memory;

pub(crate) use crate::api::graph::driver::*;
pub(crate) use crate::api::shared::driver::*;
pub(crate) use array::*;
pub(crate) use array_copy::*;
pub(crate) use context::*;
pub(crate) use copy::*;
pub(crate) use coredump::*;
pub(crate) use device::*;
pub(crate) use entry_point::*;
pub(crate) use error::*;
pub(crate) use event::*;
pub(crate) use function::*;
pub(crate) use interprocess::*;
pub(crate) use legacy_launch::*;
pub(crate) use library::*;
pub(crate) use linker::*;
pub(crate) use memory::*;
pub(crate) use memory_operation::*;
pub(crate) use module::*;
pub(crate) use multicast::*;
pub(crate) use pool::*;
pub(crate) use stream::*;
pub(crate) use tensor_map::*;
pub(crate) use texture::*;
pub(crate) use texture_reference::*;
pub(crate) use virtual_memory::*;
