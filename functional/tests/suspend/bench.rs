//! Launches a kernel on a fresh device: to the end, or up to a point with resumption on another device.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use functional::device::{Device, DeviceSpec, Settings};
use functional::engine::program::Program;
use functional::launch::{LaunchConfig, LaunchError, launch};
use functional::memory::AllocationKind;
use functional::module::Module;
use functional::suspend::{ResumeError, SuspendError, SuspendedLaunch, Window, launch_from, launch_until};
use voltsim_checkpoint::codec;
use warp_stream::LaunchShape;

/// Serialises the devices of a test, so that each begins at the same address.
static ALONE: Mutex<()> = Mutex::new(());

/// Limit of decoded state in bytes.
pub const LIMIT: usize = 1 << 26;

/// A launch of the kernel `test`, with addresses of buffers as parameters.
#[derive(Debug, Clone)]
pub struct Case {
    pub text: String,
    pub config: LaunchConfig,
    /// Words of each buffer.
    pub buffers: Vec<Vec<u32>>,
}

impl Case {
    /// A kernel with this code and one zeroed buffer. Register `%rd1` holds the buffer, `%r1` the thread and
    /// `%r2` the CTA. `%r4` holds the thread in the grid, and `%rd3` the address of its word.
    pub fn new(code: &str, (grid, block): (u32, u32), words: usize) -> Case {
        Case::of(&kernel(code), (grid, block), words)
    }

    /// A module with these declarations, and one zeroed buffer.
    pub fn of(declarations: &str, (grid, block): (u32, u32), words: usize) -> Case {
        let text = format!(".version 8.0\n.target sm_90\n.address_size 64\n{declarations}");
        let config =
            LaunchConfig { shape: LaunchShape::new([grid, 1, 1], [block, 1, 1]), ..LaunchConfig::default() };
        Case { text, config, buffers: vec![vec![0; words]] }
    }

    pub fn cooperative(mut self) -> Case {
        self.config.cooperative = true;
        self
    }

    pub fn with_clusters(mut self, ctas: u32) -> Case {
        self.config.cluster = Some([ctas, 1, 1]);
        self
    }

    pub fn window_sizes(&self) -> u64 {
        self.config.shape.cta_count()
    }
}

pub fn kernel(code: &str) -> String {
    format!(
        ".visible .entry test(.param .u64 out) {{
         .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>;
         ld.param.u64 %rd1, [out];
         mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
         mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.s32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;
         {code} }}"
    )
}

/// Results of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub memory: Memory,
    pub warp_instructions: u64,
    pub lane_instructions: u64,
}

/// Address and contents of each allocation in device memory.
pub type Memory = Vec<(u64, Vec<u8>)>;

/// A suspended launch: its encoded state, and memory.
#[derive(Debug, Clone)]
pub struct Stopped {
    pub state: Vec<u8>,
    pub memory: Memory,
}

/// A device with the case's module and buffers.
pub struct Bench {
    pub device: Arc<Device>,
    pub program: Arc<Program>,
    pub config: LaunchConfig,
    _module: Module,
    _alone: MutexGuard<'static, ()>,
}

/// Default settings of devices.
pub fn stepped() -> Settings {
    Settings { timed: true, threads: 1, ..Settings::default() }
}

impl Bench {
    pub fn new(case: &Case) -> Bench {
        Bench::with(case, stepped())
    }

    pub fn with(case: &Case, settings: Settings) -> Bench {
        Bench::try_with(case, settings).unwrap()
    }

    /// [`Bench::with`]; `None` if the kernel cannot be bound.
    pub fn try_with(case: &Case, settings: Settings) -> Option<Bench> {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let device = Arc::new(Device::new(DeviceSpec::default(), settings).unwrap());
        let ptx = Arc::new(ptx_frontend::Module::parse(case.text.clone(), "test.ptx").ok()?);
        let module = Module::load(&device, vec![ptx]).ok()?;
        let program = module.kernel("test").ok()?;
        let mut config = case.config.clone();
        for words in &case.buffers {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let address = device.memory.allocate(bytes.len() as u64, 4, AllocationKind::Device).unwrap();
            device.memory.write(address, &bytes).unwrap();
            config.parameters.extend(address.to_le_bytes());
        }
        Some(Bench { device, program, config, _module: module, _alone: alone })
    }

    pub fn memory(&self) -> Memory {
        let read = |address: u64, size: u64| {
            let mut bytes = vec![0; size as usize];
            self.device.memory.read(address, &mut bytes).unwrap();
            (address, bytes)
        };
        let allocations = self.device.memory.allocations().into_iter();
        allocations.map(|allocation| read(allocation.address, allocation.size)).collect()
    }

    pub fn restore(&self, memory: &Memory) {
        for (address, bytes) in memory {
            self.device.memory.write(*address, bytes).unwrap();
        }
    }

    /// Words of the first buffer.
    pub fn words(&self) -> Vec<u32> {
        let address = u64::from_le_bytes(self.config.parameters[..8].try_into().unwrap());
        let size = self.device.memory.allocation_of(address).unwrap().size;
        let mut bytes = vec![0; size as usize];
        self.device.memory.read(address, &mut bytes).unwrap();
        bytes.chunks(4).map(|chunk| u32::from_le_bytes(chunk.try_into().unwrap())).collect()
    }

    pub fn launch(&self) -> Result<Left, LaunchError> {
        let done = launch(&self.device, &self.program, self.config.clone())?;
        Ok(self.left((done.warp_instructions, done.lane_instructions)))
    }

    pub fn launch_until(&self, window: &Window) -> Result<SuspendedLaunch, SuspendError<'_>> {
        launch_until(&self.device, &self.program, self.config.clone(), window)
    }

    pub fn launch_from(&self, state: &SuspendedLaunch) -> Result<Left, ResumeError> {
        let done = launch_from(&self.device, &self.program, self.config.clone(), state)?;
        Ok(self.left((done.warp_instructions, done.lane_instructions)))
    }

    fn left(&self, (warp_instructions, lane_instructions): (u64, u64)) -> Left {
        Left { memory: self.memory(), warp_instructions, lane_instructions }
    }
}

/// Suspends a case in a window, on a fresh device.
pub fn stop(case: &Case, window: &Window) -> Stopped {
    let bench = Bench::new(case);
    let state = bench.launch_until(window).unwrap_or_else(|error| panic!("{window:?}: {error}"));
    Stopped { state: codec::encode(&state).unwrap(), memory: bench.memory() }
}

pub fn decode(state: &[u8]) -> SuspendedLaunch {
    codec::decode::<LIMIT, _>(state).unwrap()
}

/// Resumes a suspended case, on a fresh device.
pub fn go_on(case: &Case, stopped: &Stopped, settings: Settings) -> Left {
    let bench = Bench::with(case, settings);
    bench.restore(&stopped.memory);
    bench.launch_from(&decode(&stopped.state)).unwrap()
}

/// Suspends a case in a window and resumes it: memory must equal that of an uninterrupted launch.
pub fn same_from(case: &Case, plain: &Left, window: Window) -> Left {
    let left = go_on(case, &stop(case, &window), stepped());
    assert!(left.memory == plain.memory, "from {window:?}");
    left
}

/// Copies of a state with one bit changed each, equal in each run.
pub fn with_other_bits(state: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let mut number = 0x9e37_79b9_7f4a_7c15_u64;
    std::iter::repeat_with(move || {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        let bit = number as usize % (state.len() * 8);
        let mut bytes = state.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bytes
    })
}
