//! Queries of managed memory, and batches of prefetches and discards.

use crate::abi::error::Result;
use crate::abi::{Address, DefaultStream, In, MemoryLocation, Out, PoolHandle, StreamHandle};
use crate::api::entry::shared;
use crate::objects::managed::Place;
use crate::objects::pool;
use crate::root::shared;
use crate::session::batch;
use crate::session::simulator::Simulator;
use std::ffi::{c_int, c_ulonglong, c_void};

/// Ranges of a batch.
struct Ranges {
    addresses: In<Address>,
    sizes: In<usize>,
    count: usize,
}

/// Destinations of a batch's ranges.
struct Locations {
    locations: In<MemoryLocation>,
    first: In<usize>,
    count: usize,
}

fn prefetch(
    simulator: &Simulator,
    ranges: &Ranges,
    to: &Locations,
    flags: u64,
    stream: StreamHandle,
    default: DefaultStream,
) -> Result<()> {
    batch::stream(simulator, stream, default)?;
    let list = simulator.managed_ranges(ranges.addresses, ranges.sizes, ranges.count, flags)?;
    let locations = batch::expand(to.locations, to.first, to.count, ranges.count)?;
    let places = locations.into_iter().map(Place::from_location).collect::<Result<Vec<_>>>()?;
    list.into_iter()
        .zip(places)
        .try_for_each(|((address, size), place)| simulator.prefetch(address, size, place))
}

shared! {
    /// An attribute of a range of managed memory.
    fn cudaMemRangeGetAttribute = cuMemRangeGetAttribute(
        data: Out<c_void>, dataSize: usize, attribute: c_int, devPtr: Address, count: usize,
    ) {
        context()?.range_attribute(data, dataSize, attribute, devPtr, count)
    }

    /// Several attributes of a range of managed memory.
    fn cudaMemRangeGetAttributes = cuMemRangeGetAttributes(
        data: In<*mut c_void>, dataSizes: In<usize>, attributes: In<c_int>, numAttributes: usize, devPtr: Address,
        count: usize,
    ) {
        context()?.range_attributes(data, dataSizes, attributes, numAttributes, devPtr, count)
    }

    /// Locations of the parts of a managed range.
    fn cudaMemGetLocationInfo = cuMemGetLocationInfo(
        devPtr: Address, size: usize, summaryGranularity: usize, samplingGranularity: usize,
        location_out: Out<MemoryLocation>,
    ) {
        let steps = [summaryGranularity, samplingGranularity];
        context()?.location_info(devPtr, size, steps, location_out)
    }

    /// Migrates ranges of managed memory to the place of their use.
    fn cudaMemPrefetchBatchAsync, cudaMemPrefetchBatchAsync_ptsz = cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync_ptsz [default] (
        dptrs: In<Address>, sizes: In<usize>, count: usize, prefetchLocs: In<MemoryLocation>,
        prefetchLocIdxs: In<usize>, numPrefetchLocs: usize, flags: c_ulonglong, stream: StreamHandle,
    ) {
        let to = Locations { locations: prefetchLocs, first: prefetchLocIdxs, count: numPrefetchLocs };
        prefetch(context()?, &Ranges { addresses: dptrs, sizes, count }, &to, flags, stream, default)
    }

    /// Discards the contents of managed ranges; here the contents stay.
    fn cudaMemDiscardBatchAsync, cudaMemDiscardBatchAsync_ptsz = cuMemDiscardBatchAsync, cuMemDiscardBatchAsync_ptsz [default] (
        dptrs: In<Address>, sizes: In<usize>, count: usize, flags: c_ulonglong, stream: StreamHandle,
    ) {
        let simulator = context()?;
        batch::stream(simulator, stream, default)?;
        simulator.managed_ranges(dptrs, sizes, count, flags).map(|_| ())
    }

    /// Discards the contents, then migrates the ranges.
    fn cudaMemDiscardAndPrefetchBatchAsync, cudaMemDiscardAndPrefetchBatchAsync_ptsz = cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync_ptsz [default] (
        dptrs: In<Address>, sizes: In<usize>, count: usize, prefetchLocs: In<MemoryLocation>,
        prefetchLocIdxs: In<usize>, numPrefetchLocs: usize, flags: c_ulonglong, stream: StreamHandle,
    ) {
        let to = Locations { locations: prefetchLocs, first: prefetchLocIdxs, count: numPrefetchLocs };
        prefetch(context()?, &Ranges { addresses: dptrs, sizes, count }, &to, flags, stream, default)
    }

    /// The first pool of a location.
    fn cudaMemGetDefaultMemPool = cuMemGetDefaultMemPool(memPool: Out<PoolHandle>, location: In<MemoryLocation>, kind: c_int) {
        context()?;
        memPool.set(pool::home_of_location(location.get()?, kind)?.default_pool())
    }

    /// The current pool of a location.
    fn cudaMemGetMemPool = cuMemGetMemPool(memPool: Out<PoolHandle>, location: In<MemoryLocation>, kind: c_int) {
        context()?;
        memPool.set(pool::home_of_location(location.get()?, kind)?.current_pool(shared()))
    }

    /// Sets the current pool of a location.
    fn cudaMemSetMemPool = cuMemSetMemPool(location: In<MemoryLocation>, kind: c_int, memPool: PoolHandle) {
        context()?;
        pool::set_current_pool(shared(), pool::home_of_location(location.get()?, kind)?, memPool)
    }
}
