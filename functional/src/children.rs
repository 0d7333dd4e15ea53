//! What kernels ask for that is done when they have ended: launches of other kernels, copies and fills (CUDA programming
//! guide, "CUDA Dynamic Parallelism").
//!
//! A grid's children are executed after its own CTAs, one after another, those of a CTA in the order in which it has asked for them, each
//! with its own children; then those launched into the stream of tail launches. The guide promises nothing of when a
//! child runs beside its parent, only that a stream's work stays in order and that a grid has not ended before its
//! children have.

mod rows;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bind::BindError;
use crate::check::Checker;
use crate::device::Device;
use crate::engine::grid::overdue;
use crate::engine::program::Program;
use crate::fault::FaultKind;
use crate::launch::{LaunchConfig, LaunchError, LaunchStatistics, launch_with};
pub use rows::{Place, Rows};

/// Grids that may be nested, the host's own included (CUDA programming guide, "Nesting Depth").
pub const MOST_NESTED: u32 = 24;

/// What a kernel on the device can ask of the program that has launched it. Errors are values of `cudaError_t`.
pub trait DeviceRuntime: Debug + Send + Sync {
    /// The kernel whose function has this address; `None` if none has.
    fn kernel_at(&self, address: u64) -> Option<Result<Arc<Program>, BindError>>;

    /// `cudaDeviceGetAttribute`.
    fn attribute(&self, number: i32) -> Result<i32, i32>;

    /// `cudaDeviceGetLimit`.
    fn limit(&self, number: i32) -> Result<u64, i32>;

    /// `cudaGetDevice` and `cudaGetDeviceCount`.
    fn device(&self) -> (i32, i32);

    /// The bytes of a `cudaFuncAttributes` for a kernel.
    fn function_attributes(&self, kernel: &Arc<Program>) -> Result<Vec<u8>, i32>;

    /// CTAs of so many threads and bytes of dynamic shared memory that a multiprocessor holds.
    fn resident_ctas(&self, kernel: &Arc<Program>, threads: u32, shared: u64) -> Result<u32, i32>;

    /// Name of an error, and what it says.
    fn error_texts(&self, code: i32) -> (String, String);

    /// A child has ended.
    fn finished(&self, kernel: &Arc<Program>, statistics: &LaunchStatistics);
}

/// Who gives what kernels ask for its time, where that is not done by the engine by itself.
pub trait Launcher: Debug + Send + Sync {
    /// Executes a launch, and those that it asks for.
    ///
    /// # Errors
    /// [`LaunchError::Child`], or what a launch fails with.
    fn launch(&self, kernel: &Arc<Program>, config: LaunchConfig) -> Result<LaunchStatistics, LaunchError>;

    /// A copy has been done, or a fill.
    ///
    /// # Errors
    /// [`LaunchError::Child`].
    fn transferred(&self, transfer: &Transfer) -> Result<(), LaunchError>;
}

/// A copy, or a fill, of rows of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// What is written.
    pub to: Place,
    /// What is read, if it is a copy.
    pub from: Option<Place>,
    /// How much.
    pub rows: Rows,
}

/// Something that a kernel has asked for.
#[derive(Debug)]
pub(crate) enum Work {
    Launch { kernel: Arc<Program>, config: Box<LaunchConfig> },
    Copy { to: Place, from: Place, rows: Rows },
    Fill { to: Place, rows: Rows, byte: u8 },
}

/// The same, with who has asked for it.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) cta: u64,
    pub(crate) work: Work,
}

/// A parameter block that a kernel has been given, and what it is for if that is known yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameters {
    pub(crate) kernel: Option<Arc<Program>>,
    pub(crate) config: LaunchConfig,
}

/// What the threads of a grid have asked for.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Parameter blocks by address.
    pub(crate) blocks: FxHashMap<u64, Parameters>,
    pub(crate) work: Vec<Wish>,
    pub(crate) tail: Vec<Wish>,
    /// Streams and events that threads have made.
    pub(crate) handles: FxHashSet<u64>,
    /// Handles made so far.
    pub(crate) made: u64,
    /// Last error of threads that have one: (CTA, thread), value of `cudaError_t`.
    pub(crate) errors: FxHashMap<(u64, u32), i32>,
    /// Addresses of texts that threads have asked for.
    pub(crate) texts: FxHashMap<String, u64>,
}

