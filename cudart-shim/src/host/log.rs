//! Log of API calls, written to the file of the option `log` or to standard error.
//!
//! One line per call: thread, name, arguments, result. Never written to standard output.

use crate::host::environment::options;
use crate::host::output_files::Lines;
use run_options::values::LogTarget;
use rustc_hash::FxHashSet;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::OnceLock;

use parking_lot::Mutex;
use warp_stream::kernel_name::readable;

enum Sink {
    Stderr,
    File(Lines),
}

static SINK: OnceLock<Option<Sink>> = OnceLock::new();
static STUBS: Mutex<Option<FxHashSet<&'static str>>> = Mutex::new(None);

/// A call's arguments by name.
pub(crate) type Arguments<'a> = &'a [(&'static str, &'a dyn fmt::Debug)];

fn sink() -> Option<&'static Sink> {
    SINK.get_or_init(|| match options().log.as_ref()? {
        LogTarget::Stderr => Some(Sink::Stderr),
        LogTarget::File(path) => Lines::open("VOLTSIM_LOG", path).map(Sink::File),
    })
    .as_ref()
}

/// True if the log is on.
pub(crate) fn enabled() -> bool {
    sink().is_some()
}

/// Writes a line; `message` is evaluated only if the log is on.
pub(crate) fn line(message: impl FnOnce() -> String) {
    if let Some(sink) = sink() {
        write(sink, &readable(&message()));
    }
}

fn write(sink: &Sink, message: &str) {
    // SAFETY: gettid has no precondition.
    let thread = unsafe { libc::gettid() };
    let text = format!("[{thread}] {message}\n");
    // One write per line keeps threads apart. A full disk must not fail the program's call.
    match sink {
        Sink::Stderr => drop(std::io::stderr().write_all(text.as_bytes())),
        Sink::File(lines) => lines.add(&text),
    }
}

/// Reports to the user, on standard error and in the log. The program itself receives only an error
/// code.
pub(crate) fn report(message: impl Fn() -> String) {
    if !matches!(sink(), Some(Sink::Stderr)) {
        eprintln!("voltsim: {}", readable(&message()));
    }
    line(message);
}

/// Exported name of a body. Bodies that differ between runtime versions carry the version in their
/// names.
pub(crate) fn exported_name(body: &str) -> String {
    ["_v11", "_v12", "_v13"].into_iter().fold(body.to_owned(), |name, version| name.replace(version, ""))
}

/// Text of an argument. The alternate form follows pointers, which is safe after a successful call
/// only.
pub(crate) fn argument(value: &dyn fmt::Debug, succeeded: bool) -> String {
    if succeeded { format!("{value:#?}") } else { format!("{value:?}") }
}

/// Writes the line of a call.
pub(crate) fn call(name: &str, arguments: Arguments<'_>, result: &dyn fmt::Display, succeeded: bool) {
    let Some(sink) = sink() else { return };
    let mut text = exported_name(name) + "(";
    for (index, (name, value)) in arguments.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}{name}={}", argument(*value, succeeded));
    }
    let _ = write!(text, ") = {result}");
    // Texts passed by the program stay unchanged.
    write(sink, &text);
}

/// Records the first call of an unimplemented function and its caller.
pub(crate) fn stub_called(name: &'static str, caller: impl FnOnce() -> String) {
    if STUBS.lock().get_or_insert_default().insert(name) {
        line(|| format!("{name} is not supported; called from {}", caller()));
    }
}

/// Unimplemented functions called, sorted.
pub(crate) fn stubs_called() -> Vec<&'static str> {
    let mut names: Vec<_> = STUBS.lock().iter().flatten().copied().collect();
    names.sort_unstable();
    names
}
