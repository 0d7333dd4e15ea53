//! Attributes of kernel nodes (`cudaGraphKernelNodeSetAttribute`), numbered as launch attributes.

use super::handle::NodeHandle;
use super::node::{Kind, Node};
use crate::abi::error::{Error, Result};
use crate::abi::launch_attribute::{LaunchAttributes, number};
use crate::graph::device::GraphDevice;
use crate::host::log;
use crate::work::kernel_launch::KernelLaunch;
use crate::work::operation::Operation;
use std::sync::Arc;

/// Value of an attribute; the number determines the meaning.
pub(crate) type Value = [u32; 16];

fn launch_of(node: &Node) -> Result<&Arc<KernelLaunch>> {
    match &node.kind {
        Kind::Operation(Operation::Kernel(launch)) => Ok(launch),
        _ => Err(Error::InvalidValue),
    }
}

impl GraphDevice {
    /// An attribute of a kernel node; zeros if unset.
    pub(crate) fn kernel_node_attribute(&self, handle: NodeHandle, attribute: u32) -> Result<Value> {
        let graphs = self.graphs.lock();
        let node = graphs.node(handle)?;
        let LaunchAttributes { cooperative, cluster } = launch_of(node)?.sizes.attributes;
        let mut value = [0; 16];
        match attribute {
            number::COOPERATIVE => value[0] = cooperative.into(),
            number::CLUSTER_DIMENSION => value[..3].copy_from_slice(&cluster.unwrap_or_default()),
            _ if number::HINTS.contains(&attribute) => {
                value = node.hints.get(&attribute).copied().unwrap_or_default();
            }
            _ => return Err(Error::InvalidValue),
        }
        Ok(value)
    }

    /// Sets an attribute of a kernel node.
    pub(crate) fn set_kernel_node_attribute(
        &self,
        handle: NodeHandle,
        attribute: u32,
        value: Value,
    ) -> Result<()> {
        let mut graphs = self.graphs.lock();
        let node = graphs.node_mut(handle)?;
        let launch = launch_of(node)?;
        let mut sizes = launch.sizes;
        match (attribute, value) {
            (number::COOPERATIVE, [flag, ..]) => sizes.attributes.cooperative = flag != 0,
            (number::CLUSTER_DIMENSION, [x, y, z, ..]) => {
                sizes.attributes.cluster = ([x, y, z] != [0; 3]).then_some([x, y, z]);
            }
            (number::DEVICE_UPDATABLE, [flag, ..]) if flag != 0 => {
                log::report(|| "updates of kernel nodes by kernels are not simulated".to_owned());
                return Err(Error::NotSupported);
            }
            _ if number::HINTS.contains(&attribute) => {
                node.hints.insert(attribute, value);
                return Ok(());
            }
            _ => return Err(Error::InvalidValue),
        }
        let changed = self.resized_launch(launch, sizes)?;
        node.kind = Kind::Operation(Operation::Kernel(Arc::new(changed)));
        Ok(())
    }

    /// Copies all attributes of a kernel node to another.
    pub(crate) fn copy_kernel_node_attributes(&self, to: NodeHandle, from: NodeHandle) -> Result<()> {
        let mut graphs = self.graphs.lock();
        let source = graphs.node(from)?;
        let (attributes, hints) = (launch_of(source)?.sizes.attributes, source.hints.clone());
        let target = graphs.node_mut(to)?;
        let launch = launch_of(target)?;
        let sizes = crate::abi::launch_sizes::Sizes { attributes, ..launch.sizes };
        let changed = self.resized_launch(launch, sizes)?;
        target.kind = Kind::Operation(Operation::Kernel(Arc::new(changed)));
        target.hints = hints;
        Ok(())
    }
}
