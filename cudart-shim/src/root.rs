//! Root of the process: the one static with a session.
//!
//! Exported functions have no argument that could carry the session. They name the functions here,
//! and pass the session or a device on to everything below. A test of module cycles holds the rule:
//! this module names `session`, so nothing that `session` names can name this module.

use crate::abi::FunctionHandle;
use crate::abi::error::Result;
use crate::objects::module::Kernel;
use crate::objects::shared::Shared;
use crate::session::ending::{self, End};
use crate::session::process::Process;
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use crate::session::summary;
use functional::memory::Allocation;
use std::ffi::c_int;
use std::sync::Arc;

static SESSION: Session = Session::new(after_fork_in_child);

extern "C" fn after_fork_in_child() {
    SESSION.after_fork_in_child();
}

/// Writes all outputs. Libraries are finalised last, so this runs after the program's exit handlers
/// and destructors.
#[used]
#[unsafe(link_section = ".fini_array")]
static WRITE_AT_EXIT: extern "C" fn() = {
    extern "C" fn at_exit() {
        // Errors cannot be reported any more.
        let _ = std::panic::catch_unwind(|| {
            if ending::is_wanted(&SESSION) {
                summary::end_work(&SESSION);
            }
            ending::write_outputs(&SESSION, End::Exit);
        });
    }
    at_exit
};

/// The session of the process.
pub(crate) fn session() -> &'static Session {
    &SESSION
}

/// Objects of the process.
pub(crate) fn shared() -> &'static Shared {
    SESSION.shared()
}

/// State of the process.
pub(crate) fn process() -> &'static Process {
    SESSION.process()
}

/// The thread's current device.
pub(crate) fn simulator() -> Result<&'static Simulator> {
    SESSION.simulator()
}

/// A device by number.
pub(crate) fn simulator_of(ordinal: usize) -> Result<&'static Simulator> {
    SESSION.simulator_of(ordinal)
}

/// Number of visible devices.
pub(crate) fn device_count() -> usize {
    SESSION.device_count()
}

/// All devices used so far.
pub(crate) fn started() -> impl Iterator<Item = &'static Simulator> {
    SESSION.started()
}

/// The device with a live allocation at an address.
pub(crate) fn owner_of(address: u64) -> Option<(&'static Simulator, Allocation)> {
    SESSION.owner_of(address)
}

/// The simulator of a device and the kernel loaded there.
pub(crate) fn kernel_on(kernel: FunctionHandle, device: c_int) -> Result<(&'static Simulator, Arc<Kernel>)> {
    SESSION.kernel_on(kernel, device)
}
