//! Structures of nodes. Most are equal in both APIs; [`Api`] selects where they differ.

use super::kernel_structures::KernelParameters;
use crate::abi::call::Api;
use crate::abi::error::{Error, Result};
use crate::abi::{Address, ContextHandle, EventHandle, In};
use crate::api::driver::DriverCopy3d;
use crate::api::runtime::{Copy3d, PoolProperties, home_of_properties};
use crate::graph::conditional::{Condition, Conditional, Form};
use crate::graph::handle::{GraphHandle, NodeHandle};
use crate::graph::node::Kind;
use crate::graph::topology::Edge;
use crate::host::log;
use crate::objects::rows::{Extent, Side};
use crate::root::session;
use crate::session::context;
use crate::session::simulator::Simulator;
use crate::work::copy::{Fill, Pattern};
use crate::work::host_call::{HostCall, HostFunction};
use crate::work::memory_operation;
use crate::work::memory_operation::{Batch, Parameters};
use crate::work::operation::Operation;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

/// `cudaMemsetParams`, `CUDA_MEMSET_NODE_PARAMS`: the width is in elements.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct FillParameters {
    address: Address,
    pitch: usize,
    value: c_uint,
    element_bytes: c_uint,
    width: usize,
    height: usize,
}

/// `cudaHostNodeParams`, `CUDA_HOST_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct HostParameters {
    function: HostFunction,
    argument: *mut c_void,
}

/// `cudaMemAllocNodeParams`, `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct AllocationParameters {
    pool: PoolProperties,
    more_of_pool: [u64; 9],
    access: usize,
    access_count: usize,
    bytes: usize,
    address: Address,
}

/// `CUDA_BATCH_MEM_OP_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct MemoryOperationParameters {
    context: ContextHandle,
    count: c_uint,
    operations: In<Parameters>,
    flags: c_uint,
}

/// `cudaConditionalNodeParams`, `CUDA_CONDITIONAL_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ConditionalParameters {
    handle: u64,
    form: c_int,
    count: c_uint,
    /// Address of the bodies' handles, valid while the node lives.
    bodies: *const GraphHandle,
    context: ContextHandle,
}

/// `cudaChildGraphNodeParams`, `CUDA_CHILD_GRAPH_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ChildParameters {
    graph: GraphHandle,
    /// 0 clones the graph, 1 moves it.
    ownership: c_int,
}

/// `cudaMemcpyNodeParams`, `CUDA_MEMCPY_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct CopyParameters<T> {
    flags: c_int,
    reserved: c_int,
    context: ContextHandle,
    copy: T,
}

/// Words of the union in [`NodeParameters`].
const UNION_WORDS: usize = 29;

/// `cudaGraphNodeParams`, `CUgraphNodeParams`: the type of a node, and one of the structures above.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct NodeParameters {
    kind: c_int,
    reserved: [c_int; 3],
    union: [u64; UNION_WORDS],
    reserved_too: i64,
}

impl NodeParameters {
    fn read<T: Copy>(&self) -> T {
        const { assert!(size_of::<T>() <= UNION_WORDS * 8) };
        // SAFETY: the union is as large as `T`, which is plain data of the C API.
        unsafe { self.union.as_ptr().cast::<T>().read_unaligned() }
    }

    fn write<T: Copy>(&mut self, value: T) {
        const { assert!(size_of::<T>() <= UNION_WORDS * 8) };
        // SAFETY: as in `read`.
        unsafe { self.union.as_mut_ptr().cast::<T>().write_unaligned(value) };
    }

    /// Type of the node.
    pub(crate) fn number(&self) -> c_int {
        self.kind
    }

    /// Structure of a kernel node.
    pub(crate) fn kernel(&self) -> Option<KernelParameters> {
        (self.kind == 0).then(|| self.read())
    }

    /// The graph of a child node.
    pub(crate) fn child(&self) -> Option<GraphHandle> {
        (self.kind == 4).then(|| self.read::<ChildParameters>().graph)
    }

    /// Rejects external semaphores and copy batches, which are not simulated.
    fn check_is_simulated(&self) -> Result<()> {
        if matches!(self.kind, 8 | 9 | 14..) {
            log::report(|| format!("graph nodes of type {} are not simulated", self.kind));
            return Err(Error::NotSupported);
        }
        Ok(())
    }
}

impl FillParameters {
    pub(crate) fn kind(&self, simulator: &Simulator) -> Result<Kind> {
        let pattern = match self.element_bytes {
            1 => Pattern::Byte(self.value as u8),
            2 => Pattern::Half(self.value as u16),
            4 => Pattern::Word(self.value),
            _ => return Err(Error::InvalidValue),
        };
        let width = self.width.checked_mul(pattern.size()).ok_or(Error::InvalidValue)?;
        let extent = Extent { width, height: self.height, depth: 1 };
        let side = Side::rows(self.address.0, self.pitch);
        let fill = Fill::new(simulator, side, pattern, extent)?;
        Ok(Kind::Operation(Operation::Fill(fill.ok_or(Error::InvalidValue)?)))
    }

