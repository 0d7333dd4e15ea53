//! The trace of API calls, written where `VOLTSIM_LOG` says: a file, or `stderr`.
//!
//! One line a call: thread, name, arguments, result. Never on standard output.

use crate::host::output_files::Lines;
use rustc_hash::FxHashSet;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::Path;
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
    SINK.get_or_init(|| match std::env::var_os("VOLTSIM_LOG")? {
        target if target.is_empty() => None,
        target if target == "stderr" => Some(Sink::Stderr),
        path => Lines::open("VOLTSIM_LOG", Path::new(&path)).map(Sink::File),
    })
    .as_ref()
}

/// Whether there is a log.
pub(crate) fn enabled() -> bool {
    sink().is_some()
}

/// Writes one line; `message` is made only when there is a log.
pub(crate) fn line(message: impl FnOnce() -> String) {
    if let Some(sink) = sink() {
        write(sink, &readable(&message()));
    }
}

fn write(sink: &Sink, message: &str) {
    // SAFETY: gettid has no precondition.
    let thread = unsafe { libc::gettid() };
    let text = format!("[{thread}] {message}\n");
    // One write a line, so that lines of several threads do not mix; a full disk must not fail the program's call.
    match sink {
        Sink::Stderr => drop(std::io::stderr().write_all(text.as_bytes())),
        Sink::File(lines) => lines.add(&text),
    }
}

/// Tells the user, on standard error and in the log, why a kernel or module does not run: the program itself only gets
/// a code.
pub(crate) fn report(message: impl Fn() -> String) {
    if !matches!(sink(), Some(Sink::Stderr)) {
        eprintln!("voltsim: {}", readable(&message()));
    }
    line(message);
}

/// The exported name of a body: where the versions of the runtime have different bodies, ours carry the version.
pub(crate) fn exported_name(body: &str) -> String {
    ["_v11", "_v12", "_v13"].into_iter().fold(body.to_owned(), |name, version| name.replace(version, ""))
}

/// An argument as text. After a successful call what pointers lead to is shown too (the alternate form); after others
/// they may lead anywhere.
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
    // Texts that the program has passed stay as they are.
    write(sink, &text);
}

/// Notes the first call of a function that has no body, with who called it.
pub(crate) fn stub_called(name: &'static str, caller: impl FnOnce() -> String) {
    if STUBS.lock().get_or_insert_default().insert(name) {
        line(|| format!("{name} is not supported; called from {}", caller()));
    }
}

/// The functions without a body that were called, sorted.
pub(crate) fn stubs_called() -> Vec<&'static str> {
    let mut names: Vec<_> = STUBS.lock().iter().flatten().copied().collect();
    names.sort_unstable();
    names
}
