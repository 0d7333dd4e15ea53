//! A device with its graphs.

use super::node::Kind;
use super::store::Graphs;
use crate::abi::error::{Error, Result};
use crate::objects::device::DeviceObjects;
use crate::objects::graph_memory::Reservation;
use crate::objects::pool::Home;
use parking_lot::Mutex;
use std::ops::Deref;
use std::sync::Arc;

/// A device's objects and graphs.
pub(crate) struct GraphDevice {
    base: &'static DeviceObjects,
    pub(crate) graphs: Arc<Mutex<Graphs>>,
}

impl Deref for GraphDevice {
    type Target = DeviceObjects;

    fn deref(&self) -> &DeviceObjects {
        self.base
    }
}

impl GraphDevice {
    /// A device without graphs.
    pub(crate) fn new(base: &'static DeviceObjects) -> Self {
        Self { base, graphs: Arc::new(Mutex::new(Graphs::of_device(base.shared, base.ordinal))) }
    }

    /// Kind of an allocation node.
    pub(crate) fn allocation_kind(&self, bytes: usize, home: Home) -> Result<Kind> {
        let address = self.allocate(bytes, home.kind(), 0)?;
        if address == 0 {
            return Err(Error::InvalidValue);
        }
        Ok(Kind::Allocate(Arc::new(Reservation::new(self.shared, address, bytes as u64))))
    }
}