    pub(crate) fn of(kind: &Kind) -> Result<Self> {
        let Kind::Operation(Operation::Fill(Fill { to, pattern, extent })) = kind else {
            return Err(Error::InvalidValue);
        };
        let (value, element_bytes) = match *pattern {
            Pattern::Byte(value) => (value.into(), 1),
            Pattern::Half(value) => (value.into(), 2),
            Pattern::Word(value) => (value, 4),
        };
        let width = extent.width / pattern.size();
        let (address, pitch, height) = (Address(to.address), to.pitch, extent.height);
        Ok(Self { address, pitch, value, element_bytes, width, height })
    }
}

impl HostParameters {
    pub(crate) fn kind(&self) -> Result<Kind> {
        Ok(Kind::Operation(Operation::Host(HostCall::new(self.function, self.argument)?)))
    }

    pub(crate) fn of(kind: &Kind) -> Result<Self> {
        let Kind::Operation(Operation::Host(call)) = kind else { return Err(Error::InvalidValue) };
        let (function, argument) = call.parts();
        Ok(Self { function, argument })
    }
}

impl AllocationParameters {
    /// Allocates device memory and records its address.
    pub(crate) fn kind(&mut self, simulator: &Simulator) -> Result<Kind> {
        let home = home_of_properties(self.pool)?;
        if home.device != simulator.ordinal {
            return Err(Error::InvalidDevice);
        }
        let kind = simulator.allocation_kind(self.bytes, home)?;
        if let Kind::Allocate(reservation) = &kind {
            self.address = Address(reservation.address as usize);
        }
        Ok(kind)
    }

    pub(crate) fn of(kind: &Kind) -> Result<Self> {
        let Kind::Allocate(reservation) = kind else { return Err(Error::InvalidValue) };
        Ok(Self {
            pool: PoolProperties::of_device(),
            more_of_pool: [0; 9],
            access: 0,
            access_count: 0,
            bytes: reservation.bytes as usize,
            address: Address(reservation.address as usize),
        })
    }
}

impl MemoryOperationParameters {
    pub(crate) fn kind(&self, simulator: &Simulator) -> Result<Kind> {
        context::check(session(), self.context)?;
        simulator.memory_operations(self.count, self.operations, self.flags).map(Kind::Operation)
    }

    pub(crate) fn of(kind: &Kind) -> Result<Self> {
        let Kind::Operation(Operation::MemoryOperations(batch)) = kind else {
            return Err(Error::InvalidValue);
        };
        Ok(Self {
            context: context::current().unwrap_or(ContextHandle(0)),
            count: batch.parameters().len() as c_uint,
            operations: In::new(batch.parameters().as_ptr()),
            flags: 0,
        })
    }
}

impl Simulator {
    /// Validates memory operations.
    pub(crate) fn memory_operations(
        &self,
        count: c_uint,
        operations: In<Parameters>,
        flags: c_uint,
    ) -> Result<Operation> {
        if count > MOST_MEMORY_OPERATIONS || flags != 0 {
            return Err(Error::InvalidValue);
        }
        let operations: Vec<_> = operations
            .list(count as usize)?
            .iter()
            .map(memory_operation::Operation::from_parameters)
            .collect::<Result<_>>()?;
        let batch = Batch::new(&self.device.memory, &operations)?;
        Ok(Operation::MemoryOperations(Arc::new(batch)))
    }

    /// Kind of a node in the generic structure of both APIs. Creates bodies of conditional nodes.
    pub(crate) fn kind_of_parameters(
        &self,
        api: Api,
        graph: GraphHandle,
        parameters: &mut NodeParameters,
    ) -> Result<Kind> {
        parameters.check_is_simulated()?;
        match parameters.kind {
            0 => parameters.read::<KernelParameters>().kind(self, api, None),
            1 => {
                let copy = match api {
                    Api::Runtime => parameters.read::<CopyParameters<Copy3d>>().copy.check(self)?,
                    Api::Driver => parameters.read::<CopyParameters<DriverCopy3d>>().copy.check(self)?,
                };
                Ok(Kind::Operation(Operation::Copy(copy.ok_or(Error::InvalidValue)?)))
            }
            2 => parameters.read::<FillParameters>().kind(self),
            3 => parameters.read::<HostParameters>().kind(),
            4 => {
                let ChildParameters { graph, ownership } = parameters.read();
                self.child_kind(graph, ownership)
            }
            5 => Ok(Kind::Empty),
            6 => self.event_kind(parameters.read(), Kind::EventWait),
            7 => self.event_kind(parameters.read(), Kind::EventRecord),
            10 => {
                let mut allocation: AllocationParameters = parameters.read();
                let kind = allocation.kind(self)?;
                parameters.write(allocation);
                Ok(kind)
            }
            11 => Ok(Kind::Free(parameters.read::<Address>().0 as u64)),
            12 if api == Api::Driver => parameters.read::<MemoryOperationParameters>().kind(self),
            13 => {
                let mut conditional: ConditionalParameters = parameters.read();
                let kind = self.conditional_kind(graph, &mut conditional)?;
                parameters.write(conditional);
                Ok(kind)
            }
            _ => Err(Error::InvalidValue),
        }
    }

