//! What is submitted to a stream, and what a running item is told.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::handles::{ItemId, StreamId};

/// Why a work item failed. The first fault of a context is kept and returned by every later call.
pub trait Fault: Clone + fmt::Debug + Send + 'static {
    /// The fault for a work item that panicked with `message` in the engine of this [number](crate::Config::number).
    fn work_panicked(engine: usize, message: String) -> Self;
}

/// The body of a work item.
pub type Work<F> = Box<dyn FnOnce(&Context<F>) -> Result<(), F> + Send>;

/// What a work item keeps busy. Kinds overlap freely; see [`Limits`](crate::Limits) for items of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// A kernel, itself spread over the host's cores.
    Kernel,
    /// A copy or fill of memory.
    Transfer,
    /// A function of the user's program; always runs on a thread of the engine.
    HostFunction,
}

/// One work item for a stream.
pub struct Submission<F> {
    /// What it keeps busy.
    pub kind: WorkKind,
    /// Whether it also runs, in stream order, when the context has failed (`cudaStreamAddCallback`).
    pub runs_after_fault: bool,
    /// What it does.
    pub work: Work<F>,
}

impl<F> Submission<F> {
    /// A kernel launch.
    pub fn kernel(work: impl FnOnce(&Context<F>) -> Result<(), F> + Send + 'static) -> Self {
        Self { kind: WorkKind::Kernel, runs_after_fault: false, work: Box::new(work) }
    }

    /// An asynchronous copy or fill.
    pub fn transfer(work: impl FnOnce(&Context<F>) -> Result<(), F> + Send + 'static) -> Self {
        Self { kind: WorkKind::Transfer, runs_after_fault: false, work: Box::new(work) }
    }

    /// A host function (`cudaLaunchHostFunc`), not called once the context has failed.
    pub fn host_function(function: impl FnOnce() + Send + 'static) -> Self {
        Self {
            kind: WorkKind::HostFunction,
            runs_after_fault: false,
            work: Box::new(move |_| {
                function();
                Ok(())
            }),
        }
    }

    /// A stream callback (`cudaStreamAddCallback`), called with the context's fault if there is one.
    pub fn callback(callback: impl FnOnce(Option<&F>) + Send + 'static) -> Self {
        Self {
            kind: WorkKind::HostFunction,
            runs_after_fault: true,
            work: Box::new(move |context| {
                callback(context.fault());
                Ok(())
            }),
        }
    }
}

impl<F> fmt::Debug for Submission<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submission")
            .field("kind", &self.kind)
            .field("runs_after_fault", &self.runs_after_fault)
            .finish_non_exhaustive()
    }
}

/// What a running work item can ask.
#[derive(Clone, Debug)]
pub struct Context<F> {
    pub(crate) stream: StreamId,
    pub(crate) item: ItemId,
    pub(crate) fault: Option<F>,
    pub(crate) cancelled: Arc<AtomicBool>,
}

impl<F> Context<F> {
    /// The stream the item was submitted to.
    pub fn stream(&self) -> StreamId {
        self.stream
    }

    /// The item itself.
    pub fn item(&self) -> ItemId {
        self.item
    }

    /// The fault the context had when the item started.
    pub fn fault(&self) -> Option<&F> {
        self.fault.as_ref()
    }

    /// Whether the item should give up: another item failed or the engine is shutting down. Long work polls this,
    /// since what it waits for may never run.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The flag behind [`is_cancelled`](Self::is_cancelled), for threads the item starts.
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }
}
