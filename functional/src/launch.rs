//! Launching a kernel: sizes checked against the device, the grid run, what it came to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use warp_stream::kernel_name::signature;

use crate::children::{DeviceRuntime, Launcher};
use crate::device::Device;
use crate::engine::cluster::MAXIMUM_CTAS;
use crate::engine::cta::Executed;
use crate::engine::grid::{Grid, Rest};
use crate::engine::program::Program;
use crate::fault::Fault;
use crate::memory::{ALLOCATION_ALIGNMENT, AllocationKind, Memory, MemoryError};
use crate::parameters::ParameterReads;
use crate::texture::Table;

/// Workspace of a cooperative launch, in which a grid-wide barrier counts. Bytes.
const WORKSPACE_BYTES: u64 = 256;

/// Sizes and arguments of a launch.
#[derive(Debug, Clone, Default)]
pub struct LaunchConfig {
    /// CTAs along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The parameter block, laid out as the kernel declares it.
    pub parameters: Vec<u8>,
    /// All CTAs must be resident at once (cooperative launch).
    pub cooperative: bool,
    /// CTAs of a cluster along x, y, z; without, those that the kernel requires, or one.
    pub cluster: Option<[u32; 3]>,
    /// Textures, samplers and surfaces that the kernel can use.
    pub textures: Arc<Table>,
    /// Whom the kernel asks to launch others; without, it cannot.
    pub runtime: Option<Arc<dyn DeviceRuntime>>,
    /// Who executes what the kernel launches, once it has ended; without, the engine by itself.
    pub launcher: Option<Arc<dyn Launcher>>,
    /// Grids that this one is nested in.
    pub depth: u32,
    /// When the watchdog ends the launch; without, the device's time from the start. A launch that a kernel makes has the
    /// kernel's deadline.
    pub deadline: Option<Instant>,
    /// Lanes of a warp that have parted go on only together, as on a GPU with a SIMT stack; without, all make progress.
    pub simt_stack: bool,
    /// Where to note what is loaded of the parameters, by a device with a [`crate::parameters::ParameterWatcher`].
    pub parameter_reads: Option<Arc<ParameterReads>>,
}

impl LaunchConfig {
    /// CTAs of a cluster along x, y, z, if the launch or the kernel says so.
    pub fn cluster_of(&self, program: &Program) -> Option<[u32; 3]> {
        self.cluster.or(program.bounds.required_cluster)
    }

    /// CTAs along x, y, z: the launch counts clusters where the kernel wants that (`.blocksareclusters`).
    pub fn ctas_of(&self, program: &Program) -> [u32; 3] {
        match self.cluster_of(program) {
            Some(cluster) if program.bounds.blocks_are_clusters => {
                std::array::from_fn(|axis| self.grid[axis].saturating_mul(cluster[axis]))
            }
            _ => self.grid,
        }
    }
}

/// What a launch did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaunchStatistics {
    /// Warp instructions executed.
    pub warp_instructions: u64,
    /// Lane instructions executed.
    pub lane_instructions: u64,
    /// Host time taken.
    pub elapsed: Duration,
}

impl LaunchStatistics {
    pub(crate) fn new(executed: Executed, elapsed: Duration) -> LaunchStatistics {
        let Executed { warp_instructions, lane_instructions } = executed;
        LaunchStatistics { warp_instructions, lane_instructions, elapsed }
    }
}

/// Why a launch did not complete.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A size that the device or kernel does not allow.
    #[error("{}: {reason}", signature(.kernel))]
    Configuration {
        /// Kernel.
        kernel: String,
        /// What is wrong.
        reason: String,
    },
    /// More shared memory, threads or CTAs than the device has room for.
    #[error("{}: {reason}", signature(.kernel))]
    Resources {
        /// Kernel.
        kernel: String,
        /// What is wrong.
        reason: String,
    },
    /// No memory for the parameters.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A lane faulted.
    #[error("{0}")]
    Fault(Box<Fault>),
    /// A copy or fill that a kernel has asked for ran beyond the watchdog's time.
    #[error("a copy or fill that {} asked for ran longer than the watchdog's {seconds} s", signature(.kernel))]
    Overdue {
        /// Kernel.
        kernel: String,
        /// The limit.
        seconds: u64,
    },
    /// What it has launched did not complete; [`LaunchConfig::launcher`] says why.
    #[error("{0}")]
    Child(Box<dyn std::error::Error + Send + Sync>),
}

