//! Launch of a kernel: checks of sizes, execution of the grid, statistics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use warp_stream::kernel_name::signature;
use warp_stream::volume;

pub use warp_stream::LaunchShape;

use crate::device::Device;
use crate::dynamic_parallelism::{DeviceRuntime, Launcher};
use crate::engine::cluster::MAXIMUM_CTAS;
use crate::engine::cta::Executed;
use crate::engine::grid::{Grid, Rest};
use crate::engine::native::{self, NativeError};
use crate::engine::program::Program;
use crate::fault::Fault;
use crate::memory::{ALLOCATION_ALIGNMENT, AllocationKind, Memory, MemoryError};
use crate::parameter_reads::ParameterReads;
use crate::sanitizer::LaunchOrigin;
use crate::texture::Table;

/// Bytes of a cooperative launch's workspace, which holds the counter of the grid-wide barrier.
const WORKSPACE_BYTES: u64 = 256;

/// Sizes and arguments of a launch.
#[derive(Debug, Clone, Default)]
pub struct LaunchConfig {
    /// CTAs of the grid and threads of a CTA.
    pub shape: LaunchShape,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Parameter block in the kernel's layout.
    pub parameters: Vec<u8>,
    /// Cooperative launch: all CTAs must be resident at once.
    pub cooperative: bool,
    /// CTAs per cluster along x, y, z. If absent, the kernel's required size or 1 applies.
    pub cluster: Option<[u32; 3]>,
    /// Textures, samplers and surfaces available to the kernel.
    pub textures: Arc<Table>,
    /// Services for launches by the kernel. Without them, such launches fail.
    pub runtime: Option<Arc<dyn DeviceRuntime>>,
    /// Executor of the kernel's launches after its end; by default the engine.
    pub launcher: Option<Arc<dyn Launcher>>,
    /// Nesting depth of the launching grid.
    pub depth: u32,
    /// Watchdog deadline; by default the device's time limit from the start. A child inherits the deadline
    /// of its parent.
    pub deadline: Option<Instant>,
    /// SIMT-stack execution: diverged lanes continue only after reconvergence. Without it, all lanes make
    /// progress.
    pub simt_stack: bool,
    /// Records loads of the parameter block, on a device with a [`crate::parameters::ParameterWatcher`].
    pub parameter_reads: Option<Arc<ParameterReads>>,
    /// The launch as the host knows it, for the checks. A child has the origin of its parent.
    pub origin: LaunchOrigin,
}

impl LaunchConfig {
    /// CTAs per cluster along x, y, z, if the launch or the kernel sets them.
    pub fn cluster_of(&self, program: &Program) -> Option<[u32; 3]> {
        self.cluster.or(program.bounds.required_cluster)
    }

    /// The shape in CTAs. A kernel with `.blocksareclusters` counts its grid in clusters.
    pub fn shape_of(&self, program: &Program) -> LaunchShape {
        let LaunchShape { grid, block } = self.shape;
        match self.cluster_of(program) {
            Some(cluster) if program.bounds.blocks_are_clusters => {
                LaunchShape::new(std::array::from_fn(|axis| grid[axis].saturating_mul(cluster[axis])), block)
            }
            _ => self.shape,
        }
    }
}

/// Statistics of a launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaunchStatistics {
    /// Executed warp instructions.
    pub warp_instructions: u64,
    /// Executed lane instructions.
    pub lane_instructions: u64,
    /// Warp instructions that compiled code executed.
    pub native_instructions: u64,
    /// Host time.
    pub elapsed: Duration,
}

impl LaunchStatistics {
    pub(crate) fn new(executed: Executed, elapsed: Duration) -> LaunchStatistics {
        let Executed { warp_instructions, lane_instructions, native_instructions } = executed;
        LaunchStatistics { warp_instructions, lane_instructions, native_instructions, elapsed }
    }
}

/// Reason for which a launch did not complete.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Size that the device or kernel forbids.
    #[error("{}: {reason}", signature(.kernel))]
    Configuration {
        /// Kernel name.
        kernel: String,
        /// Cause.
        reason: String,
    },
    /// Demand for shared memory, threads or CTAs beyond the device's capacity.
    #[error("{}: {reason}", signature(.kernel))]
    Resources {
        /// Kernel name.
        kernel: String,
        /// Cause.
        reason: String,
    },
    /// The settings demand machine code, and this host executes none.
    #[error("{}: no machine code: {error}", signature(.kernel))]
    Native {
        /// Kernel name.
        kernel: String,
        /// Cause.
        error: NativeError,
    },
    /// No memory for the parameters.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A lane faulted.
    #[error("{0}")]
    Fault(Box<Fault>),
    /// A copy or fill requested by the kernel exceeded the watchdog's time.
    #[error("a copy or fill requested by {} exceeded the watchdog's limit of {seconds} s", signature(.kernel))]
    Overdue {
        /// Kernel name.
        kernel: String,
        /// Time limit.
        seconds: u64,
    },
    /// A child launch did not complete, for the reason given by [`LaunchConfig::launcher`].
    #[error("{0}")]
    Child(Box<dyn std::error::Error + Send + Sync>),
}

