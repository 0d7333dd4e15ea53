//! Allocations and releases of memory that streams and captures order.

use crate::abi::error::Result;
use crate::abi::{Address, DefaultStream, Out, PoolHandle, StreamHandle};
use crate::host::present_call;
use crate::objects::graph_memory;
use crate::objects::pool;
use crate::session::simulator::Simulator;
use crate::session::streams::of_stream;
use crate::work::operation::Operation;
use functional::memory::AllocationKind;
use stream_engine::{Scope, StreamId};

/// Kinds of memory that a stream frees. Managed memory is freed in a stream only if it comes from a
/// pool.
const STREAM_KINDS: [AllocationKind; 2] = [AllocationKind::Device, AllocationKind::Managed];
impl Simulator {
    /// Allocates from a pool in a stream. Without a pool, uses the current pool of the stream's
    /// device.
    pub(crate) fn allocate_from_pool(
        &self,
        result: Out<Address>,
        size: usize,
        pool: Option<PoolHandle>,
        stream: StreamHandle,
        default: DefaultStream,
    ) -> Result<()> {
        result.check()?;
        let owner = of_stream(self.session, stream)?;
        let stream = owner.stream(stream, default)?;
        owner.engine.stream_info(stream)?;
        let pool = pool.unwrap_or_else(|| pool::current_pool(self.shared, owner.ordinal));
        let home = pool::home_to_allocate(self.shared, pool)?;
        if let Some(address) = owner.allocate_captured(stream, size.max(1), home)? {
            return result.set(Address(address as usize));
        }
        let address = self.session.simulator_of(home.device)?.allocate(size, home.kind(), 0)?;
        if address != 0 {
            pool::note_allocation(self.shared, pool, address, size as u64);
        }
        result.set(Address(address as usize))
    }

    /// Waits for the device, then frees an allocation of one of these kinds. Freeing the address 0
    /// does nothing.
    pub(crate) fn free(&self, address: u64, kinds: &[AllocationKind]) -> Result<()> {
        self.check_unsafe_call()?;
        self.engine.synchronize(Scope::Context)?;
        if address == 0 {
            return Ok(());
        }
        let owner = self.owner(address);
        if owner.ordinal != self.ordinal {
            owner.engine.synchronize(Scope::Context)?;
        }
        owner.check_start(address, kinds)?;
        if graph_memory::is_reserved(self.shared, address) {
            return graph_memory::end_life(self.shared, address);
        }
        owner.release(address, present_call::origin())
    }

    /// Frees device memory in stream order.
    pub(crate) fn free_in_stream(&'static self, address: u64, stream: StreamId) -> Result<()> {
        // Pools may hold managed memory too.
        let is_of_pool =
            pool::pool_of(self.shared, address).is_some() || graph_memory::is_reserved(self.shared, address);
        let kinds = if is_of_pool { &STREAM_KINDS[..] } else { &STREAM_KINDS[..1] };
        self.owner(address).check_start(address, kinds)?;
        let operation = || Operation::Free { address, by: present_call::origin() };
        if graph_memory::is_reserved(self.shared, address) {
            // The addresses remain valid, and later operations of the stream do not depend on the
            // free.
            return if self.add_if_capturing(stream, operation)? {
                Ok(())
            } else {
                graph_memory::end_life(self.shared, address)
            };
        }
        self.enqueue(stream, operation())
    }
}
