//! A device with stepped kernels, and the reported effects.

use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings};
use functional::launch::{LaunchConfig, LaunchError};
use functional::memory::AllocationKind;
use functional::module::Module;
use functional::timed::turns::{Issued, Order, execute};
use functional::timed::{Identity, TimedError, launch};
use warp_stream::LaunchShape;
use warp_stream::{KernelSource, MachineInstruction, MemorySpace};

/// Warps in turn, in bursts, and in random orders.
pub const ORDERS: [Order; 5] =
    [Order::InTurn, Order::InBursts, Order::Random(1), Order::Random(2), Order::Random(3)];

pub struct Bench {
    pub device: Arc<Device>,
    pub module: Module,
}

/// An issued instruction.
#[derive(Debug, Clone)]
pub struct Step {
    pub cta: u64,
    pub warp: u32,
    pub instruction: MachineInstruction,
    pub active: u32,
    pub space: MemorySpace,
    pub addresses: [u64; 32],
    pub texels: Vec<u64>,
    pub deferred: bool,
    pub sleep: u32,
}

impl Bench {
    pub fn new(body: &str) -> Bench {
        Bench::of(body, DeviceSpec::default())
    }

    /// A bench with another device.
    pub fn of(body: &str, spec: DeviceSpec) -> Bench {
        let settings = Settings { timed: true, ..Settings::default() };
        let text = format!(".version 7.5\n.target sm_70\n.address_size 64\n{body}");
        let device = Arc::new(Device::new(spec, settings).unwrap());
        let ptx = Arc::new(ptx_frontend::Module::parse(text, "test.ptx").unwrap());
        let module = Module::load(&device, vec![ptx]).unwrap();
        Bench { device, module }
    }

    pub fn words(&self, values: &[u32]) -> u64 {
        let address =
            self.device.memory.allocate(values.len() as u64 * 4, 4, AllocationKind::Device).unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.device.memory.write(address, &bytes).unwrap();
        address
    }

    pub fn read(&self, address: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; count * 4];
        self.device.memory.read(address, &mut bytes).unwrap();
        bytes.chunks(4).map(|chunk| u32::from_le_bytes(chunk.try_into().unwrap())).collect()
    }

    /// Launches on two SMs with room for two CTAs each.
    pub fn launch(&self, order: Order, grid: u32, block: u32, out: u64) -> Result<Vec<Step>, LaunchError> {
        let config =
            LaunchConfig { shape: LaunchShape::new([grid, 1, 1], [block, 1, 1]), ..LaunchConfig::default() };
        self.launch_as(order, config, out)
    }

    pub fn launch_as(&self, order: Order, config: LaunchConfig, out: u64) -> Result<Vec<Step>, LaunchError> {
        let program = self.module.kernel("test").unwrap();
        let config = LaunchConfig { parameters: out.to_le_bytes().to_vec(), ..config };
        let mut steps = Vec::new();
        let launched = launch(&self.device, &program, config, Identity { launch: 1, stream: 0 }, |source| {
            let code = Arc::clone(&source.kernel().code);
            execute(source, (2, 2), order, |issued: Issued<'_>| {
                let execution = issued.execution;
                steps.push(Step {
                    cta: issued.cta,
                    warp: issued.warp,
                    instruction: code.instructions[issued.position as usize],
                    active: execution.active,
                    space: execution.space,
                    addresses: execution.addresses,
                    texels: execution.texels.clone(),
                    deferred: execution.deferred.is_some(),
                    sleep: execution.sleep,
                });
            })
        });
        match launched {
            Ok(()) => Ok(steps),
            Err(TimedError::Launch(error)) => Err(error),
            Err(other) => panic!("{other}"),
        }
    }
}

/// Prologue of a kernel: its indices, and the address of its word of `out`.
pub const HEAD: &str = "
    .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r4, %r2, %r3, %r1;
    mul.wide.s32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;";

/// A kernel with this body after the prologue.
pub fn kernel(body: &str) -> String {
    format!(".visible .entry test(.param .u64 out) {{ {HEAD} {body} }}")
}

/// Launches in each order and compares the results.
pub fn leaves(text: &str, (grid, block): (u32, u32), expected: &[u32]) {
    for order in ORDERS {
        let bench = Bench::new(text);
        let out = bench.words(&vec![0; expected.len()]);
        bench.launch(order, grid, block, out).unwrap();
        assert_eq!(bench.read(out, expected.len()), expected, "{order:?}");
    }
}
