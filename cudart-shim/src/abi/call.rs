//! API of a call, and the context that the call needs.

/// API of a function. Decides the result's code and if the thread's last error is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    /// `cudaError_t`.
    Runtime,
    /// `CUresult`.
    Driver,
}

/// Context required by a call: a column of the API table, which defines the terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// None, not even an initialised driver.
    Nothing,
    /// Only an initialised driver. A runtime call initialises it.
    Driver,
    /// The thread's current context.
    Current,
    /// A context on the thread's stack, even a destroyed one.
    Stack,
    /// The context argument; null stands for the current context.
    Context,
    /// The context of the object or memory argument.
    Object,
    /// The context of the stream; for a default stream the current context.
    Stream,
    /// The current context. Without one, a runtime call activates the primary context.
    Initialises,
}

/// Context named by a call's arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    /// Device of the first handle.
    pub(crate) device: Option<usize>,
    /// Set if a default stream is among the arguments.
    pub(crate) is_default_stream: bool,
}

impl Subject {
    /// Adds the context named by another argument.
    pub(crate) fn and(self, other: Subject) -> Subject {
        Subject {
            device: self.device.or(other.device),
            is_default_stream: self.is_default_stream || other.is_default_stream,
        }
    }
}
