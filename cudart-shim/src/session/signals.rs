//! Terminating signals: the outputs so far are written, then the process dies by the same signal.
//!
//! Only signals with the default action are handled. A handler of the program, installed before or
//! after, works as usual. A preloaded library substitutes the handler for a default action that the
//! program sets later (`preload/dlopen/src/signals.rs`). The handler here only wakes a thread.

use crate::session::ending::{self, End};
use crate::session::state::Session;
use std::ffi::c_int;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

/// Signals by which users and batch systems terminate programs.
const WATCHED: [(c_int, &str); 3] =
    [(libc::SIGHUP, "SIGHUP"), (libc::SIGINT, "SIGINT"), (libc::SIGTERM, "SIGTERM")];

/// Write end of the handler's pipe.
static WAKER: AtomicI32 = AtomicI32::new(-1);
/// Process with the signal thread. A forked child has none.
static OWNER: AtomicI32 = AtomicI32::new(0);
/// A signal is about to end the owner.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Signal action in the layout of the x86-64 kernel.
#[repr(C)]
struct KernelAction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

pub(crate) fn name(signal: c_int) -> &'static str {
    WATCHED.iter().find(|(watched, _)| *watched == signal).map_or("a signal", |(_, name)| name)
}

/// Installs the handlers, once.
pub(crate) fn watch(session: &'static Session) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        if let Err(error) = start(session) {
            eprintln!("voltsim: cannot watch signals, so a signal will lose buffered outputs: {error}");
        }
    });
}

fn start(session: &'static Session) -> io::Result<()> {
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: the array has room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let [reader, writer] = ends;
    // SAFETY: the descriptor is new and unshared.
    let reader = unsafe { OwnedFd::from_raw_fd(reader) };
    // SAFETY: getpid has no precondition.
    OWNER.store(unsafe { libc::getpid() }, Ordering::Release);
    WAKER.store(writer, Ordering::Release);
    let all = all_signals();
    let mut before = all;
    // SAFETY: both sets are initialised. The new thread inherits the mask, which is restored below.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before) };
    let started =
        thread::Builder::new().name("voltsim-signals".to_owned()).spawn(move || serve(session, &reader));
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    started?;
    tell_preloaded();
    WATCHED.iter().for_each(|(signal, _)| install(*signal));
    Ok(())
}

fn all_signals() -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: the call initialises the set.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn action(handler: libc::sighandler_t) -> libc::sigaction {
    // SAFETY: all zeros is a valid value of the structure.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
    action
}

/// Tells the preloaded library, if any, to substitute the handler for default actions from now on.
fn tell_preloaded() {
    // SAFETY: the name is a C string; the handle means all libraries of the program.
    let name = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"voltsim_default_signal_handler".as_ptr()) };
    if name.is_null() {
        return;
    }
    // SAFETY: the preloaded library's function of this name has this type.
    let tell: extern "C" fn(libc::sighandler_t) = unsafe { std::mem::transmute(name) };
    tell(handler());
}

fn handler() -> libc::sighandler_t {
    let handler: extern "C" fn(c_int) = handle;
    handler as libc::sighandler_t
}

/// Sets a signal's default action; async-signal-safe. `sigaction` would set the handler again,
/// because the preloaded library substitutes it.
fn set_default(signal: c_int) {
    const MASK_BYTES: usize = size_of::<u64>();
    let default = KernelAction { handler: libc::SIG_DFL, flags: 0, restorer: 0, mask: 0 };
    let none = std::ptr::null::<KernelAction>();
    // SAFETY: the structure is initialised and has the kernel's layout.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, &raw const default, none, MASK_BYTES) };
}

/// A signal is about to end this process, so the calling thread has no work left.
pub(crate) fn is_ending() -> bool {
    // SAFETY: getpid has no precondition.
    IS_ENDING.load(Ordering::Acquire) && OWNER.load(Ordering::Acquire) == unsafe { libc::getpid() }
}

/// Installs the handler for a signal with the default action.
fn install(signal: c_int) {
    let mut now = action(libc::SIG_DFL);
    // SAFETY: the structures are initialised, and the handler is async-signal-safe.
    unsafe {
        if libc::sigaction(signal, std::ptr::null(), &mut now) == 0 && now.sa_sigaction == libc::SIG_DFL {
            libc::sigaction(signal, &action(handler()), std::ptr::null_mut());
        }
    }
}

extern "C" fn handle(signal: c_int) {
    // SAFETY: all calls are async-signal-safe, and errno is restored.
    unsafe {
        let errno = *libc::__errno_location();
        if libc::getpid() == OWNER.load(Ordering::Acquire) {
            IS_ENDING.store(true, Ordering::Release);
            let byte = signal as u8;
            libc::write(WAKER.load(Ordering::Acquire), (&raw const byte).cast(), 1);
        } else {
            // A forked child has no outputs.
            set_default(signal);
            libc::raise(signal);
        }
        *libc::__errno_location() = errno;
    }
}

/// Waits for a signal, writes the outputs and ends the process.
fn serve(session: &'static Session, reader: &OwnedFd) {
    use std::os::fd::AsRawFd;
    let Some(signal) = next(reader.as_raw_fd()) else { return };
    // Errors cannot be reported any more.
    let _ = catch_unwind(AssertUnwindSafe(|| ending::write_outputs(session, End::Signal(signal))));
    die(signal);
}

/// The next signal; `None` if the pipe is closed.
fn next(reader: RawFd) -> Option<c_int> {
    loop {
        let mut wait = libc::pollfd { fd: reader, events: libc::POLLIN, revents: 0 };
        let mut byte = 0_u8;
        // SAFETY: one structure is passed, and the buffer has one byte.
        let read = unsafe {
            libc::poll(&mut wait, 1, -1);
            libc::read(reader, (&raw mut byte).cast(), 1)
        };
        match read {
            1 => return Some(c_int::from(byte)),
            0 => return None,
            _ if retries(&io::Error::last_os_error()) => {}
            _ => return None,
        }
    }
}

fn retries(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

/// Ends the process by a signal.
fn die(signal: c_int) -> ! {
    set_default(signal);
    // SAFETY: the structures are initialised. This thread's mask no longer blocks the signal.
    unsafe {
        let mut only = std::mem::MaybeUninit::uninit();
        libc::sigemptyset(only.as_mut_ptr());
        libc::sigaddset(only.as_mut_ptr(), signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, only.as_ptr(), std::ptr::null_mut());
        libc::raise(signal);
        // The program handled the signal meanwhile.
        libc::_exit(128 + signal)
    }
}
