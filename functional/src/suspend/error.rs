//! Why a launch cannot be stopped at a point, or cannot go on from one.

use warp_stream::kernel_name::signature;

use super::UnfinishedLaunch;
use crate::launch::LaunchError;

/// Why a launch cannot be stopped where it is wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The window begins behind the last CTA.
    #[error("the window begins with CTA {first}, and the launch has {ctas}")]
    BeyondEnd {
        /// First CTA of the window.
        first: u64,
        /// CTAs of the launch.
        ctas: u64,
    },
    /// All CTAs of the window are under way at the same time.
    #[error("{ctas} CTAs are more than can be under way at once, which are {most}")]
    TooMany {
        /// CTAs of the window.
        ctas: u64,
        /// CTAs that the device can hold, or for which the host has memory.
        most: u64,
    },
    /// CTAs of a cooperative launch end together.
    #[error("its CTAs wait for each other (cooperative launch): the window has to begin with CTA 0")]
    Cooperative,
    /// CTAs before the window do not end before others start.
    #[error("CTA {cta:?} waits for CTAs from the window on, and cannot end before they start")]
    Waits {
        /// One that waits, or the first of its cluster.
        cta: [u32; 3],
    },
    /// Its instructions cannot be executed one by one.
    #[error("a window of instructions needs a kernel bound in the order of its machine code")]
    NotStepped,
    /// What checkers know of the launch cannot be saved.
    #[error("it is being checked")]
    Checked,
    /// Whoever executes its warps has not given them back.
    #[error("its warps are being executed")]
    Executing,
    /// Its own memory cannot be read.
    #[error("its own memory is gone: {reason}")]
    NoMemory {
        /// Why.
        reason: String,
    },
    /// It has launches, copies or fills of its own under way, or has streams, events or errors of the device's runtime.
    #[error("it has called the runtime for launches or other work of its own")]
    AsksForWork,
}

/// Why a launch was not stopped.
#[derive(Debug, thiserror::Error)]
pub enum SuspendError<'d> {
    /// It cannot be launched, or a lane has faulted before the point.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// It cannot be stopped there.
    #[error("{} cannot be stopped there: {refusal}", signature(.kernel))]
    Refused {
        /// Kernel.
        kernel: String,
        /// Why.
        refusal: Refusal,
        /// The launch, if it has begun: it can go on.
        rest: Option<Box<UnfinishedLaunch<'d>>>,
    },
}

/// Why a launch did not go on to its end.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// It cannot be launched, or a lane has faulted.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The state is one of another launch.
    #[error("{} cannot go on from this state: {reason}", signature(.kernel))]
    Foreign {
        /// Kernel that was to go on.
        kernel: String,
        /// What is different.
        reason: String,
    },
    /// No launch can be in this state.
    #[error("{} cannot go on, for its state is damaged: {reason}", signature(.kernel))]
    Damaged {
        /// Kernel.
        kernel: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// It was stopped while a model timed it, and none does now.
    #[error("{} was stopped while a model timed it, and can go on under that model only", signature(.kernel))]
    Timed {
        /// Kernel.
        kernel: String,
    },
    /// The addresses of the launch's own memory are taken.
    #[error("{} cannot go on: the addresses of its parameters or its workspace are taken", signature(.kernel))]
    Taken {
        /// Kernel.
        kernel: String,
    },
}
