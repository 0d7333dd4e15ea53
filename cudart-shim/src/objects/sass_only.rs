//! Refused kernels: machine code without PTX, unsupported instructions, invalid PTX.
//!
//! The program receives an error code, which libraries such as cuBLAS and cuDNN translate or drop.
//! Standard error therefore names each refused kernel once, and the log names it every time. The
//! error string names the last one.
//!
//! A refused launch is *open* until the program has read its error ([`Refusal::is_told`] defines
//! this). `VOLTSIM_REFUSED_STATUS` names a file that receives refusals and reads for `voltsim run`:
//! a run with an open refusal does not exit with status 0. `VOLTSIM_STRICT=1` ends the process at
//! the first refused launch.

use crate::abi::error::{Error, ErrorText};
use crate::host::caller::{calling_file, is_called_by};
use crate::host::environment::options;
use crate::host::log;
use crate::host::mapped::file_at;
use crate::objects::module::Kernel;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use saved_run::refusals::{Entry, STATUS, State};
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char};
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Reported kernels, error strings and open refusals.
#[derive(Default)]
struct Refusals {
    texts: FxHashMap<String, &'static CStr>,
    last: Option<&'static CStr>,
    open: Vec<Refusal>,
}

/// A refused launch whose error the program has not read.
#[derive(Debug, PartialEq, Eq)]
struct Refusal {
    kernel: String,
    error: Error,
    /// The mapped file that contains the kernel; `None` for an image that the program built or read
    /// itself.
    holder: Option<String>,
}

/// Path of an error to its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Return value of a launch, which a library may drop.
    Launch,
    /// Return value of another call, the last error, or the error string.
    Asked,
}

/// Advice for a kernel without PTX.
pub(crate) const MACHINE_CODE: &str = "a library may have PTX of other kernels, and chooses by the compute capability that \
it is told: voltsim run --profile pytorch, or --device with a file that tells another one (8.0 for cuBLAS 10.2, 3.0 for \
cuDNN 7.6, 12.0 for CUDA 12.4); code of your own: compile it with PTX (code=compute_NN)";

/// Prefix of functions that try algorithms and return the outcome of each: cuDNN's searches. The program
/// reads the error of a refused launch there.
const TRIALS: &str = "cudnnFind";

/// Refused kernels of the process, as the log has them.
static REFUSALS: LazyLock<Mutex<Refusals>> = LazyLock::new(Mutex::default);
/// Set while a refusal is open. Calls check it before they take the lock.
static OPEN: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The thread's current or previous call is a `<<<…>>>` launch.
    static IN_STUB: Cell<bool> = const { Cell::new(false) };
    /// The thread's current call refused a launch.
    static IS_REFUSED: Cell<bool> = const { Cell::new(false) };
}