/// Checks the sizes of a launch without running it.
pub fn check(device: &Device, program: &Program, config: &LaunchConfig) -> Result<(), LaunchError> {
    let kernel = &program.kernel().name;
    let wrong = |reason: String| Err(LaunchError::Configuration { kernel: kernel.clone(), reason });
    let spec = &device.spec;
    let grid = config.ctas_of(program);
    for (axis, (ctas, threads)) in grid.into_iter().zip(config.block).enumerate() {
        if ctas == 0 || ctas > spec.grid_limits[axis] {
            return wrong(format!(
                "{ctas} CTAs along axis {axis}; allowed are 1 to {}",
                spec.grid_limits[axis]
            ));
        }
        if threads == 0 || threads > spec.cta_limits[axis] {
            return wrong(format!(
                "{threads} threads along axis {axis}; allowed are 1 to {}",
                spec.cta_limits[axis]
            ));
        }
    }
    let threads = config.block.iter().map(|&n| u64::from(n)).product::<u64>();
    if threads > u64::from(spec.threads_per_cta) {
        return wrong(format!("{threads} threads in a CTA; allowed are {}", spec.threads_per_cta));
    }
    if let Some(bound) = program.bounds.maximum_threads
        && threads > bound.iter().fold(1, |product: u64, &n| product.saturating_mul(n.max(1).into()))
    {
        return wrong(format!("{threads} threads in a CTA; the kernel is compiled for at most {bound:?}"));
    }
    if let Some(required) = program.bounds.required_threads
        && required != config.block
    {
        return wrong(format!("CTAs of {:?} threads; the kernel requires {required:?}", config.block));
    }
    let shared = u64::from(program.static_shared) + u64::from(config.dynamic_shared);
    if shared > u64::from(spec.shared_per_cta) {
        return wrong(format!(
            "{shared} bytes of shared memory in a CTA; allowed are {}",
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
    check_cluster(program, config, grid)?;
    if config.cooperative {
        let resident = u64::from(spec.sms) * u64::from(spec.threads_per_sm) / threads;
        let ctas = grid.iter().map(|&n| u64::from(n)).product::<u64>();
        if ctas > resident {
            return Err(LaunchError::Resources {
                kernel: kernel.clone(),
                reason: format!("{ctas} CTAs cannot be resident at once; the device holds {resident}"),
            });
        }
    }
    Ok(())
}

/// Checks the dimensions of the clusters, if there are any, for a grid of so many CTAs.
fn check_cluster(program: &Program, config: &LaunchConfig, grid: [u32; 3]) -> Result<(), LaunchError> {
    let (bounds, kernel) = (&program.bounds, &program.kernel().name);
    let wrong = |reason: String| Err(LaunchError::Configuration { kernel: kernel.clone(), reason });
    let Some(cluster) = config.cluster_of(program) else {
        return if bounds.needs_clusters {
            wrong("the kernel wants clusters, and the launch has none".to_owned())
        } else {
            Ok(())
        };
    };
    if let Some(required) = bounds.required_cluster
        && required != cluster
    {
        return wrong(format!("clusters of {cluster:?} CTAs; the kernel requires {required:?}"));
    }
    let ctas = cluster.iter().fold(1_u64, |all, &extent| all.saturating_mul(extent.into()));
    let most = bounds.maximum_cluster_ctas.map_or(MAXIMUM_CTAS, |bound| bound.min(MAXIMUM_CTAS));
    if ctas == 0 || ctas > u64::from(most) {
        return wrong(format!("{ctas} CTAs in a cluster; allowed are 1 to {most}"));
    }
    if (0..3).any(|axis| !grid[axis].is_multiple_of(cluster[axis])) {
        return wrong(format!("{grid:?} CTAs are no whole number of clusters of {cluster:?}"));
    }
    Ok(())
}

/// Runs a launch to its end, that of all it launches included.
pub fn launch(
    device: &Device,
    program: &Arc<Program>,
    config: LaunchConfig,
) -> Result<LaunchStatistics, LaunchError> {
    launch_with(device, program, config, device.worker_count())
}

/// As [`launch`], on `workers` threads.
pub(crate) fn launch_with(
    device: &Device,
    program: &Arc<Program>,
    config: LaunchConfig,
    workers: usize,
) -> Result<LaunchStatistics, LaunchError> {
    Prepared::new(device, program, config)?.run(Executed::default(), Rest::default(), workers)
}

/// A launch that can be executed, with the memory that it needs for itself.
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

    /// A launch that had this memory. `None` if the memory is not to be had again.
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

    /// The launch's memory as data.
    pub(crate) fn own_memory(&self) -> Result<OwnMemory, MemoryError> {
        let save = |block: &Option<LaunchAllocation<'_>>, bytes: usize| match block {
            Some(block) => block.save(bytes).map(Some),
            None => Ok(None),
        };
        let parameters = save(&self.parameters, self.grid.parameters.len())?;
        Ok(OwnMemory { parameters, workspace: save(&self.workspace, WORKSPACE_BYTES as usize)? })
    }

    /// Executes what is left on `workers` threads; statistics are of that and what was executed `before`.
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

    /// The grid's CTAs will not end: nothing of what it has asked for is done.
    pub(crate) fn abandon(self) {
        self.grid.children.release(self.grid.owner);
    }

    /// The grid's CTAs have ended: what it has asked for is done, on `workers` threads.
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

    /// A lane has faulted: nothing of what the grid has asked for is done.
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

/// What the memory is that belongs to a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnMemory {
    parameters: Option<OwnBlock>,
    workspace: Option<OwnBlock>,
}

/// A block of a launch's memory: where it is and what it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OwnBlock {
    address: u64,
    bytes: Vec<u8>,
}

impl OwnMemory {
    /// Is it that of such a launch?
    pub(crate) fn fits(&self, grid: &Grid<'_>) -> bool {
        let has = |block: &Option<OwnBlock>, bytes: Option<usize>| {
            block.as_ref().map(|block| block.bytes.len()) == bytes
        };
        let parameters = grid.program.needs_parameter_address.then_some(grid.parameters.len());
        has(&self.parameters, parameters)
            && has(&self.workspace, grid.cooperative.then_some(WORKSPACE_BYTES as usize))
    }
}

/// Device memory, zero at first, that lives as long as a launch.
struct LaunchAllocation<'a> {
    memory: &'a Memory,
    address: u64,
}

impl<'a> LaunchAllocation<'a> {
    fn new(memory: &'a Memory, size: u64) -> Result<Self, MemoryError> {
        let address = memory.allocate(size, ALLOCATION_ALIGNMENT, AllocationKind::Parameters)?;
        Ok(Self { memory, address })
    }

    /// The block where it was, with what it held.
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
        // A kernel may have freed it, wrongly; then there is nothing left to free.
        let _ = self.memory.free(self.address);
    }
}
