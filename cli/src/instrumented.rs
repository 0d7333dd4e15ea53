//! Captured launches made from captured launches: with other PTX, or with the log of an
//! instrumented kernel.

use std::path::Path;

use launch_capture::{Buffer, Capture, Launch, Words, Writer};
use ptx_frontend::Module;
use ptx_frontend::instrument::log::{VARIABLE, Window};
use ptx_frontend::instrument::{Instrumented, instrument};

use crate::failure::Failure;

/// Gap between buffers of ours and those of the program, and what their addresses are multiples of.
const GAP: u64 = 1 << 20;

/// Bytes of a log, at most.
const MOST_LOG: u64 = 4 << 30;

/// Instruments a kernel of a PTX text; `name` is for messages.
pub(crate) fn rewrite(text: &str, name: &str, kernel: &str) -> Result<Instrumented, Failure> {
    let module = Module::parse(text, name).map_err(Failure::new)?;
    instrument(&module, kernel).map_err(Failure::new)
}

/// A copy of a launch with another text in place of the one that holds the kernel.
pub(crate) fn with_text(capture: &Capture, text: &str, folder: &Path) -> Result<Capture, Failure> {
    let writer = copy(capture, text, folder)?;
    Ok(writer.finish(capture.launch().clone())?)
}

/// A copy of a launch with an instrumented text, and with the log, which is the last buffer but
/// one.
pub(crate) fn with_log(
    capture: &Capture,
    text: &str,
    window: &Window,
    folder: &Path,
) -> Result<Capture, Failure> {
    let mut writer = copy(capture, text, folder)?;
    let ends = capture.launch().buffers.iter().map(|buffer| buffer.address.0.saturating_add(buffer.size));
    let above = |end: u64| end.saturating_add(2 * GAP) / GAP * GAP;
    let log = above(ends.max().unwrap_or(0));
    let size = usize::try_from(window.bytes()).ok().filter(|_| window.bytes() <= MOST_LOG);
    let size = size.ok_or_else(|| {
        Failure::new(format_args!("the log would take {} bytes; {MOST_LOG} are allowed", window.bytes()))
            .remedy("Record fewer writes of each thread")
    })?;
    writer.buffer(Buffer::new(log, "device"), &vec![0; size])?;
    let mut pointers = Words::default();
    pointers.push(0);
    let variable = Buffer::new(above(log.saturating_add(window.bytes())), "module");
    let variable = Buffer { variable: Some(VARIABLE.to_owned()), pointers, ..variable };
    writer.buffer(variable, &window.variable(log))?;
    Ok(writer.finish(capture.launch().clone())?)
}

fn copy(capture: &Capture, text: &str, folder: &Path) -> Result<Writer, Failure> {
    let mut writer = Writer::new(folder)?;
    writer.module(text)?;
    for other in capture.modules()?.iter().skip(1) {
        writer.module(other)?;
    }
    let Launch { buffers, .. } = capture.launch();
    for buffer in buffers {
        writer.copy(capture, buffer)?;
    }
    Ok(writer)
}
