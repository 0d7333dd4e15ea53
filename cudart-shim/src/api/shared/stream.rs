//! Stream attributes, and host functions with a choice of waiting.

use crate::abi::error::Error;
use crate::abi::{In, Out, StreamHandle};
use crate::api::entry::shared;
use crate::root::session;
use crate::session::stream_attribute::Value;
use crate::session::streams::of_stream;
use crate::work::host_call::HostFunction;
use std::ffi::{c_int, c_uint, c_void};

shared! {
    /// As `cudaLaunchHostFunc`. Blocking (0) and spinning (1) waits are equal here.
    fn cudaLaunchHostFunc_v2, cudaLaunchHostFunc_v2_ptsz = cuLaunchHostFunc_v2, cuLaunchHostFunc_v2_ptsz [default] (
        stream: StreamHandle, function: HostFunction, userData: *mut c_void, syncMode: c_uint,
    ) {
        if syncMode > 1 {
            return Err(Error::InvalidValue);
        }
        context()?.launch_host_function(stream, default, function, userData)
    }

    /// An attribute of a stream.
    fn cudaStreamGetAttribute, cudaStreamGetAttribute_ptsz = cuStreamGetAttribute, cuStreamGetAttribute_ptsz [default] (
        stream: StreamHandle, attribute: c_int, value: Out<Value>,
    ) {
        context()?;
        of_stream(session(), stream)?.stream_attribute(stream, default, attribute, value)
    }

    /// Sets an attribute of a stream.
    fn cudaStreamSetAttribute, cudaStreamSetAttribute_ptsz = cuStreamSetAttribute, cuStreamSetAttribute_ptsz [default] (
        stream: StreamHandle, attribute: c_int, value: In<Value>,
    ) {
        context()?;
        of_stream(session(), stream)?.set_stream_attribute(stream, default, attribute, &value.get()?)
    }

    /// Copies a stream's attributes to another.
    fn cudaStreamCopyAttributes, cudaStreamCopyAttributes_ptsz = cuStreamCopyAttributes, cuStreamCopyAttributes_ptsz [default] (dst: StreamHandle, src: StreamHandle) {
        context()?;
        of_stream(session(), dst)?.copy_stream_attributes(dst, src, default)
    }
}
