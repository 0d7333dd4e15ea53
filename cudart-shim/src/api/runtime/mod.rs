//! The runtime API, `libcudart.so.*`: one file per area.

#![allow(non_snake_case)]

mod array;
mod array_copy;
mod copy;
mod device;
mod entry_point;
mod error;
mod event;
mod function;
mod interprocess;
mod launch;
mod memory;
mod pointer;
mod pool;
mod registration;
mod stream;
mod symbol;
mod texture;
mod texture_reference;

pub(crate) use crate::api::graph::runtime::*;
pub(crate) use crate::api::shared::runtime::*;
pub(crate) use array::*;
pub(crate) use array_copy::*;
pub(crate) use copy::*;
pub(crate) use device::*;
pub(crate) use entry_point::*;
pub(crate) use error::*;
pub(crate) use event::*;
pub(crate) use function::*;
pub(crate) use interprocess::*;
pub(crate) use launch::*;
pub(crate) use memory::*;
pub(crate) use pointer::*;
pub(crate) use pool::*;
pub(crate) use registration::*;
pub(crate) use stream::*;
pub(crate) use symbol::*;
pub(crate) use texture::*;
pub(crate) use texture_reference::*;
