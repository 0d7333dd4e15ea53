//! Kernels that cannot be launched: machine code without PTX, instructions that are not executed,
//! PTX that is not legal.
//!
//! The program gets a code, which libraries like cuBLAS and cuDNN turn into one of their own, or
//! drop. Each refused kernel is therefore named once on standard error and each time in the log,
//! and the text of the code names the last one.
//!
//! A refused launch is *open* until the program has asked for its error ([`Refusal::is_told`] has
//! the rule). `VOLTSIM_REFUSED_STATUS` names a file to which refusals and answers are appended, for
//! `voltsim run`: a run with an open refusal does not end with status 0. `VOLTSIM_STRICT=1` ends
//! the process at the first refused launch.

use crate::abi::error::Error;
use crate::host::caller::calling_file;
use crate::host::environment;
use crate::host::log;
use crate::host::mapped::file_at;
use crate::objects::module::Kernel;
use crate::session::process::{process, started};
use rustc_hash::FxHashMap;
use saved_run::refusals::{Entry, STATUS, State};
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char};
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Kernels that have been named, the text of the code that goes with them, and open refusals.
#[derive(Default)]
pub(crate) struct Refusals {
    texts: FxHashMap<String, &'static CStr>,
    last: Option<&'static CStr>,
    open: Vec<Refusal>,
}

/// A refused launch of which the program has not asked for the error.
#[derive(Debug, PartialEq, Eq)]
struct Refusal {
    kernel: String,
    error: Error,
    /// The file in the process's memory that holds the kernel; `None` for an image that the program
    /// made or read itself.
    holder: Option<String>,
}

/// How an error reached its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The value of a launch, which a library may drop.
    Launch,
    /// Another call's value, the last error, or the text of the code.
    Asked,
}

/// Advice for a kernel that exists as machine code only.
pub(crate) const MACHINE_CODE: &str = "a library may have PTX of other kernels, and chooses by the compute capability that \
it is told: voltsim run --profile pytorch, or --device with a file that tells another one (8.0 for cuBLAS 10.2, 3.0 for \
cuDNN 7.6, 12.0 for CUDA 12.4); code of your own: compile it with PTX (code=compute_NN)";

/// There is an open refusal. Calls look here before they take the lock.
static OPEN: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The thread's call is a launch of `<<<…>>>`, or the one before it.
    static IN_STUB: Cell<bool> = const { Cell::new(false) };
    /// The thread's call has refused a launch.
    static IS_REFUSED: Cell<bool> = const { Cell::new(false) };
}

impl Refusal {
    /// Has a reader of the error told the program? Code outside the library that holds the kernel
    /// has, and any code has if the kernel is the program's own. The value of a launch counts only
    /// where the program itself called: libraries drop it, and so does `<<<…>>>`.
    fn is_told(&self, way: Way, reader: Option<&str>, program: Option<&str>) -> bool {
        let Some(holder) = self.holder.as_deref().filter(|holder| Some(*holder) != program) else {
            return true;
        };
        match way {
            Way::Launch => reader == program,
            Way::Asked => reader != Some(holder),
        }
    }
}

/// Names a kernel or image that cannot be executed, with its file and the reason, once on standard
/// error; gives the error back.
pub(crate) fn report(what: &str, remedy: &str, error: Error) -> Error {
    let mut refusals = process().refused.lock();
    let message = || if remedy.is_empty() { what.to_owned() } else { format!("{what}; {remedy}") };
    let text = match refusals.texts.get(what) {
        Some(text) => {
            log::line(message);
            text
        }
        None => {
            log::report(message);
            let plain = error.text().to_string_lossy();
            let text = CString::new(format!("{plain} (voltsim: {})", message())).unwrap_or_default();
            // Programs keep such texts for ever; there is one for each kernel.
            let text: &CStr = Box::leak(text.into_boxed_c_str());
            refusals.texts.insert(what.to_owned(), text);
            text
        }
    };
    if error == Error::NoKernelImageForDevice {
        refusals.last = Some(text);
    }
    error
}

/// Is it the error of code that cannot be executed here?
fn is_refusal(error: Error) -> bool {
    matches!(
        error,
        Error::NoKernelImageForDevice
            | Error::NotSupported
            | Error::InvalidPtx
            | Error::InvalidKernelImage
            | Error::UnsupportedPtxVersion
    )
}

/// Notes a launch that ends with `error`, if that refuses the kernel. Under `VOLTSIM_STRICT` the
/// process ends here.
pub(crate) fn note_launch(kernel: &str, holder: Option<String>, error: Error) {
    if !is_refusal(error) {
        return;
    }
    if environment::flag("VOLTSIM_STRICT") {
        let place = holder.map_or_else(String::new, |holder| format!(" of {holder}"));
        eprintln!(
            "voltsim: kernel {kernel}{place} was refused; ending the run because of --strict (VOLTSIM_STRICT)"
        );
        std::process::exit(STATUS.into());
    }
    let refusal = Refusal { kernel: kernel.to_owned(), error, holder };
    let mut refusals = process().refused.lock();
    if !refusals.open.contains(&refusal) {
        append(&refusal, State::Open);
        refusals.open.push(refusal);
        OPEN.store(true, Ordering::Release);
    }
    let _ = IS_REFUSED.try_with(|refused| refused.set(true));
}