/// The requests of a grid, and who answers them.
#[derive(Debug, Default)]
pub(crate) struct Children {
    pub(crate) runtime: Option<Arc<dyn DeviceRuntime>>,
    /// Who executes them when the grid's CTAs have ended.
    pub(crate) launcher: Option<Arc<dyn Launcher>>,
    /// Grids above, the one itself included.
    pub(crate) depth: u32,
    /// The kernel that asks.
    kernel: Option<Arc<Program>>,
    /// When the watchdog ends the grid and all that it asks for.
    deadline: Option<Instant>,
    pub(crate) requests: Mutex<Requests>,
}

impl Children {
    /// Of a grid that is launched so.
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

    /// Has a thread of the grid called the runtime for something that is kept?
    pub(crate) fn has_requests(&self) -> bool {
        let requests = self.requests.lock();
        let Requests { blocks, work, tail, handles, made, errors, texts } = &*requests;
        let has_kept = !blocks.is_empty() || !handles.is_empty() || !errors.is_empty() || !texts.is_empty();
        has_kept || !work.is_empty() || !tail.is_empty() || *made != 0
    }

    /// Does what has been asked for so far, tail launches excluded, on `workers` threads, while the grid is under way.
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
            // Taken piece by piece: a grid that waits for its children may ask for more.
            let work = std::mem::take(&mut self.requests.lock().work);
            if work.is_empty() {
                return Ok(());
            }
            self.execute_all(device, work, workers, launcher)?;
        }
    }

    /// CTA by CTA: threads of the host that execute CTAs have nothing to do with the order.
    fn execute_all(
        &self,
        device: &Device,
        mut wishes: Vec<Wish>,
        workers: usize,
        launcher: Option<&Arc<dyn Launcher>>,
    ) -> Result<(), LaunchError> {
        wishes.sort_by_key(|wish| wish.cta);
        wishes.into_iter().try_for_each(|wish| self.execute(device, wish.work, workers, launcher))
    }

    /// Does all that is left when the grid's CTAs have ended.
    pub(crate) fn finish(&self, device: &Device, workers: usize) -> Result<(), LaunchError> {
        let launcher = self.launcher.as_ref();
        self.run_by(device, workers, launcher)?;
        let tail = std::mem::take(&mut self.requests.lock().tail);
        self.execute_all(device, tail, workers, launcher)
    }

    /// Frees what only the grid could use.
    pub(crate) fn release(&self, device: &Device) {
        let Requests { blocks, texts, .. } = std::mem::take(&mut *self.requests.lock());
        for address in blocks.into_keys().chain(texts.into_values()) {
            // A kernel may have freed it, wrongly.
            let _ = device.memory.free(address);
        }
    }

    fn execute(
        &self,
        device: &Device,
        work: Work,
        workers: usize,
        launcher: Option<&Arc<dyn Launcher>>,
    ) -> Result<(), LaunchError> {
        match work {
            Work::Launch { kernel, config } => {
                let config = LaunchConfig { launcher: launcher.cloned(), ..*config };
                let statistics = match launcher {
                    Some(launcher) => launcher.launch(&kernel, config)?,
                    None => launch_with(device, &kernel, config, workers)?,
                };
                if let Some(runtime) = &self.runtime {
                    runtime.finished(&kernel, &statistics);
                }
            }
            Work::Copy { to, from, rows } => {
                self.copy(device, rows.joined([to, from]))?;
                let transfer = Transfer { to, from: Some(from), rows };
                launcher.map_or(Ok(()), |launcher| launcher.transferred(&transfer))?;
            }
            Work::Fill { to, rows, byte } => {
                self.fill(device, rows.joined([to]), byte)?;
                let transfer = Transfer { to, from: None, rows };
                launcher.map_or(Ok(()), |launcher| launcher.transferred(&transfer))?;
            }
        }
        Ok(())
    }

    fn copy(&self, device: &Device, (rows, [to, from]): (Rows, [Place; 2])) -> Result<(), LaunchError> {
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

    fn fill(&self, device: &Device, (rows, [to]): (Rows, [Place; 1]), byte: u8) -> Result<(), LaunchError> {
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

/// Bytes that are copied or filled at once.
const PIECE: u64 = 1 << 20;

/// Offsets and lengths of the pieces in which so many bytes are copied.
fn pieces(bytes: u64) -> impl Iterator<Item = (u64, usize)> {
    (0..bytes).step_by(PIECE as usize).map(move |start| (start, (bytes - start).min(PIECE) as usize))
}

fn told(device: &Device, tell: impl FnOnce(&Checker)) {
    if let Some(checker) = device.checker() {
        tell(checker);
    }
}