/// Checks the sizes of a launch without executing it.
pub fn check(device: &Device, program: &Program, config: &LaunchConfig) -> Result<(), LaunchError> {
    let kernel = &program.kernel().name;
    let wrong = |reason: String| Err(LaunchError::Configuration { kernel: kernel.clone(), reason });
    let spec = &device.spec;
    let shape = config.shape_of(program);
    shape.check(&spec.limits).or_else(|error| wrong(error.to_string()))?;
    let threads = u64::from(shape.threads_per_cta());
    if let Some(bound) = program.bounds.maximum_threads
        && threads > bound.iter().fold(1, |product: u64, &n| product.saturating_mul(n.max(1).into()))
    {
        return wrong(format!("{threads} threads per CTA; the kernel is compiled for at most {bound:?}"));
    }
    if let Some(required) = program.bounds.required_threads
        && required != shape.block
    {
        return wrong(format!("CTAs of {:?} threads; the kernel requires {required:?}", shape.block));
    }
    let shared = u64::from(program.static_shared) + u64::from(config.dynamic_shared);
    if shared > u64::from(spec.shared_per_cta) {
        return wrong(format!(
            "{shared} bytes of shared memory per CTA; the limit is {}",
            spec.shared_per_cta
        ));
    }
    if config.parameters.len() < program.parameter_bytes as usize {
        return wrong(format!(
            "{} bytes of parameters; the kernel takes {}",
            config.parameters.len(),
            program.parameter_bytes
        ));
    }
    check_cluster(program, config, shape.grid)?;
    if config.cooperative {
        let resident = u64::from(spec.sms) * u64::from(spec.threads_per_sm) / threads;
        let ctas = shape.cta_count();
        if ctas > resident {
            return Err(LaunchError::Resources {
                kernel: kernel.clone(),
                reason: format!("{ctas} CTAs cannot be resident at once; the device holds {resident}"),
            });
        }
    }
    Ok(())
}

/// Checks the cluster dimensions, if any, for a grid of `grid` CTAs.
fn check_cluster(program: &Program, config: &LaunchConfig, grid: [u32; 3]) -> Result<(), LaunchError> {
    let (bounds, kernel) = (&program.bounds, &program.kernel().name);
    let wrong = |reason: String| Err(LaunchError::Configuration { kernel: kernel.clone(), reason });
    let Some(cluster) = config.cluster_of(program) else {
        return if bounds.needs_clusters {
            wrong("the kernel requires clusters; set a cluster size for the launch".to_owned())
        } else {
            Ok(())
        };
    };
    if let Some(required) = bounds.required_cluster
        && required != cluster
    {
        return wrong(format!("clusters of {cluster:?} CTAs; the kernel requires {required:?}"));
    }
    let ctas = volume(cluster);
    let most = bounds.maximum_cluster_ctas.map_or(MAXIMUM_CTAS, |bound| bound.min(MAXIMUM_CTAS));
    if ctas == 0 || ctas > u64::from(most) {
        return wrong(format!("{ctas} CTAs per cluster; must be 1 to {most}"));
    }
    if (0..3).any(|axis| !grid[axis].is_multiple_of(cluster[axis])) {
        return wrong(format!("a grid of {grid:?} CTAs is no multiple of the cluster {cluster:?}"));
    }
    Ok(())
}

/// Runs a launch and its child launches to the end.
pub fn launch(
    device: &Device,
    program: &Arc<Program>,
    config: LaunchConfig,
) -> Result<LaunchStatistics, LaunchError> {
    launch_with(device, program, config, device.worker_count())
}

/// Runs [`launch`] on `workers` threads.
pub(crate) fn launch_with(
    device: &Device,
    program: &Arc<Program>,
    config: LaunchConfig,
    workers: usize,
) -> Result<LaunchStatistics, LaunchError> {
    let mut prepared = Prepared::new(device, program, config)?;
    prepared.grid.use_native(native::wanted(device, program)?);
    prepared.run(Executed::default(), Rest::default(), workers)
}

/// A launch ready for execution, with its own device memory.
pub(crate) struct Prepared<'a> {
    pub(crate) grid: Grid<'a>,
    parameters: Option<LaunchAllocation<'a>>,
    workspace: Option<LaunchAllocation<'a>>,
}

