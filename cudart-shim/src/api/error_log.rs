//! The driver's error log (CUDA driver API, "Error Log Management"): recent failures of calls,
//! which programs read or receive by callback.

use crate::abi::error::{self, Error, Result};
use crate::abi::{Out, Text};
use crate::host::log;
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::{OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;

/// Messages kept.
const CAPACITY: usize = 100;

/// `cudaLogsCallback_t`, `CUlogsCallback`: data, level, message, length.
pub(crate) type Callback = Option<unsafe extern "C" fn(*mut c_void, c_int, *mut c_char, usize)>;

/// `cudaLogLevelError`.
const LEVEL_ERROR: c_int = 0;

/// First line if older messages do not fit.
const TRUNCATED: &str = "[CUDA][W] older messages were dropped";

#[derive(Clone, Copy)]
struct Listener {
    handle: u64,
    function: unsafe extern "C" fn(*mut c_void, c_int, *mut c_char, usize),
    data: *mut c_void,
}

// SAFETY: the program hands the data over to be used on any thread whose call fails.
unsafe impl Send for Listener {}

#[derive(Default)]
struct Messages {
    kept: VecDeque<String>,
    /// Messages there have been.
    written: u32,
    listeners: Vec<Listener>,
    registered: u64,
}

static MESSAGES: Mutex<Option<Messages>> = Mutex::new(None);

thread_local! {
    /// True while the thread runs a callback, whose failures are not reported.
    static TELLING: Cell<bool> = const { Cell::new(false) };
}

fn with_messages<T>(use_them: impl FnOnce(&mut Messages) -> T) -> T {
    use_them(MESSAGES.lock().get_or_insert_default())
}

/// Records a failed call.
pub(crate) fn note(function: &str, error: Error) {
    let text = error::texts(error.code()).map_or("", |texts| texts.text.to_str().unwrap_or(""));
    let message = format!("[CUDA][E] {} returned {}: {text}", log::exported_name(function), error.code());
    let listeners = with_messages(|messages| {
        if messages.kept.len() == CAPACITY {
            messages.kept.pop_front();
        }
        messages.kept.push_back(message.clone());
        messages.written = messages.written.wrapping_add(1);
        messages.listeners.clone()
    });
    if listeners.is_empty() || TELLING.try_with(|telling| telling.replace(true)).unwrap_or(true) {
        return;
    }
    let length = message.len();
    let mut bytes = message.into_bytes();
    bytes.push(0);
    for listener in listeners {
        // SAFETY: the program promises a function that takes these arguments; the message ends with
        // a null.
        unsafe { (listener.function)(listener.data, LEVEL_ERROR, bytes.as_mut_ptr().cast(), length) };
    }
    TELLING.set(false);
}

/// Registers a callback for messages.
pub(crate) fn register(function: Callback, data: *mut c_void, handle: Out<u64>) -> Result<()> {
    let function = function.ok_or(Error::InvalidValue)?;
    with_messages(|messages| {
        messages.registered += 1;
        messages.listeners.push(Listener { handle: messages.registered, function, data });
        handle.set_if_wanted(messages.registered);
    });
    Ok(())
}

/// Removes a callback.
pub(crate) fn unregister(handle: u64) -> Result<()> {
    with_messages(|messages| {
        let index = messages.listeners.iter().position(|listener| listener.handle == handle);
        messages.listeners.remove(index.ok_or(Error::InvalidValue)?);
        Ok(())
    })
}

/// Iterator after the last message.
pub(crate) fn current(iterator: Out<c_uint>, flags: c_uint) -> Result<()> {
    if flags != 0 {
        return Err(Error::InvalidValue);
    }
    iterator.set(with_messages(|messages| messages.written))
}

/// Messages from an iterator on, or all without one; advances the iterator.
fn take(iterator: Out<c_uint>, flags: c_uint) -> Result<Vec<String>> {
    if flags != 0 {
        return Err(Error::InvalidValue);
    }
    with_messages(|messages| {
        let kept = messages.kept.len();
        let count = if iterator.pointer().is_null() {
            kept
        } else {
            // SAFETY: not null, so by the API's contract an iterator.
            let from = unsafe { iterator.pointer().read_unaligned() };
            (messages.written.wrapping_sub(from) as usize).min(kept)
        };
        iterator.set_if_wanted(messages.written);
        Ok(messages.kept.iter().skip(kept - count).cloned().collect())
    })
}

/// Writes messages to a file.
pub(crate) fn dump_to_file(iterator: Out<c_uint>, path: Text, flags: c_uint) -> Result<()> {
    let path = OsStr::from_bytes(path.get()?.to_bytes()).to_owned();
    let text: String = take(iterator, flags)?.into_iter().map(|line| line + "\n").collect();
    std::fs::write(path, text).map_err(|_| Error::InvalidValue)
}

/// Writes the latest messages that fit into a buffer. `size` holds the buffer's size, then the
/// text's.
pub(crate) fn dump_to_memory(
    iterator: Out<c_uint>,
    buffer: Out<c_char>,
    size: Out<usize>,
    flags: c_uint,
) -> Result<()> {
    buffer.check()?;
    size.check()?;
    // SAFETY: not null, so by the API's contract a size.
    let room = unsafe { size.pointer().read_unaligned() };
    let lines = take(iterator, flags)?;
    let text = fitting(&lines, room.saturating_sub(1));
    if room == 0 || (text.is_empty() && !lines.is_empty()) {
        size.set(0)?;
        return Err(Error::InvalidValue);
    }
    for (index, byte) in text.bytes().chain([0]).enumerate() {
        Out::new(buffer.pointer().wrapping_add(index)).set(byte as c_char)?;
    }
    size.set(text.len())
}

/// The latest lines that fit into `room` bytes, after a notice if some do not.
fn fitting(lines: &[String], room: usize) -> String {
    for skipped in 0..=lines.len() {
        let head = (skipped > 0).then_some(TRUNCATED);
        let rest = lines.iter().skip(skipped).map(String::as_str);
        let text: String = head.into_iter().chain(rest).map(|line| format!("{line}\n")).collect();
        if text.len() <= room {
            return if skipped < lines.len() || lines.is_empty() { text } else { String::new() };
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_lines_are_kept_after_a_notice() {
        let lines: Vec<String> = (0..10).map(|number| format!("line {number}")).collect();
        assert_eq!(fitting(&lines, 1000).lines().count(), 10);
        let text = fitting(&lines, TRUNCATED.len() + 1 + 3 * 7);
        assert_eq!(text, format!("{TRUNCATED}\nline 7\nline 8\nline 9\n"));
        assert_eq!(fitting(&lines, 5), "");
        assert_eq!(fitting(&[], 5), "");
    }
}
