//! Submissions to streams, and the context of a running item.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::handles::{ItemId, StreamId};

/// Fault of a work item. The context keeps the first one and returns it from every later call.
pub trait Fault: Clone + fmt::Debug + Send + 'static {
    /// Fault for a work item that panicked with `message`, in the engine of this
    /// [number](crate::Config::number).
    fn work_panicked(engine: usize, message: String) -> Self;
}

/// The body of a work item.
pub type Work<F> = Box<dyn FnOnce(&Context<F>) -> Result<(), F> + Send>;

/// Kind of work. Kinds overlap freely; [`Limits`](crate::Limits) bounds items of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// A kernel, parallel over the host's cores.
    Kernel,
    /// A copy or fill of memory.
    Transfer,
    /// A function of the user's program; always runs on a thread of the engine.
    HostFunction,
}

/// One work item for a stream.
pub struct Submission<F> {
    /// Kind of work.
    pub kind: WorkKind,
    /// True if the item also runs, in stream order, after the context failed
    /// (`cudaStreamAddCallback`).
    pub runs_after_fault: bool,
    /// Body.
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

    /// A stream callback (`cudaStreamAddCallback`), called with the context's fault, if any.
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

/// Context of a running work item.
#[derive(Clone, Debug)]
pub struct Context<F> {
    pub(crate) stream: StreamId,
    pub(crate) item: ItemId,
    pub(crate) fault: Option<F>,
    pub(crate) cancelled: Arc<AtomicBool>,
}

impl<F> Context<F> {
    /// Stream of the item.
    pub fn stream(&self) -> StreamId {
        self.stream
    }

    /// The item.
    pub fn item(&self) -> ItemId {
        self.item
    }

    /// Fault of the context at the item's start.
    pub fn fault(&self) -> Option<&F> {
        self.fault.as_ref()
    }

    /// True if the item should give up: another item failed or the engine shuts down. Long work
    /// must poll this, since awaited work may never run.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Flag behind [`is_cancelled`](Self::is_cancelled), for threads that the item starts.
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }
}
