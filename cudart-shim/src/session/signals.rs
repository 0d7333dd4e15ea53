//! Signals that end the process: the outputs are written first, with what was counted until then, and the process dies by
//! the same signal.
//!
//! Only signals whose action is the default one are watched: a handler that the program installs, before or afterwards, is
//! called as without Voltsim. The handler here does nothing but wake a thread.

use crate::session::ending::{self, End};
use std::ffi::c_int;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::panic::catch_unwind;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

/// Signals by which users and batch systems end programs.
const WATCHED: [(c_int, &str); 3] =
    [(libc::SIGHUP, "SIGHUP"), (libc::SIGINT, "SIGINT"), (libc::SIGTERM, "SIGTERM")];

/// The end of a pipe that the handler writes to.
static WAKER: AtomicI32 = AtomicI32::new(-1);
/// The process that has the thread. A child that was forked has none.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// The name of a signal.
pub(crate) fn name(signal: c_int) -> &'static str {
    WATCHED.iter().find(|(watched, _)| *watched == signal).map_or("a signal", |(_, name)| name)
}

/// Watches the signals, once.
pub(crate) fn watch() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        if let Err(error) = start() {
            eprintln!("voltsim: cannot watch signals, so a signal will lose buffered outputs: {error}");
        }
    });
}

fn start() -> io::Result<()> {
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: there is room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let [reader, writer] = ends;
    // SAFETY: the descriptor is new, and nobody else's.
    let reader = unsafe { OwnedFd::from_raw_fd(reader) };
    // SAFETY: getpid has no precondition.
    OWNER.store(unsafe { libc::getpid() }, Ordering::Release);
    WAKER.store(writer, Ordering::Release);
    let all = all_signals();
    let mut before = all;
    // SAFETY: both sets are whole. The thread starts with the mask of this one, which has its own again below.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before) };
    let started = thread::Builder::new().name("voltsim-signals".to_owned()).spawn(move || serve(&reader));
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    started?;
    WATCHED.iter().for_each(|(signal, _)| install(*signal));
    Ok(())
}

fn all_signals() -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: the call sets all of it.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn action(handler: libc::sighandler_t) -> libc::sigaction {
    // SAFETY: all of the structure may be 0.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
    action
}

/// Takes a signal whose action is the default one.
fn install(signal: c_int) {
    let mut now = action(libc::SIG_DFL);
    let handler: extern "C" fn(c_int) = handle;
    // SAFETY: the structures are whole, and the handler calls only what a handler may.
    unsafe {
        if libc::sigaction(signal, std::ptr::null(), &mut now) == 0 && now.sa_sigaction == libc::SIG_DFL {
            libc::sigaction(signal, &action(handler as libc::sighandler_t), std::ptr::null_mut());
        }
    }
}

extern "C" fn handle(signal: c_int) {
    // SAFETY: all these calls are async-signal-safe, and errno is what it was afterwards.
    unsafe {
        let errno = *libc::__errno_location();
        if libc::getpid() == OWNER.load(Ordering::Acquire) {
            let byte = signal as u8;
            libc::write(WAKER.load(Ordering::Acquire), (&raw const byte).cast(), 1);
        } else {
            // A forked child has counted nothing.
            libc::sigaction(signal, &action(libc::SIG_DFL), std::ptr::null_mut());
            libc::raise(signal);
        }
        *libc::__errno_location() = errno;
    }
}

/// Waits for a signal, writes the outputs, and ends the process.
fn serve(reader: &OwnedFd) {
    use std::os::fd::AsRawFd;
    let Some(signal) = next(reader.as_raw_fd()) else { return };
    // Nobody is left to tell.
    let _ = catch_unwind(|| ending::write_outputs(End::Signal(signal)));
    die(signal);
}

/// The next signal; `None` if the pipe is gone.
fn next(reader: RawFd) -> Option<c_int> {
    loop {
        let mut wait = libc::pollfd { fd: reader, events: libc::POLLIN, revents: 0 };
        let mut byte = 0_u8;
        // SAFETY: there is one structure, and room for one byte.
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
    // SAFETY: the structures are whole; the signal is this thread's to take, as its own mask blocks it no more.
    unsafe {
        libc::sigaction(signal, &action(libc::SIG_DFL), std::ptr::null_mut());
        let mut only = std::mem::MaybeUninit::uninit();
        libc::sigemptyset(only.as_mut_ptr());
        libc::sigaddset(only.as_mut_ptr(), signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, only.as_ptr(), std::ptr::null_mut());
        libc::raise(signal);
        // The program has taken the signal in between.
        libc::_exit(128 + signal)
    }
}
