//! Default actions of signals that end the program. While our libraries have outputs to write, the default action is their
//! handler, which writes them and then ends the process by the signal; the program sees the default action all the same.
//!
//! Python needs that: a program that a KeyboardInterrupt has ended sets SIGINT's default action and sends itself SIGINT.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::{SIG_DFL, SIGHUP, SIGINT, SIGTERM, sigaction as Action, sighandler_t as Handler};

/// The signals of which `cudart-shim/src/session/signals.rs` takes the default action.
const TAKEN: [c_int; 3] = [SIGHUP, SIGINT, SIGTERM];

/// The handler that stands for the default action; [`SIG_DFL`] for none.
static IN_PLACE: AtomicUsize = AtomicUsize::new(SIG_DFL);

unsafe extern "C" {
    /// The C library's `sigaction` under its other name.
    fn __sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int;
    /// The C library's `signal` under its other name.
    fn ssignal(signal: c_int, handler: Handler) -> Handler;
}

/// Puts a handler in the place of the default action from now on; for the core. The handler must be one of a signal's number.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn voltsim_default_signal_handler(handler: Handler) {
    IN_PLACE.store(handler, Ordering::Release);
}

/// What a handler that the program sets is to the system.
fn to_system(signal: c_int, handler: Handler) -> Handler {
    let in_place = IN_PLACE.load(Ordering::Acquire);
    if handler == SIG_DFL && TAKEN.contains(&signal) { in_place } else { handler }
}

/// What a handler of the system is to the program.
fn to_program(signal: c_int, handler: Handler) -> Handler {
    let is_ours = handler == IN_PLACE.load(Ordering::Acquire) && TAKEN.contains(&signal);
    if is_ours { SIG_DFL } else { handler }
}

/// In place of the C library's function.
///
/// # Safety
/// As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int {
    let mut changed;
    let mut passed = new;
    // SAFETY: by contract null or a whole structure.
    if let Some(new) = unsafe { new.as_ref() } {
        let handler = to_system(signal, new.sa_sigaction);
        if handler != new.sa_sigaction {
            changed = *new;
            changed.sa_sigaction = handler;
            // The handler takes the signal's number, stays, and interrupts no call.
            changed.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
            passed = ptr::from_ref(&changed);
        }
    }
    // SAFETY: the caller's pointers, or one to a whole structure.
    let result = unsafe { __sigaction(signal, passed, old) };
    // SAFETY: by contract null or room for a structure, which a call that succeeds has filled.
    if result == 0
        && let Some(old) = unsafe { old.as_mut() }
    {
        old.sa_sigaction = to_program(signal, old.sa_sigaction);
    }
    result
}

/// In place of the C library's function.
///
/// # Safety
/// As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn signal(signal: c_int, handler: Handler) -> Handler {
    // SAFETY: the caller's handler, or one that stands for the default action.
    to_program(signal, unsafe { ssignal(signal, to_system(signal, handler)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_action_is_the_handler_in_its_place() {
        assert_eq!((to_system(SIGINT, SIG_DFL), to_program(SIGINT, SIG_DFL)), (SIG_DFL, SIG_DFL));
        voltsim_default_signal_handler(4096);
        assert_eq!((to_system(SIGINT, SIG_DFL), to_program(SIGINT, 4096)), (4096, SIG_DFL));
        assert_eq!((to_system(libc::SIGUSR1, SIG_DFL), to_program(libc::SIGUSR1, 4096)), (SIG_DFL, 4096));
        assert_eq!((to_system(SIGINT, libc::SIG_IGN), to_program(SIGINT, 8192)), (libc::SIG_IGN, 8192));
        voltsim_default_signal_handler(SIG_DFL);
    }
}