/// [`note_launch`] for a kernel that was found.
pub(crate) fn note_launch_of(kernel: &Kernel, error: Error) {
    note_launch(&kernel.name.to_string_lossy(), kernel.module.holder(), error);
}

/// The stub of `<<<…>>>` launches with the thread's next call, or with this one: the value is
/// dropped.
pub(crate) fn enter_stub() {
    let _ = IN_STUB.try_with(|stub| stub.set(true));
}

/// Clears the mark of [`enter_stub`]; true where it was set.
pub(crate) fn leave_stub() -> bool {
    IN_STUB.try_with(Cell::take).unwrap_or(false)
}

/// A call returns `error` to its caller; `of_stub` is the mark that the call before has left.
pub(crate) fn returned(of_stub: bool, error: Error) {
    let is_dropped = leave_stub() || of_stub;
    let is_launch = IS_REFUSED.try_with(Cell::take).unwrap_or(false);
    if OPEN.load(Ordering::Acquire) && !(is_launch && is_dropped) {
        answer(error, if is_launch { Way::Launch } else { Way::Asked });
    }
}

/// The last error, or the text or name of its code, has been given to the caller.
pub(crate) fn asked(code: i32) {
    if OPEN.load(Ordering::Acquire)
        && let Some(error) = crate::abi::error::texts(code).and_then(|texts| texts.error)
    {
        answer(error, Way::Asked);
    }
}

fn answer(error: Error, way: Way) {
    let mut refusals = process().refused.lock();
    if refusals.open.iter().all(|refusal| refusal.error != error) {
        return;
    }
    let (reader, program) = (calling_file(), program_file());
    close(&mut refusals, |refusal| {
        refusal.error == error && refusal.is_told(way, reader.as_deref(), program.as_deref())
    });
}

/// Closes refusals that the program has been told of.
fn close(refusals: &mut Refusals, is_told: impl Fn(&Refusal) -> bool) {
    refusals.open.retain(|refusal| {
        let told = is_told(refusal);
        if told {
            append(refusal, State::Told);
        }
        !told
    });
    OPEN.store(!refusals.open.is_empty(), Ordering::Release);
}

/// The program's own file, as the loader names it.
fn program_file() -> Option<String> {
    // SAFETY: the function has no precondition.
    file_at(unsafe { libc::getauxval(libc::AT_ENTRY) } as usize)
}

/// Adds a line to the file for the command, if there is one, in one write.
fn append(refusal: &Refusal, state: State) {
    let Some(path) = environment::variable("VOLTSIM_REFUSED_STATUS") else { return };
    let holder = refusal.holder.clone().unwrap_or_default();
    let entry = Entry { process: std::process::id(), state, kernel: refusal.kernel.clone(), holder };
    let file = File::options().append(true).open(Path::new(&path));
    let written = file.and_then(|mut file| file.write_all(format!("{entry}\n").as_bytes()));
    // The command has ended before a process of the program that nobody waits for.
    if let Err(error) = written
        && error.kind() != ErrorKind::NotFound
    {
        eprintln!("voltsim: VOLTSIM_REFUSED_STATUS: cannot write {}: {error}", Path::new(&path).display());
    }
}

/// The text of the code that such launches give, with the last kernel.
pub(crate) fn text() -> Option<&'static CStr> {
    process().refused.lock().last
}

/// For the preloaded library, which adds it to the texts of other libraries' errors and of Python's
/// exceptions: the same, or null. Whoever reads such a text has asked.
#[unsafe(no_mangle)]
pub extern "C" fn voltsim_refused_kernel() -> *const c_char {
    let read = || {
        let mut refusals = started()?.refused.lock();
        close(&mut refusals, |_| true);
        refusals.last
    };
    std::panic::catch_unwind(read).ok().flatten().map_or(std::ptr::null(), CStr::as_ptr)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(holder: Option<&str>) -> Refusal {
        let holder = holder.map(str::to_owned);
        Refusal { kernel: "k".to_owned(), error: Error::NoKernelImageForDevice, holder }
    }

    fn is_told(holder: Option<&str>, way: Way, reader: &str) -> bool {
        refusal(holder).is_told(way, Some(reader), Some("program"))
    }

    #[test]
    fn any_reader_tells_of_a_kernel_of_the_program() {
        for holder in [None, Some("program")] {
            assert!(is_told(holder, Way::Launch, "program"));
            assert!(is_told(holder, Way::Launch, "libffi.so"));
            assert!(is_told(holder, Way::Asked, "libx.so"));
        }
    }

    #[test]
    fn a_library_does_not_tell_of_its_own_kernel() {
        assert!(!is_told(Some("libx.so"), Way::Launch, "libx.so"));
        assert!(!is_told(Some("libx.so"), Way::Launch, "libx_core.so"));
        assert!(!is_told(Some("libx.so"), Way::Asked, "libx.so"));
        assert!(is_told(Some("libx.so"), Way::Asked, "program"));
        assert!(is_told(Some("libx.so"), Way::Asked, "liby.so"));
        assert!(is_told(Some("libx.so"), Way::Launch, "program"));
    }
}
