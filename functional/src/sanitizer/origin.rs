//! The launch that a finding belongs to, as the host knows it.

use std::fmt;
use std::sync::Arc;

/// The host's call of a launch or of another function.
pub trait CallSite: fmt::Debug + Send + Sync {
    /// The host's stack at the call, one line a frame, the innermost frame first.
    fn frames(&self) -> Vec<String>;
}

/// A launch as the host knows it.
#[derive(Debug, Clone, Default)]
pub struct LaunchOrigin {
    /// Number of the launch in the process, from 1.
    pub number: Option<u64>,
    /// True if the user has not chosen the launch for checking. The checks still follow its
    /// accesses, because later launches read the results.
    pub is_left_out: bool,
    /// The host's call.
    pub call: Option<Arc<dyn CallSite>>,
}

impl LaunchOrigin {
    /// The host's stack at the call; empty if unknown.
    pub(super) fn frames(&self) -> Vec<String> {
        self.call.as_ref().map(|call| call.frames()).unwrap_or_default()
    }
}
