//! Default actions of terminating signals. While the core library has outputs to write, its handler
//! replaces the default action: it writes them and then ends the process by the signal. The program
//! still sees the default action.
//!
//! Python depends on this: after a KeyboardInterrupt it restores SIGINT's default action and raises
//! SIGINT.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::{SIG_DFL, SIGHUP, SIGINT, SIGTERM, sigaction as Action, sighandler_t as Handler};

/// Signals whose default action `cudart-shim/src/session/signals.rs` replaces.
const TAKEN: [c_int; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Handler that replaces the default action; [`SIG_DFL`] if none.
static IN_PLACE: AtomicUsize = AtomicUsize::new(SIG_DFL);

unsafe extern "C" {
    /// Alias of the C library's `sigaction`.
    fn __sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int;
    /// Alias of the C library's `signal`.
    fn ssignal(signal: c_int, handler: Handler) -> Handler;
}

/// Sets the handler that replaces the default action. The core calls this. The handler must take a
/// signal number.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn voltsim_default_signal_handler(handler: Handler) {
    IN_PLACE.store(handler, Ordering::Release);
}

/// Translates the program's handler for the system.
fn to_system(signal: c_int, handler: Handler) -> Handler {
    let in_place = IN_PLACE.load(Ordering::Acquire);
    if handler == SIG_DFL && TAKEN.contains(&signal) { in_place } else { handler }
}

/// Translates the system's handler for the program.
fn to_program(signal: c_int, handler: Handler) -> Handler {
    let is_ours = handler == IN_PLACE.load(Ordering::Acquire) && TAKEN.contains(&signal);
    if is_ours { SIG_DFL } else { handler }
}

/// Replaces the C library's function.
///
/// # Safety
/// The contract of the C library's function applies.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int {
    let mut changed;
    let mut passed = new;
    // SAFETY: by contract null or a valid structure.
    if let Some(new) = unsafe { new.as_ref() } {
        let handler = to_system(signal, new.sa_sigaction);
        if handler != new.sa_sigaction {
            changed = *new;
            changed.sa_sigaction = handler;
            // The replacement takes only the signal number, stays installed, and restarts system
            // calls.
            changed.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
            passed = ptr::from_ref(&changed);
        }
    }
    // SAFETY: the caller's pointers, or one to a local structure.
    let result = unsafe { __sigaction(signal, passed, old) };
    if result == 0 {
        // SAFETY: by contract null or a structure, which the successful call filled.
        if let Some(old) = unsafe { old.as_mut() } {
            old.sa_sigaction = to_program(signal, old.sa_sigaction);
        }
    }
    result
}

/// Replaces the C library's function.
///
/// # Safety
/// The contract of the C library's function applies.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn signal(signal: c_int, handler: Handler) -> Handler {
    // SAFETY: the caller's handler, or the replacement of the default action.
    to_program(signal, unsafe { ssignal(signal, to_system(signal, handler)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_action_maps_to_the_replacement_handler() {
        assert_eq!((to_system(SIGINT, SIG_DFL), to_program(SIGINT, SIG_DFL)), (SIG_DFL, SIG_DFL));
        voltsim_default_signal_handler(4096);
        assert_eq!((to_system(SIGINT, SIG_DFL), to_program(SIGINT, 4096)), (4096, SIG_DFL));
        assert_eq!((to_system(libc::SIGUSR1, SIG_DFL), to_program(libc::SIGUSR1, 4096)), (SIG_DFL, 4096));
        assert_eq!((to_system(SIGINT, libc::SIG_IGN), to_program(SIGINT, 8192)), (libc::SIG_IGN, 8192));
        voltsim_default_signal_handler(SIG_DFL);
    }
}
