//! Stream memory operations. Versions 1 and 2 differ in the required device support.

use crate::abi::error::{Error, Result};
use crate::abi::{DefaultStream, In, StreamHandle};
use crate::api::entry::api;
use crate::root::simulator;
use crate::work::memory_operation::{Operation, Parameters};
use std::ffi::c_uint;

fn submit(stream: StreamHandle, default: DefaultStream, operations: &[Operation]) -> Result<()> {
    let simulator = simulator()?;
    simulator.submit_memory_operations(simulator.stream(stream, default)?, operations)
}

fn submit_batch(
    stream: StreamHandle,
    default: DefaultStream,
    parameters: In<Parameters>,
    count: c_uint,
    flags: c_uint,
) -> Result<()> {
    if flags != 0 || count == 0 || count > 256 {
        return Err(Error::InvalidValue);
    }
    let operations: Vec<_> =
        parameters.list(count as usize)?.iter().map(Operation::from_parameters).collect::<Result<_>>()?;
    submit(stream, default, &operations)
}

api! { Driver;
    /// Makes a stream wait until a 32-bit word has a value.
    fn cuStreamWaitValue32, cuStreamWaitValue32_ptsz [default] (stream: StreamHandle, addr: u64, value: u32, flags: c_uint) {
        submit(stream, default, &[Operation::wait(addr, false, value.into(), flags)?])
    }

    /// Makes a stream wait until a 64-bit word has a value.
    fn cuStreamWaitValue64, cuStreamWaitValue64_ptsz [default] (stream: StreamHandle, addr: u64, value: u64, flags: c_uint) {
        submit(stream, default, &[Operation::wait(addr, true, value, flags)?])
    }

    /// Makes a stream write a 32-bit word.
    fn cuStreamWriteValue32, cuStreamWriteValue32_ptsz [default] (stream: StreamHandle, addr: u64, value: u32, flags: c_uint) {
        submit(stream, default, &[Operation::write(addr, false, value.into(), flags)?])
    }

    /// Makes a stream write a 64-bit word.
    fn cuStreamWriteValue64, cuStreamWriteValue64_ptsz [default] (stream: StreamHandle, addr: u64, value: u64, flags: c_uint) {
        submit(stream, default, &[Operation::write(addr, true, value, flags)?])
    }

    /// Adds several operations to a stream.
    fn cuStreamBatchMemOp, cuStreamBatchMemOp_ptsz [default] (
        stream: StreamHandle, count: c_uint, paramArray: In<Parameters>, flags: c_uint,
    ) {
        submit_batch(stream, default, paramArray, count, flags)
    }

    /// Makes a stream wait until a 32-bit word has a value.
    fn cuStreamWaitValue32_v2, cuStreamWaitValue32_v2_ptsz [default] (stream: StreamHandle, addr: u64, value: u32, flags: c_uint) {
        submit(stream, default, &[Operation::wait(addr, false, value.into(), flags)?])
    }

    /// Makes a stream wait until a 64-bit word has a value.
    fn cuStreamWaitValue64_v2, cuStreamWaitValue64_v2_ptsz [default] (stream: StreamHandle, addr: u64, value: u64, flags: c_uint) {
        submit(stream, default, &[Operation::wait(addr, true, value, flags)?])
    }

    /// Makes a stream write a 32-bit word.
    fn cuStreamWriteValue32_v2, cuStreamWriteValue32_v2_ptsz [default] (stream: StreamHandle, addr: u64, value: u32, flags: c_uint) {
        submit(stream, default, &[Operation::write(addr, false, value.into(), flags)?])
    }

    /// Makes a stream write a 64-bit word.
    fn cuStreamWriteValue64_v2, cuStreamWriteValue64_v2_ptsz [default] (stream: StreamHandle, addr: u64, value: u64, flags: c_uint) {
        submit(stream, default, &[Operation::write(addr, true, value, flags)?])
    }

    /// Adds several operations to a stream.
    fn cuStreamBatchMemOp_v2, cuStreamBatchMemOp_v2_ptsz [default] (
        stream: StreamHandle, count: c_uint, paramArray: In<Parameters>, flags: c_uint,
    ) {
        submit_batch(stream, default, paramArray, count, flags)
    }
}