    /// Kind of an event node.
    pub(crate) fn event_kind(&self, event: EventHandle, kind: impl Fn(EventHandle) -> Kind) -> Result<Kind> {
        self.engine.event_flags(self.event(event)?)?;
        Ok(kind(event))
    }

    fn conditional_kind(&self, graph: GraphHandle, parameters: &mut ConditionalParameters) -> Result<Kind> {
        let form = Form::new(parameters.form, parameters.count)?;
        if parameters.count > MOST_BODIES {
            return Err(Error::InvalidValue);
        }
        let mut graphs = self.graphs.lock();
        let condition: Arc<Condition> = graphs.unused_condition(graph, parameters.handle)?;
        let bodies: Arc<[GraphHandle]> = (0..parameters.count).map(|_| graphs.create_body()).collect();
        parameters.bodies = bodies.as_ptr();
        Ok(Kind::Conditional(Conditional { condition, form, bodies }))
    }

    /// Describes a node.
    pub(crate) fn describe_node(&self, api: Api, node: NodeHandle) -> Result<NodeParameters> {
        let graphs = self.graphs.lock();
        let kind = &graphs.node(node)?.kind;
        let mut parameters = NodeParameters {
            kind: kind.number(),
            reserved: [0; 3],
            union: [0; UNION_WORDS],
            reserved_too: 0,
        };
        match kind {
            Kind::Operation(Operation::Kernel(_)) => parameters.write(KernelParameters::of(api, kind)?),
            Kind::Operation(Operation::Copy(copy)) => {
                let context = context::current().unwrap_or(ContextHandle(0));
                match api {
                    Api::Runtime => {
                        let copy = Copy3d::of(self, copy)?;
                        let context = ContextHandle(0);
                        parameters.write(CopyParameters { flags: 0, reserved: 0, context, copy });
                    }
                    Api::Driver => {
                        let copy = DriverCopy3d::of(copy);
                        parameters.write(CopyParameters { flags: 0, reserved: 0, context, copy });
                    }
                }
            }
            Kind::Operation(Operation::Fill(_)) => parameters.write(FillParameters::of(kind)?),
            Kind::Operation(Operation::Host(_)) => parameters.write(HostParameters::of(kind)?),
            Kind::Operation(Operation::MemoryOperations(_)) => {
                parameters.write(MemoryOperationParameters::of(kind)?);
            }
            Kind::Operation(_) => return Err(Error::NotSupported),
            Kind::Child(graph) => parameters.write(ChildParameters { graph: *graph, ownership: 0 }),
            Kind::Empty => {}
            Kind::EventWait(event) | Kind::EventRecord(event) => parameters.write(*event),
            Kind::Allocate(_) => parameters.write(AllocationParameters::of(kind)?),
            Kind::Free(address) => parameters.write(*address),
            Kind::Conditional(Conditional { condition, form, bodies }) => {
                parameters.write(ConditionalParameters {
                    handle: condition.handle(),
                    form: form.number(),
                    count: bodies.len() as c_uint,
                    bodies: bodies.as_ptr(),
                    context: context::current().unwrap_or(ContextHandle(0)),
                });
            }
        }
        Ok(parameters)
    }
}

/// Most bodies of a conditional node.
const MOST_BODIES: c_uint = 1 << 16;
/// Most operations of a batch (`cuStreamBatchMemOp`).
const MOST_MEMORY_OPERATIONS: c_uint = 256;

/// Dependencies with edge data; edges are plain by default.
pub(crate) fn dependencies(
    nodes: In<NodeHandle>,
    edges: In<Edge>,
    count: usize,
) -> Result<Vec<(NodeHandle, Edge)>> {
    let nodes = nodes.list(count)?;
    let edges = edges_of(edges, count)?;
    Ok(nodes.into_iter().zip(edges).collect())
}

/// Edge data.
pub(crate) fn edges_of(edges: In<Edge>, count: usize) -> Result<Vec<Edge>> {
    if edges.address() == 0 {
        return Ok(vec![Edge::default(); count]);
    }
    let edges = edges.list(count)?;
    // Source ports of kernels: at the end, at programmatic launch, at the CTAs' start. Kinds:
    // plain, programmatic.
    let is_known =
        |edge: &Edge| edge.from_port <= 2 && edge.to_port == 0 && edge.kind <= 1 && edge.reserved == [0; 5];
    if edges.iter().all(is_known) { Ok(edges) } else { Err(Error::InvalidValue) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_original_sizes() {
        assert_eq!(size_of::<NodeParameters>(), 256);
        assert_eq!((size_of::<FillParameters>(), size_of::<HostParameters>()), (40, 16));
        assert_eq!((size_of::<AllocationParameters>(), size_of::<MemoryOperationParameters>()), (120, 32));
        assert_eq!((size_of::<ConditionalParameters>(), size_of::<Edge>()), (32, 8));
    }
}