impl<'a> Prepared<'a> {
    pub(crate) fn new(
        device: &'a Device,
        program: &Arc<Program>,
        config: LaunchConfig,
    ) -> Result<Prepared<'a>, LaunchError> {
        check(device, program, &config)?;
        let grid = Grid::new(Arc::clone(program), device, config, device.next_launch());
        let parameters = if program.needs_parameter_address {
            let block = LaunchAllocation::new(&device.memory, grid.parameters.len() as u64)?;
            device.memory.write(block.address, &grid.parameters)?;
            Some(block)
        } else {
            None
        };
        let workspace = if grid.cooperative {
            Some(LaunchAllocation::new(&device.memory, WORKSPACE_BYTES)?)
        } else {
            None
        };
        Ok(Prepared::with(grid, parameters, workspace))
    }

    /// Re-creates a launch with the same memory. `None` if that memory is occupied.
    pub(crate) fn again(grid: Grid<'a>, own: &OwnMemory) -> Option<Prepared<'a>> {
        let memory = &grid.owner.memory;
        let again = |block: &Option<OwnBlock>| match block {
            Some(block) => LaunchAllocation::again(memory, block).map(Some),
            None => Some(None),
        };
        let (parameters, workspace) = (again(&own.parameters)?, again(&own.workspace)?);
        Some(Prepared::with(grid, parameters, workspace))
    }

    fn with(
        mut grid: Grid<'a>,
        parameters: Option<LaunchAllocation<'a>>,
        workspace: Option<LaunchAllocation<'a>>,
    ) -> Prepared<'a> {
        let address = |block: &Option<LaunchAllocation<'_>>| block.as_ref().map_or(0, |block| block.address);
        grid.parameter_address = address(&parameters);
        grid.workspace = address(&workspace);
        Prepared { grid, parameters, workspace }
    }

    /// Saves the launch's memory as data.
    pub(crate) fn own_memory(&self) -> Result<OwnMemory, MemoryError> {
        let save = |block: &Option<LaunchAllocation<'_>>, bytes: usize| match block {
            Some(block) => block.save(bytes).map(Some),
            None => Ok(None),
        };
        let parameters = save(&self.parameters, self.grid.parameters.len())?;
        Ok(OwnMemory { parameters, workspace: save(&self.workspace, WORKSPACE_BYTES as usize)? })
    }

    /// Executes the remaining CTAs on `workers` threads. Statistics include the CTAs executed `before`.
    pub(crate) fn run(
        self,
        before: Executed,
        rest: Rest,
        workers: usize,
    ) -> Result<LaunchStatistics, LaunchError> {
        let (mut executed, fault) = self.grid.run(workers, rest);
        executed += before;
        let elapsed = self.grid.started.elapsed();
        self.finish(fault, workers)?;
        Ok(LaunchStatistics::new(executed, elapsed))
    }

    /// Drops the launch and its requests before the CTAs have ended.
    pub(crate) fn abandon(self) {
        self.grid.children.release(self.grid.owner);
    }

    /// Executes the grid's requests on `workers` threads after the end of its CTAs.
    pub(crate) fn finish(self, fault: Option<Box<Fault>>, workers: usize) -> Result<(), LaunchError> {
        if let Some(fault) = fault {
            return Err(self.fail(fault));
        }
        let Prepared { grid, parameters, workspace } = self;
        drop((parameters, workspace));
        let ended = grid.children.finish(grid.owner, workers);
        grid.children.release(grid.owner);
        ended
    }

    /// Drops the grid's requests after a fault.
    pub(crate) fn fail(self, fault: Box<Fault>) -> LaunchError {
        let Prepared { grid, parameters, workspace } = self;
        drop((parameters, workspace));
        if let Some(checker) = grid.owner.checker() {
            checker.faulted(&grid, &fault);
        }
        grid.children.release(grid.owner);
        LaunchError::Fault(fault)
    }
}

/// Saved device memory of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnMemory {
    parameters: Option<OwnBlock>,
    workspace: Option<OwnBlock>,
}

/// A saved memory block: address and contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OwnBlock {
    address: u64,
    bytes: Vec<u8>,
}

impl OwnMemory {
    /// True if the saved memory belongs to a launch like `grid`.
    pub(crate) fn fits(&self, grid: &Grid<'_>) -> bool {
        let has = |block: &Option<OwnBlock>, bytes: Option<usize>| {
            block.as_ref().map(|block| block.bytes.len()) == bytes
        };
        let parameters = grid.program.needs_parameter_address.then_some(grid.parameters.len());
        has(&self.parameters, parameters)
            && has(&self.workspace, grid.cooperative.then_some(WORKSPACE_BYTES as usize))
    }
}

/// Zeroed device memory with the lifetime of a launch.
struct LaunchAllocation<'a> {
    memory: &'a Memory,
    address: u64,
}

impl<'a> LaunchAllocation<'a> {
    fn new(memory: &'a Memory, size: u64) -> Result<Self, MemoryError> {
        let address = memory.allocate(size, ALLOCATION_ALIGNMENT, AllocationKind::Parameters)?;
        Ok(Self { memory, address })
    }

    /// Re-allocates a saved block at its address with its contents.
    fn again(memory: &'a Memory, block: &OwnBlock) -> Option<Self> {
        let OwnBlock { address, bytes } = block;
        if !memory.allocate_again(*address, bytes.len() as u64, AllocationKind::Parameters) {
            return None;
        }
        let again = Self { memory, address: *address };
        memory.write(*address, bytes).is_ok().then_some(again)
    }

    fn save(&self, bytes: usize) -> Result<OwnBlock, MemoryError> {
        let mut block = OwnBlock { address: self.address, bytes: vec![0; bytes] };
        self.memory.read(self.address, &mut block.bytes)?;
        Ok(block)
    }
}

impl Drop for LaunchAllocation<'_> {
    fn drop(&mut self) {
        // A faulty kernel may already have freed the block.
        let _ = self.memory.free(self.address);
    }
}
