//! Measures the engine on kernels of a PTX file: `throughput k.ptx
//! [sgemm|sgemm_tiled|saxpy|histogram|nbody|bfs]…`.
//!
//! Prints processor nanoseconds per warp instruction and lane instructions per second of one worker.
//! With TIER=native, compiled code runs. With STEPPED=n, kernels run one machine instruction at a time,
//! with warps of n SMs of four CTAs each in turn. The example serves work on the engine; `cargo xtask
//! bench` measures whole programs.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings, Tier};
use functional::engine::program::Program;
use functional::launch::{LaunchConfig, LaunchStatistics, launch};
use functional::memory::AllocationKind;
use functional::module::Module;
use functional::timed::turns::{Order, execute};
use functional::timed::{self, Identity};
use warp_stream::LaunchShape;

struct Bench {
    device: Arc<Device>,
    module: Module,
    seed: u64,
    /// Number of SMs for stepped execution, if requested.
    stepped: Option<u32>,
}

impl Bench {
    fn random(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }

    fn floats(&mut self, count: usize) -> u64 {
        let values: Vec<f32> = (0..count).map(|_| (self.random() >> 40) as f32 / (1 << 24) as f32).collect();
        self.bytes(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
    }

    fn bytes(&mut self, bytes: &[u8]) -> u64 {
        let address = self.device.memory.allocate(bytes.len() as u64, 256, AllocationKind::Device).unwrap();
        self.device.memory.write(address, bytes).unwrap();
        address
    }

    fn run(&self, name: &str, grid: [u32; 3], block: [u32; 3], parameters: &[&[u8]]) {
        let program = self.module.kernel(name).unwrap();
        let mut block_of_parameters = Vec::new();
        for parameter in parameters {
            let at = block_of_parameters.len().next_multiple_of(parameter.len());
            block_of_parameters.resize(at, 0);
            block_of_parameters.extend_from_slice(parameter);
        }
        let config = LaunchConfig {
            shape: LaunchShape::new(grid, block),
            parameters: block_of_parameters,
            ..LaunchConfig::default()
        };
        let before = processor_seconds();
        let done = match self.stepped {
            Some(sms) => self.step(&program, config, sms),
            None => launch(&self.device, &program, config).unwrap(),
        };
        let seconds = processor_seconds() - before;
        println!(
            "{name:12} {:6.2} ns/warp instruction  {:6.1} M warp/s  {:5.2} G lane/s  {:9} warp instructions {:.3} s",
            seconds * 1e9 / done.warp_instructions as f64,
            done.warp_instructions as f64 / seconds / 1e6,
            done.lane_instructions as f64 / seconds / 1e9,
            done.warp_instructions,
            seconds,
        );
    }

    /// Executes in steps and counts machine instructions.
    fn step(&self, program: &Arc<Program>, config: LaunchConfig, sms: u32) -> LaunchStatistics {
        let mut done = LaunchStatistics::default();
        let identity = Identity { launch: 1, stream: 0 };
        let driven = timed::launch(&self.device, program, config, identity, |source| {
            execute(source, (sms, 4), Order::InTurn, |issued| {
                done.warp_instructions += 1;
                done.lane_instructions += u64::from(issued.execution.active.count_ones());
            })
        });
        driven.unwrap();
        done
    }
}

/// Processor time of this process, independent of other load.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = std::fs::read_to_string(&arguments[0]).unwrap();
    let threads = std::env::var("THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let stepped = std::env::var("STEPPED").ok().and_then(|n| n.parse().ok());
    let tier = match std::env::var("TIER").as_deref() {
        Ok("native") => Tier::Native,
        Ok("auto") => Tier::Auto,
        _ => Tier::Interpreter,
    };
    let settings = Settings { threads, timed: stepped.is_some(), tier, ..Settings::default() };
    let device = Arc::new(Device::new(DeviceSpec::default(), settings).unwrap());
    let ptx = Arc::new(ptx_frontend::Module::parse(text, &arguments[0]).unwrap());
    let module = Module::load(&device, vec![ptx]).unwrap();
    let mut bench = Bench { device, module, seed: 88172645463325252, stepped };
    let wanted = |name: &str| arguments.len() == 1 || arguments[1..].iter().any(|given| given == name);
    for name in ["sgemm", "sgemm_tiled"].into_iter().filter(|name| wanted(name)) {
        let n = 512usize;
        let (a, b, c) = (bench.floats(n * n), bench.floats(n * n), bench.floats(n * n));
        let size = (n as u32).to_le_bytes();
        let (grid, block) = ([16, 16, 1], [32, 32, 1]);
        bench.run(name, grid, block, &[&a.to_le_bytes(), &b.to_le_bytes(), &c.to_le_bytes(), &size]);
    }
    if wanted("saxpy") {
        let n = 16usize << 20;
        let (x, y) = (bench.floats(n), bench.floats(n));
        let size = (n as u32).to_le_bytes();
        let (x, y) = (x.to_le_bytes(), y.to_le_bytes());
        bench.run("saxpy", [n as u32 / 256, 1, 1], [256, 1, 1], &[&size, &2f32.to_le_bytes(), &x, &y]);
    }
    if wanted("histogram") {
        let n = 16usize << 20;
        let data: Vec<u8> = (0..n).map(|_| bench.random() as u8).collect();
        let data = bench.bytes(&data);
        let bins = bench.bytes(&[0; 1024]);
        let size = (n as u32).to_le_bytes();
        bench.run("histogram", [160, 1, 1], [256, 1, 1], &[&data.to_le_bytes(), &size, &bins.to_le_bytes()]);
    }
    if wanted("nbody") {
        let n = 8192usize;
        let (p, a) = (bench.floats(n * 4), bench.floats(n * 4));
        let size = (n as u32).to_le_bytes();
        bench.run("nbody", [n as u32 / 256, 1, 1], [256, 1, 1], &[&p.to_le_bytes(), &a.to_le_bytes(), &size]);
    }
    if wanted("bfs") {
        bfs(&mut bench);
    }
}

fn bfs(bench: &mut Bench) {
    let (n, degree) = (1usize << 20, 8);
    let words = |values: &[u32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    let rows: Vec<u32> = (0..=n as u32).map(|v| v * degree).collect();
    let columns: Vec<u32> = (0..n * degree as usize).map(|_| bench.random() as u32 % n as u32).collect();
    let mut distances = vec![u32::MAX; n];
    distances[0] = 0;
    let rows = bench.bytes(&words(&rows));
    let columns = bench.bytes(&words(&columns));
    let distances = bench.bytes(&words(&distances));
    let changed = bench.bytes(&[0; 4]);
    for level in 0u32..12 {
        bench.device.memory.write(changed, &[0; 4]).unwrap();
        let (level, size) = (level.to_le_bytes(), (n as u32).to_le_bytes());
        let (r, c, d) = (rows.to_le_bytes(), columns.to_le_bytes(), distances.to_le_bytes());
        bench.run("bfs", [4096, 1, 1], [256, 1, 1], &[&r, &c, &d, &level, &size, &changed.to_le_bytes()]);
        let mut flag = [0; 4];
        bench.device.memory.read(changed, &mut flag).unwrap();
        if flag == [0; 4] {
            break;
        }
    }
}
