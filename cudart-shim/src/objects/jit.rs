//! Options of module loading and linking (`CUjit_option`): log buffers and elapsed time. Options
//! for code generation have no effect.

use crate::abi::In;
use crate::abi::error::{Error, Result};
use crate::code::image::{Code, INPUT, ImageError};
use crate::objects::module::image_error;
use ptx_frontend::usage::usage;
use std::ffi::{c_int, c_void};
use std::time::Instant;

const MAX_REGISTERS: c_int = 0;
const WALL_TIME: c_int = 2;
const INFO_LOG_BUFFER: c_int = 3;
const INFO_LOG_BUFFER_SIZE: c_int = 4;
const ERROR_LOG_BUFFER: c_int = 5;
const ERROR_LOG_BUFFER_SIZE: c_int = 6;
const LOG_VERBOSE: c_int = 12;

/// A log buffer of the caller and the location for its used size.
#[derive(Clone, Copy, Debug, Default)]
struct LogBuffer {
    start: usize,
    size: usize,
    /// Address of the size option's value.
    size_value: usize,
}

/// JIT options of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JitOptions {
    information: LogBuffer,
    errors: LogBuffer,
    /// Address of the wall time option's value in milliseconds.
    wall_time: usize,
    /// Register limit per thread; 0 for no limit.
    max_registers: u32,
    /// Adds each kernel's resource usage to the information log.
    is_verbose: bool,
    started: Instant,
}

impl JitOptions {
    /// No options.
    pub(crate) fn none() -> Self {
        let none = LogBuffer::default();
        Self {
            information: none,
            errors: none,
            wall_time: 0,
            max_registers: 0,
            is_verbose: false,
            started: Instant::now(),
        }
    }

    /// Parses option numbers and pointer-sized values. A numeric option is stored in the value
    /// itself.
    ///
    /// Keeps the addresses of the caller's arrays, since results are written to them later.
    ///
    /// The addresses of the caller's arrays are kept, as their values are written when the work is
    /// done.
    pub(crate) fn read(count: u32, options: In<c_int>, values: *mut *mut c_void) -> Result<Self> {
        let mut read = Self::none();
        let options = options.list(count as usize)?;
        if count > 0 && values.is_null() {
            return Err(Error::InvalidValue);
        }
        for (index, option) in options.into_iter().enumerate() {
            let place = values.wrapping_add(index);
            // SAFETY: by the API's contract there are as many values as options.
            let value = unsafe { place.read_unaligned() } as usize;
            match option {
                // 32-bit numbers are in the low half of the value.
                MAX_REGISTERS => read.max_registers = value as u32,
                WALL_TIME => read.wall_time = place as usize,
                INFO_LOG_BUFFER => read.information.start = value,
                INFO_LOG_BUFFER_SIZE => read.information.set_size(value, place as usize),
                ERROR_LOG_BUFFER => read.errors.start = value,
                ERROR_LOG_BUFFER_SIZE => read.errors.set_size(value, place as usize),
                LOG_VERBOSE => read.is_verbose = value as u32 != 0,
                _ => {}
            }
        }
        Ok(read)
    }

    /// The register limit per thread, if any.
    pub(crate) fn max_registers(&self) -> Option<u32> {
        Some(self.max_registers).filter(|most| *most > 0)
    }

    /// Tells whether the caller passed a log buffer.
    pub(crate) fn has_logs(&self) -> bool {
        self.errors.start != 0 || self.information.start != 0
    }

    /// Unwraps loaded code and writes the logs and the elapsed time to the caller. `capability` is
    /// ten times the device's compute capability.
    pub(crate) fn finish(
        &self,
        code: std::result::Result<Code, ImageError>,
        capability: u32,
    ) -> Result<Code> {
        let message = code.as_ref().err().map(|error| error.log(INPUT)).unwrap_or_default();
        let information = match &code {
            Ok(code) if self.is_verbose => {
                let target = format!("sm_{capability}");
                code.modules.iter().map(|module| usage(module, &target, self.max_registers())).collect()
            }
            _ => String::new(),
        };
        self.information.write(&information);
        self.errors.write(&message);
        if self.wall_time != 0 {
            let milliseconds = self.started.elapsed().as_secs_f32() * 1e3;
            // SAFETY: the address is the option's value, which has the size of a pointer.
            unsafe { (self.wall_time as *mut f32).write_unaligned(milliseconds) };
        }
        let mut code = code.map_err(|error| image_error(&error))?;
        code.max_registers = self.max_registers().or(code.max_registers);
        Ok(code)
    }
}

impl LogBuffer {
    /// Sizes are 32-bit numbers in the low half of the value.
    fn set_size(&mut self, value: usize, place: usize) {
        self.size = value & 0xffff_ffff;
        self.size_value = place;
    }

    /// Stores the text, truncated to the buffer and NUL-terminated, and its length in bytes.
    fn write(&self, text: &str) {
        let mut length = 0;
        if self.start != 0 && self.size > 0 {
            length = text.len().min(self.size - 1);
            let buffer = self.start as *mut u8;
            // SAFETY: by the API's contract the buffer has `size` bytes, more than `length`.
            unsafe {
                std::ptr::copy_nonoverlapping(text.as_ptr(), buffer, length);
                buffer.add(length).write(0);
            }
        }
        if self.size_value != 0 {
            // SAFETY: the address is the option's value, which has the size of a pointer.
            unsafe { (self.size_value as *mut usize).write_unaligned(length) };
        }
    }
}
