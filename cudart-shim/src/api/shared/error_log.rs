//! The log of errors.

use crate::abi::{Out, Text};
use crate::api::entry::shared;
use crate::api::error_log::{self, Callback};
use std::ffi::{c_char, c_uint, c_void};

shared! {
    /// Registers a callback for messages.
    fn cudaLogsRegisterCallback = cuLogsRegisterCallback(callbackFunc: Callback, userData: *mut c_void, callback_out: Out<u64>) {
        error_log::register(callbackFunc, userData, callback_out)
    }

    /// Unregisters a callback.
    fn cudaLogsUnregisterCallback = cuLogsUnregisterCallback(callback: u64) { error_log::unregister(callback) }

    /// Iterator after the last message.
    fn cudaLogsCurrent = cuLogsCurrent(iterator_out: Out<c_uint>, flags: c_uint) { error_log::current(iterator_out, flags) }

    /// Writes messages to a file.
    fn cudaLogsDumpToFile = cuLogsDumpToFile(iterator: Out<c_uint>, pathToFile: Text, flags: c_uint) {
        error_log::dump_to_file(iterator, pathToFile, flags)
    }

    /// Writes messages to a buffer.
    fn cudaLogsDumpToMemory = cuLogsDumpToMemory(iterator: Out<c_uint>, buffer: Out<c_char>, size: Out<usize>, flags: c_uint) {
        error_log::dump_to_memory(iterator, buffer, size, flags)
    }
}
