//! Variables by their host shadows.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, DefaultStream, Out, StreamHandle};
use crate::api::entry::api;
use crate::root::simulator;
use crate::session::simulator::Simulator;
use crate::work::copy::{Copy, Direction};
use std::ffi::c_int;

/// Side of the copy that is the variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Symbol {
    Target,
    Source,
}

/// A copied part of a variable, and the other side.
#[derive(Clone, Copy)]
struct Access {
    symbol: Address,
    offset: usize,
    count: usize,
    other: Address,
}

fn copy(
    access: Access,
    side: Symbol,
    kind: c_int,
    stream: StreamHandle,
    default: DefaultStream,
    waits: bool,
) -> Result<()> {
    let simulator = simulator()?;
    let stream = simulator.stream(stream, default)?;
    let copy = checked(simulator, access, side, kind)?;
    if waits { simulator.copy_now(copy, stream) } else { simulator.copy_async(copy, stream) }
}

/// A validated copy between `count` bytes of a variable and other memory; `None` if it is empty.
pub(crate) fn symbol_copy(
    simulator: &Simulator,
    symbol: Address,
    other: Address,
    (offset, count): (usize, usize),
    kind: c_int,
    is_target: bool,
) -> Result<Option<Copy>> {
    let side = if is_target { Symbol::Target } else { Symbol::Source };
    checked(simulator, Access { symbol, offset, count, other }, side, kind)
}

fn checked(simulator: &Simulator, access: Access, side: Symbol, kind: c_int) -> Result<Option<Copy>> {
    let direction = Direction::from_kind(kind)?;
    let allowed = match side {
        Symbol::Target => [Direction::HostToDevice, Direction::DeviceToDevice, Direction::Default],
        Symbol::Source => [Direction::DeviceToHost, Direction::DeviceToDevice, Direction::Default],
    };
    if !allowed.contains(&direction) {
        return Err(Error::InvalidMemcpyDirection);
    }
    let variable = simulator.symbol(access.symbol.0)?;
    let end = access.offset.checked_add(access.count).ok_or(Error::InvalidValue)?;
    if end as u64 > variable.size {
        return Err(Error::InvalidValue);
    }
    let address = variable.address as usize + access.offset;
    let (to, from) = match side {
        Symbol::Target => (address, access.other.0),
        Symbol::Source => (access.other.0, address),
    };
    Copy::linear(simulator, to, from, access.count, direction)
}

const DEFAULT: StreamHandle = StreamHandle(0);

api! { Runtime;
    /// Address of a variable.
    fn cudaGetSymbolAddress(devPtr: Out<Address>, symbol: Address) {
        devPtr.check()?;
        devPtr.set(Address(simulator()?.symbol(symbol.0)?.address as usize))
    }

    /// Size of a variable.
    fn cudaGetSymbolSize(size: Out<usize>, symbol: Address) {
        size.check()?;
        size.set(simulator()?.symbol(symbol.0)?.size as usize)
    }

    /// Copies to a variable and waits.
    fn cudaMemcpyToSymbol, cudaMemcpyToSymbol_ptds [default] (
        symbol: Address, src: Address, count: usize, offset: usize, kind: c_int,
    ) {
        copy(Access { symbol, offset, count, other: src }, Symbol::Target, kind, DEFAULT, default, true)
    }

    /// Copies from a variable and waits.
    fn cudaMemcpyFromSymbol, cudaMemcpyFromSymbol_ptds [default] (
        dst: Address, symbol: Address, count: usize, offset: usize, kind: c_int,
    ) {
        copy(Access { symbol, offset, count, other: dst }, Symbol::Source, kind, DEFAULT, default, true)
    }

    /// Copies to a variable in stream order.
    fn cudaMemcpyToSymbolAsync, cudaMemcpyToSymbolAsync_ptsz [default] (
        symbol: Address, src: Address, count: usize, offset: usize, kind: c_int, stream: StreamHandle,
    ) {
        copy(Access { symbol, offset, count, other: src }, Symbol::Target, kind, stream, default, false)
    }

    /// Copies from a variable in stream order.
    fn cudaMemcpyFromSymbolAsync, cudaMemcpyFromSymbolAsync_ptsz [default] (
        dst: Address, symbol: Address, count: usize, offset: usize, kind: c_int, stream: StreamHandle,
    ) {
        copy(Access { symbol, offset, count, other: dst }, Symbol::Source, kind, stream, default, false)
    }
}
