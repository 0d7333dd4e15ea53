//! The one value that holds the state of the launch pipeline and of its observers. An exported
//! function gets it from [`crate::root`] and passes it on.

use crate::objects::shared::Shared;
use crate::session::accesses::Accesses;
use crate::session::annotations::Annotations;
use crate::session::capture::Captures;
use crate::session::checkpoint::fingerprint::Fingerprint;
use crate::session::checksums::Checksums;
use crate::session::coverage::CoverageState;
use crate::session::ending::Ending;
use crate::session::kernel_stream::KernelStream;
use crate::session::model::Models;
use crate::session::nvtx::Nvtx;
use crate::session::process::Process;
use crate::session::recording::Recordings;
use crate::session::sanitizer_report::Sanitizer;
use crate::session::summary::LaunchCounts;
use crate::session::trace::Trace;
use crate::session::unmatched_selections::Selections;
use std::sync::{Once, OnceLock};

/// State of the session. Each part is read from the options at its first use.
pub(crate) struct Session {
    /// Objects of the process, created by the first call that needs them.
    shared: OnceLock<Shared>,
    /// Devices and contexts, created by the first call that needs them.
    pub(crate) process: OnceLock<Process>,
    /// Registers `after_fork` at the start of the first device.
    pub(crate) fork_handler: Once,
    /// Tells the session in a forked child. C passes the handler no argument.
    pub(crate) after_fork: extern "C" fn(),
    pub(crate) accesses: Accesses,
    pub(crate) annotations: Annotations,
    pub(crate) captures: Captures,
    pub(crate) checksums: Checksums,
    pub(crate) coverage: CoverageState,
    pub(crate) ending: Ending,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) kernel_stream: KernelStream,
    pub(crate) models: Models,
    pub(crate) nvtx: Nvtx,
    pub(crate) recordings: Recordings,
    pub(crate) sanitizer: Sanitizer,
    pub(crate) selections: Selections,
    pub(crate) launch_counts: LaunchCounts,
    pub(crate) trace: Trace,
}

impl Session {
    /// The state before the first call.
    pub(crate) const fn new(after_fork: extern "C" fn()) -> Self {
        Self {
            shared: OnceLock::new(),
            process: OnceLock::new(),
            fork_handler: Once::new(),
            after_fork,
            accesses: Accesses::new(),
            annotations: Annotations::new(),
            captures: Captures::new(),
            checksums: Checksums::new(),
            coverage: CoverageState::new(),
            ending: Ending::new(),
            fingerprint: Fingerprint::new(),
            kernel_stream: KernelStream::new(),
            models: Models::new(),
            nvtx: Nvtx::new(),
            recordings: Recordings::new(),
            sanitizer: Sanitizer::new(),
            selections: Selections::new(),
            launch_counts: LaunchCounts::new(),
            trace: Trace::new(),
        }
    }

    /// Objects of the process.
    pub(crate) fn shared(&'static self) -> &'static Shared {
        self.shared.get_or_init(Shared::new)
    }
}
