//! Errors of suspending and resuming a launch.

use warp_stream::kernel_name::signature;

use super::UnfinishedLaunch;
use crate::launch::LaunchError;

/// Reason for which a launch cannot be suspended at a point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The window starts after the last CTA.
    #[error("the window starts at CTA {first}, but the launch has {ctas} CTAs")]
    BeyondEnd {
        /// First CTA of the window.
        first: u64,
        /// CTAs of the launch.
        ctas: u64,
    },
    /// All CTAs of the window must be resident at once.
    #[error("a window of {ctas} CTAs exceeds the {most} CTAs that can be resident at once")]
    TooMany {
        /// CTAs of the window.
        ctas: u64,
        /// Maximum CTAs that the device can hold, or for which the host has memory.
        most: u64,
    },
    /// CTAs of a cooperative launch end together.
    #[error("CTAs of a cooperative launch wait for each other; start the window at CTA 0")]
    Cooperative,
    /// CTAs before the window wait for CTAs of the window.
    #[error("CTA {cta:?} before the window waits for CTAs of the window")]
    Waits {
        /// A waiting CTA, or the first of its cluster.
        cta: [u32; 3],
    },
    /// The kernel was not bound for stepped execution.
    #[error("a window of instructions requires a kernel bound for a timing model")]
    NotStepped,
    /// Sanitizer state cannot be saved.
    #[error("launches under the sanitizer (--check) cannot be suspended")]
    Checked,
    /// The executor of its warps has not returned them.
    #[error("its warps are still executing")]
    Executing,
    /// The launch's own memory cannot be read.
    #[error("the memory of its parameters cannot be read: {reason}")]
    NoMemory {
        /// Cause.
        reason: String,
    },
    /// The launch has unfinished launches, copies or fills, or streams, events or errors of the device
    /// runtime.
    #[error("it has used the device runtime for launches or other work")]
    AsksForWork,
}

/// Reason for which a launch was not suspended.
#[derive(Debug, thiserror::Error)]
pub enum SuspendError<'d> {
    /// The launch is invalid, or a lane faulted before the point.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The launch cannot be suspended at this point.
    #[error("{} cannot be suspended at this point: {refusal}", signature(.kernel))]
    Refused {
        /// Kernel name.
        kernel: String,
        /// Cause.
        refusal: Refusal,
        /// The unfinished launch, if it has begun: it can continue.
        rest: Option<Box<UnfinishedLaunch<'d>>>,
    },
}

/// Reason for which a launch could not be resumed to its end.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The launch is invalid, or a lane faulted.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The state belongs to another launch.
    #[error("{} cannot be resumed from this state: {reason}", signature(.kernel))]
    Foreign {
        /// Kernel to resume.
        kernel: String,
        /// Difference.
        reason: String,
    },
    /// The state is inconsistent.
    #[error("{} cannot be resumed, its state is damaged: {reason}", signature(.kernel))]
    Damaged {
        /// Kernel name.
        kernel: String,
        /// Inconsistency.
        reason: &'static str,
    },
    /// The launch was suspended under a timing model, which is absent now.
    #[error("{} was suspended under a timing model; resume it under the same model", signature(.kernel))]
    Timed {
        /// Kernel name.
        kernel: String,
    },
    /// The addresses of the launch's own memory are occupied.
    #[error("{} cannot be resumed: the addresses of its parameters or workspace are occupied", signature(.kernel))]
    Taken {
        /// Kernel name.
        kernel: String,
    },
}
