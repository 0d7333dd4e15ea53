//! Launches, copies and fills that kernels request from the device (CUDA programming guide, "CUDA Dynamic
//! Parallelism").
//!
//! A grid's children run after its own CTAs, one after another. Children of one CTA run in the order of
//! their requests, each followed by its own children; tail launches come last. The guide promises only that
//! a stream's work stays in order and that a grid ends after its children.

mod rows;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bind::BindError;
use crate::device::Device;
use crate::engine::grid::overdue;
use crate::engine::program::Program;
use crate::fault::FaultKind;
use crate::launch::{LaunchConfig, LaunchError, LaunchStatistics, launch_with};
use crate::sanitizer::Checker;
pub use rows::{RowLayout, Rows};

/// Maximum nesting depth of grids, including the host's (CUDA programming guide, "Nesting Depth").
pub const MOST_NESTED: u32 = 24;

/// Services of the host program for kernels on the device. Errors are `cudaError_t` values.
pub trait DeviceRuntime: Debug + Send + Sync {
    /// The kernel whose function has this address, if any.
    fn kernel_at(&self, address: u64) -> Option<Result<Arc<Program>, BindError>>;

    /// `cudaDeviceGetAttribute`.
    fn attribute(&self, number: i32) -> Result<i32, i32>;

    /// `cudaDeviceGetLimit`.
    fn limit(&self, number: i32) -> Result<u64, i32>;

    /// `cudaGetDevice` and `cudaGetDeviceCount`.
    fn device(&self) -> (i32, i32);

    /// `cudaFuncAttributes` of a kernel, as bytes.
    fn function_attributes(&self, kernel: &Arc<Program>) -> Result<Vec<u8>, i32>;

    /// CTAs with `threads` threads and `shared` bytes of dynamic shared memory that an SM can hold.
    fn resident_ctas(&self, kernel: &Arc<Program>, threads: u32, shared: u64) -> Result<u32, i32>;

    /// Name and description of an error.
    fn error_texts(&self, code: i32) -> (String, String);

    /// Reports the end of a child.
    fn finished(&self, kernel: &Arc<Program>, statistics: &LaunchStatistics);
}

/// Executor of kernels' requests, in place of the engine itself.
pub trait Launcher: Debug + Send + Sync {
    /// Executes a launch and its children.
    ///
    /// # Errors
    /// [`LaunchError::Child`], or the launch's own error.
    fn launch(&self, kernel: &Arc<Program>, config: LaunchConfig) -> Result<LaunchStatistics, LaunchError>;

    /// Reports a finished copy or fill.
    ///
    /// # Errors
    /// [`LaunchError::Child`].
    fn transferred(&self, transfer: &Transfer) -> Result<(), LaunchError>;
}

/// A copy or fill of rows of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Destination.
    pub to: RowLayout,
    /// Source of a copy; `None` for a fill.
    pub from: Option<RowLayout>,
    /// Extent.
    pub rows: Rows,
}

/// An operation requested by a kernel.
#[derive(Debug)]
pub(crate) enum ChildOperation {
    Launch { kernel: Arc<Program>, config: Box<LaunchConfig> },
    Copy { to: RowLayout, from: RowLayout, rows: Rows },
    Fill { to: RowLayout, rows: Rows, byte: u8 },
}

/// A requested operation with the requesting thread.
#[derive(Debug)]
pub(crate) struct ChildRequest {
    pub(crate) cta: u64,
    pub(crate) work: ChildOperation,
}

/// Parameter block handed to a kernel, and its purpose once known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameters {
    pub(crate) kernel: Option<Arc<Program>>,
    pub(crate) config: LaunchConfig,
}

/// Requests of a grid's threads.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Parameter blocks by address.
    pub(crate) blocks: FxHashMap<u64, Parameters>,
    pub(crate) work: Vec<ChildRequest>,
    pub(crate) tail: Vec<ChildRequest>,
    /// Streams and events created by threads.
    pub(crate) handles: FxHashSet<u64>,
    /// Number of handles created.
    pub(crate) made: u64,
    /// Last error of each thread that has one, by (CTA, thread): a value of `cudaError_t`.
    pub(crate) errors: FxHashMap<(u64, u32), i32>,
    /// Addresses of the texts that threads asked for.
    pub(crate) texts: FxHashMap<String, u64>,
}

/// Requests of a grid and their executor.
#[derive(Debug, Default)]
pub(crate) struct Children {
    pub(crate) runtime: Option<Arc<dyn DeviceRuntime>>,
    /// Executor of the requests after the end of the grid's CTAs.
    pub(crate) launcher: Option<Arc<dyn Launcher>>,
    /// Nesting depth, including this grid.
    pub(crate) depth: u32,
    /// Kernel of the grid.
    kernel: Option<Arc<Program>>,
    /// Watchdog deadline of the grid and its children.
    deadline: Option<Instant>,
    pub(crate) requests: Mutex<Requests>,
}

impl Children {
    /// State for a grid launched with `config`.
    pub(crate) fn of(kernel: &Arc<Program>, config: &LaunchConfig, deadline: Option<Instant>) -> Children {
        Children {
            kernel: Some(Arc::clone(kernel)),
            deadline,
            runtime: config.runtime.clone(),
            launcher: config.launcher.clone(),
            depth: config.depth + 1,
            requests: Mutex::default(),
        }
    }