impl Refusal {
    /// Tells whether a read of the error informs the program. A reader outside the library that
    /// holds the kernel does; for a kernel of the program itself, any reader does. The return value
    /// of a launch counts only if the program itself made the call, because libraries and `<<<…>>>`
    /// drop it.
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

/// Reports an unusable kernel or image with its file and the reason, once on standard error.
/// Returns the error.
pub(crate) fn report(what: &str, remedy: &str, error: Error) -> Error {
    let mut refusals = REFUSALS.lock();
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
            // Programs may keep these strings for ever. There is one per kernel.
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

/// Tells whether the error means unusable code.
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

/// Records a launch error if it is a refusal. With `VOLTSIM_STRICT` the process ends here.
pub(crate) fn note_launch(kernel: &str, holder: Option<String>, error: Error) {
    if !is_refusal(error) {
        return;
    }
    if options().strict == Some(true) {
        let place = holder.map_or_else(String::new, |holder| format!(" of {holder}"));
        eprintln!(
            "voltsim: kernel {kernel}{place} was refused; ending the run because of --strict (VOLTSIM_STRICT)"
        );
        std::process::exit(STATUS.into());
    }
    if is_called_by(TRIALS) {
        return;
    }
    let refusal = Refusal { kernel: kernel.to_owned(), error, holder };
    let mut refusals = REFUSALS.lock();
    if !refusals.open.contains(&refusal) {
        append(&refusal, State::Open);
        refusals.open.push(refusal);
        OPEN.store(true, Ordering::Release);
    }
    let _ = IS_REFUSED.try_with(|refused| refused.set(true));
}

/// [`note_launch`] for a loaded kernel.
pub(crate) fn note_launch_of(kernel: &Kernel, error: Error) {
    note_launch(&kernel.name.to_string_lossy(), kernel.module.holder(), error);
}

/// Marks the thread's current or next call as a `<<<…>>>` launch, whose return value is dropped.
pub(crate) fn enter_stub() {
    let _ = IN_STUB.try_with(|stub| stub.set(true));
}

/// Clears the mark of [`enter_stub`] and returns it.
pub(crate) fn leave_stub() -> bool {
    IN_STUB.try_with(Cell::take).unwrap_or(false)
}

/// Records that a call returns `error`. `of_stub` is the mark left by the previous call.
pub(crate) fn returned(of_stub: bool, error: Error) {
    let is_dropped = leave_stub() || of_stub;
    let is_launch = IS_REFUSED.try_with(Cell::take).unwrap_or(false);
    if OPEN.load(Ordering::Acquire) && !(is_launch && is_dropped) {
        answer(error, if is_launch { Way::Launch } else { Way::Asked });
    }
}

/// Records that the caller read the last error, or the string or name of its code.
pub(crate) fn asked(code: i32) {
    if OPEN.load(Ordering::Acquire)
        && let Some(error) = crate::abi::error::texts(code).and_then(|texts| texts.error)
    {
        answer(error, Way::Asked);
    }
}

fn answer(error: Error, way: Way) {
    let mut refusals = REFUSALS.lock();
    if refusals.open.iter().all(|refusal| refusal.error != error) {
        return;
    }
    let (reader, program) = (calling_file(), program_file());
    close(&mut refusals, |refusal| {
        refusal.error == error && refusal.is_told(way, reader.as_deref(), program.as_deref())
    });
}

/// Closes the refusals that the program was informed of.
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

/// The program's own file, as named by the loader.
fn program_file() -> Option<String> {
    // SAFETY: the function has no precondition.
    file_at(unsafe { libc::getauxval(libc::AT_ENTRY) } as usize)
}

/// Appends a line to the status file, if any, in a single write.
fn append(refusal: &Refusal, state: State) {
    let Some(path) = &options().refused_status else { return };
    let holder = refusal.holder.clone().unwrap_or_default();
    let entry = Entry { process: std::process::id(), state, kernel: refusal.kernel.clone(), holder };
    let file = File::options().append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{entry}\n").as_bytes()));
    // The command may end before a detached child process.
    if let Err(error) = written
        && error.kind() != ErrorKind::NotFound
    {
        eprintln!("voltsim: VOLTSIM_REFUSED_STATUS: cannot write {}: {error}", path.display());
    }
}

/// The error string for refused launches, naming the last kernel.
fn text() -> Option<&'static CStr> {
    REFUSALS.lock().last
}

/// Text of an error for the program: that of the last refused launch, for its code.
pub(crate) fn text_of(texts: &ErrorText) -> &'static CStr {
    let refused = || text().filter(|_| texts.error == Some(Error::NoKernelImageForDevice));
    refused().unwrap_or(texts.text)
}

/// The string for the preloaded library, or null. The preloaded library appends the string to other
/// libraries' error strings and Python exceptions. Reading it counts as reading the error.
#[unsafe(no_mangle)]
pub extern "C" fn voltsim_refused_kernel() -> *const c_char {
    let read = || {
        let mut refusals = REFUSALS.lock();
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
    fn any_reader_closes_a_refusal_of_the_programs_kernel() {
        for holder in [None, Some("program")] {
            assert!(is_told(holder, Way::Launch, "program"));
            assert!(is_told(holder, Way::Launch, "libffi.so"));
            assert!(is_told(holder, Way::Asked, "libx.so"));
        }
    }

    #[test]
    fn library_does_not_close_a_refusal_of_its_own_kernel() {
        assert!(!is_told(Some("libx.so"), Way::Launch, "libx.so"));
        assert!(!is_told(Some("libx.so"), Way::Launch, "libx_core.so"));
        assert!(!is_told(Some("libx.so"), Way::Asked, "libx.so"));
        assert!(is_told(Some("libx.so"), Way::Asked, "program"));
        assert!(is_told(Some("libx.so"), Way::Asked, "liby.so"));
        assert!(is_told(Some("libx.so"), Way::Launch, "program"));
    }
}
