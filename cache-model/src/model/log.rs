//! Log of single requests, as the tables of the paper show them.

/// Outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The data is in the cache.
    Hit,
    /// The data is not there.
    Miss,
    /// No MSHR is free; the warp goes to the back of the queue.
    Cancel,
}

/// A request of a warp for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Time of the request.
    pub time: u64,
    /// Index of the instruction in the kernel's code.
    pub position: u32,
    /// Warp on the core.
    pub warp: u32,
    /// Number of the line.
    pub line: u64,
    /// Distinct lines of the set since the last access; `None` for an infinite distance.
    pub distance: Option<u32>,
    /// Outcome.
    pub status: Status,
    /// MSHRs in use before and after the request.
    pub mshrs: (u32, u32),
    /// Latency, and time at which the access takes effect.
    pub latency: u64,
    /// Time at which the access takes effect.
    pub effect: u64,
}
