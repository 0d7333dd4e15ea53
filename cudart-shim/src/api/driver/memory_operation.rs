//! Stream memory operations. The first and the second version of each differ in what a device has to support.

use crate::abi::error::{Error, Result};
use crate::abi::{DefaultStream, In, StreamHandle};
use crate::api::entry::api;
use crate::session::memory_operation::{Operation, Parameters};
use crate::session::simulator::simulator;
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
    /// Lets a stream wait until a word of 32 bits has a value.
    fn cuStreamWaitValue32, cuStreamWaitValue32_ptsz [default] (stream: StreamHandle, addr: u64, value: u32, flags: c_uint) {
        submit(stream, default, &[Operation::wait(addr, false, value.into(), flags)?])
    }

    /// Lets a stream wait until a word of 64 bits has a value.
    fn cuStreamWaitValue64, cuStreamWaitValue64_ptsz [default] (stream: StreamHandle, addr: u64, value: u64, flags: c_uint) {
        submit(stream, default, &[Operation::wait(addr, true, value, flags)?])
    }

    /// Lets a stream write a word of 32 bits.
    fn cuStreamWriteValue32, cuStreamWriteValue32_ptsz [default] (stream: StreamHandle, addr: u64, value: u32, flags: c_uint) {
        submit(stream, default, &[Operation::write(addr, false, value.into(), flags)?])
    }

    /// Lets a stream write a word of 64 bits.
    fn cuStreamWriteValue64, cuStreamWriteValue64_ptsz [default] (stream: StreamHandle, addr: u64, value: u64, flags: c_uint) {
        submit(stream, default, &[Operation::write(addr, true, value, flags)?])
    }

    /// Adds several operations to a stream.
    fn cuStreamBatchMemOp, cuStreamBatchMemOp_ptsz [default] (
        stream: StreamHandle, count: c_uint, paramArray: In<Parameters>, flags: c_uint,
    ) {
        submit_batch(stream, default, paramArray, count, flags)
    }

    /// Lets a stream wait until a word of 32 bits has a value.
    fn cuStreamWaitValue32_v2, cuStreamWaitValue32_v2_ptsz [default] (stream: StreamHandle, addr: u64, value: u32, flags: c_uint) {
        submit(stream, default, &[Operation::wait(addr, false, value.into(), flags)?])
    }

    /// Lets a stream wait until a word of 64 bits has a value.
    fn cuStreamWaitValue64_v2, cuStreamWaitValue64_v2_ptsz [default] (stream: StreamHandle, addr: u64, value: u64, flags: c_uint) {
        submit(stream, default, &[Operation::wait(addr, true, value, flags)?])
    }

    /// Lets a stream write a word of 32 bits.
    fn cuStreamWriteValue32_v2, cuStreamWriteValue32_v2_ptsz [default] (stream: StreamHandle, addr: u64, value: u32, flags: c_uint) {
        submit(stream, default, &[Operation::write(addr, false, value.into(), flags)?])
    }

    /// Lets a stream write a word of 64 bits.
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