    /// True if a thread created requests or handles.
    pub(crate) fn has_requests(&self) -> bool {
        let requests = self.requests.lock();
        let Requests { blocks, work, tail, handles, made, errors, texts } = &*requests;
        let has_kept = !blocks.is_empty() || !handles.is_empty() || !errors.is_empty() || !texts.is_empty();
        has_kept || !work.is_empty() || !tail.is_empty() || *made != 0
    }

    /// Executes the requests so far, except tail launches, on `workers` threads while the grid still runs.
    pub(crate) fn run(&self, device: &Device, workers: usize) -> Result<(), LaunchError> {
        self.run_by(device, workers, None)
    }

    fn run_by(
        &self,
        device: &Device,
        workers: usize,
        launcher: Option<&Arc<dyn Launcher>>,
    ) -> Result<(), LaunchError> {
        loop {
            // A batch at a time: a grid that waits for its children may request more.
            let work = std::mem::take(&mut self.requests.lock().work);
            if work.is_empty() {
                return Ok(());
            }
            self.execute_all(device, work, workers, launcher)?;
        }
    }

    /// Executes CTA by CTA, so that host threads do not influence the order.
    fn execute_all(
        &self,
        device: &Device,
        mut wishes: Vec<ChildRequest>,
        workers: usize,
        launcher: Option<&Arc<dyn Launcher>>,
    ) -> Result<(), LaunchError> {
        wishes.sort_by_key(|wish| wish.cta);
        wishes.into_iter().try_for_each(|wish| self.execute(device, wish.work, workers, launcher))
    }

    /// Executes all remaining requests after the end of the grid's CTAs.
    pub(crate) fn finish(&self, device: &Device, workers: usize) -> Result<(), LaunchError> {
        let launcher = self.launcher.as_ref();
        self.run_by(device, workers, launcher)?;
        let tail = std::mem::take(&mut self.requests.lock().tail);
        self.execute_all(device, tail, workers, launcher)
    }

    /// Frees resources that only the grid could use.
    pub(crate) fn release(&self, device: &Device) {
        let Requests { blocks, texts, .. } = std::mem::take(&mut *self.requests.lock());
        for address in blocks.into_keys().chain(texts.into_values()) {
            // A faulty kernel may already have freed the block.
            let _ = device.memory.free(address);
        }
    }

    fn execute(
        &self,
        device: &Device,
        work: ChildOperation,
        workers: usize,
        launcher: Option<&Arc<dyn Launcher>>,
    ) -> Result<(), LaunchError> {
        match work {
            ChildOperation::Launch { kernel, config } => {
                let config = LaunchConfig { launcher: launcher.cloned(), ..*config };
                let statistics = match launcher {
                    Some(launcher) => launcher.launch(&kernel, config)?,
                    None => launch_with(device, &kernel, config, workers)?,
                };
                if let Some(runtime) = &self.runtime {
                    runtime.finished(&kernel, &statistics);
                }
            }
            ChildOperation::Copy { to, from, rows } => {
                self.copy(device, rows.joined([to, from]))?;
                let transfer = Transfer { to, from: Some(from), rows };
                launcher.map_or(Ok(()), |launcher| launcher.transferred(&transfer))?;
            }
            ChildOperation::Fill { to, rows, byte } => {
                self.fill(device, rows.joined([to]), byte)?;
                let transfer = Transfer { to, from: None, rows };
                launcher.map_or(Ok(()), |launcher| launcher.transferred(&transfer))?;
            }
        }
        Ok(())
    }

    fn copy(&self, device: &Device, (rows, [to, from]): (Rows, [RowLayout; 2])) -> Result<(), LaunchError> {
        let mut buffer = vec![0; rows.width.min(PIECE) as usize];
        for (to, from) in rows.starts(to).zip(rows.starts(from)) {
            for (start, bytes) in pieces(rows.width) {
                self.look_at_deadline(device)?;
                device.memory.read(from + start, &mut buffer[..bytes])?;
                device.memory.write(to + start, &buffer[..bytes])?;
            }
            told(device, |checker| checker.copied(to, from, rows.width));
        }
        Ok(())
    }

    fn fill(
        &self,
        device: &Device,
        (rows, [to]): (Rows, [RowLayout; 1]),
        byte: u8,
    ) -> Result<(), LaunchError> {
        let buffer = vec![byte; rows.width.min(PIECE) as usize];
        for to in rows.starts(to) {
            for (start, bytes) in pieces(rows.width) {
                self.look_at_deadline(device)?;
                device.memory.write(to + start, &buffer[..bytes])?;
            }
            told(device, |checker| checker.written(to, rows.width));
        }
        Ok(())
    }

    fn look_at_deadline(&self, device: &Device) -> Result<(), LaunchError> {
        match overdue(device, self.deadline) {
            Some(FaultKind::Timeout { seconds }) => {
                let kernel = self.kernel.as_ref().map(|kernel| kernel.kernel().name.clone());
                Err(LaunchError::Overdue { kernel: kernel.unwrap_or_default(), seconds })
            }
            _ => Ok(()),
        }
    }
}

/// Bytes per piece of a copy or fill.
const PIECE: u64 = 1 << 20;

/// Offsets and lengths of the pieces of a copy.
fn pieces(bytes: u64) -> impl Iterator<Item = (u64, usize)> {
    (0..bytes).step_by(PIECE as usize).map(move |start| (start, (bytes - start).min(PIECE) as usize))
}

fn told(device: &Device, tell: impl FnOnce(&Checker)) {
    if let Some(checker) = device.checker() {
        tell(checker);
    }
}
