//! Core dump settings. Dumps are not supported: enabling is rejected, other settings are stored and
//! returned.

use crate::abi::Out;
use crate::abi::error::{Error, Result};
use crate::api::entry::api;
use crate::host::log;
use crate::root::process;
use std::ffi::{CStr, c_char, c_int, c_void};

/// `CUcoredumpSettings`.
mod setting {
    pub(super) const ENABLE_ON_EXCEPTION: i32 = 1;
    pub(super) const TRIGGER_HOST: i32 = 2;
    pub(super) const LIGHTWEIGHT: i32 = 3;
    pub(super) const ENABLE_USER_TRIGGER: i32 = 4;
    pub(super) const FILE: i32 = 5;
    pub(super) const PIPE: i32 = 6;
    pub(super) const GENERATION_FLAGS: i32 = 7;
}

/// Longest name in bytes.
const MAX_NAME: usize = 1024;

/// Default name with its terminating null.
fn named(prefix: &str) -> Vec<u8> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{prefix}.{}.{}\0", host.trim(), std::process::id()).into_bytes()
}

fn usual(setting: c_int) -> Result<Vec<u8>> {
    Ok(match setting {
        setting::ENABLE_ON_EXCEPTION | setting::LIGHTWEIGHT | setting::ENABLE_USER_TRIGGER => vec![0],
        setting::TRIGGER_HOST => vec![1],
        setting::FILE => named("core.cuda"),
        setting::PIPE => named("corepipe.cuda"),
        setting::GENERATION_FLAGS => vec![0; 4],
        _ => return Err(Error::InvalidValue),
    })
}

/// Bytes of a setting's value.
fn room(setting: c_int, value: &[u8]) -> usize {
    if matches!(setting, setting::FILE | setting::PIPE) { MAX_NAME } else { value.len() }
}

fn get(setting: c_int, value: Out<c_void>, size: Out<usize>) -> Result<()> {
    size.check()?;
    let usual = usual(setting)?;
    let found = process().core_dump.lock().get(&setting).cloned().unwrap_or(usual);
    if value.pointer().is_null() {
        return size.set(room(setting, &found));
    }
    // SAFETY: not null, so by the API's contract a size.
    if unsafe { size.pointer().read_unaligned() } < found.len() {
        return Err(Error::InvalidValue);
    }
    let target = value.pointer().cast::<u8>();
    for (index, byte) in found.iter().enumerate() {
        Out::new(target.wrapping_add(index)).set(*byte)?;
    }
    Ok(())
}

fn set(setting: c_int, value: Out<c_void>, size: Out<usize>) -> Result<()> {
    value.check()?;
    size.check()?;
    let usual = usual(setting)?;
    // SAFETY: not null, so by the API's contract a size.
    let given = unsafe { size.pointer().read_unaligned() };
    let bytes = if matches!(setting, setting::FILE | setting::PIPE) {
        // SAFETY: by the API's contract a C string.
        let name = unsafe { CStr::from_ptr(value.pointer().cast::<c_char>()) }.to_bytes_with_nul();
        if name.len() > MAX_NAME || name.len() > given.saturating_add(1) {
            return Err(Error::InvalidValue);
        }
        name.to_vec()
    } else {
        if given != usual.len() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: by the API's contract as many bytes as the size says.
        unsafe { std::slice::from_raw_parts(value.pointer().cast::<u8>(), given) }.to_vec()
    };
    let enables = matches!(setting, setting::ENABLE_ON_EXCEPTION | setting::ENABLE_USER_TRIGGER);
    if enables && bytes.iter().any(|byte| *byte != 0) {
        log::report(|| "device core dumps are not supported; none is written".to_owned());
        return Err(Error::NotSupported);
    }
    process().core_dump.lock().insert(setting, bytes);
    Ok(())
}

api! { Driver;
    /// A setting of the current context, which shares those of all contexts.
    fn cuCoredumpGetAttribute(attrib: c_int, value: Out<c_void>, size: Out<usize>) {
        get(attrib, value, size)
    }

    /// A setting of all contexts.
    fn cuCoredumpGetAttributeGlobal(attrib: c_int, value: Out<c_void>, size: Out<usize>) {
        get(attrib, value, size)
    }

    /// Sets one setting of the current context.
    fn cuCoredumpSetAttribute(attrib: c_int, value: Out<c_void>, size: Out<usize>) {
        set(attrib, value, size)
    }

    /// Sets one setting of all contexts.
    fn cuCoredumpSetAttributeGlobal(attrib: c_int, value: Out<c_void>, size: Out<usize>) {
        set(attrib, value, size)
    }
}
