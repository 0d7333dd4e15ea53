//! Speed of the SM model on this host: `cargo test -p timing --release --test sm -- --ignored
//! --nocapture speed`.

use std::sync::Arc;

use timing::gpu::Gpu;
use warp_stream::{
    AccessKind, Kernel, KernelSource, MachineInstruction, MemorySpace, OperationClass, WarpSource,
};

use crate::bench::{Bench, Script, Scripted, access, control, gpu_with, load, operation};

/// Processor time of this thread in seconds, if available.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|time| time.parse::<f64>().ok()).map_or(f64::NAN, |time| time / 1e9)
}

fn measure(name: &str, script: Script, ctas: u64) {
    let instructions = script.path.len() as u64 * u64::from(script.block / 32) * ctas;
    let mut bench = Bench::new(&[]);
    let script = Arc::new(script);
    let source = Scripted::new(&script, None);
    let start = processor_time();
    bench.run_source(Box::new(source), &script, ctas);
    let seconds = processor_time() - start;
    let counters = bench.sm.counters();
    assert_eq!(counters.issue.issued, instructions);
    println!(
        "{name:<12} {:>6.2} M warp instructions/s, {:>6.2} M cycles/s, {:.2} instructions per cycle",
        instructions as f64 / seconds / 1e6,
        bench.cycle as f64 / seconds / 1e6,
        instructions as f64 / bench.cycle as f64
    );
}

/// A launch on a full GPU.
struct Launch {
    kernel: Kernel,
    script: Arc<Script>,
}

impl KernelSource for Launch {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn warps(&self, _: u32) -> Box<dyn WarpSource + '_> {
        Box::new(Scripted::new(&self.script, None))
    }
}

fn measure_gpu(name: &str, script: Script, ctas: u64) {
    let instructions = script.path.len() as u64 * u64::from(script.block / 32) * ctas;
    let launch = Launch { kernel: script.kernel(ctas as u32), script: Arc::new(script) };
    let mut gpu = Gpu::new(&gpu_with(&[]));
    let start = processor_time();
    let record = gpu.launch(&launch, &mut ()).unwrap();
    let seconds = processor_time() - start;
    println!(
        "GPU, {name:<12} {:>6.2} M warp instructions/s, {:>6} cycles, {:.2} instructions per cycle",
        instructions as f64 / seconds / 1e6,
        record.cycles,
        instructions as f64 / record.cycles as f64
    );
}

/// Independent additions and products.
fn alu() -> Vec<MachineInstruction> {
    use OperationClass::*;
    (0..32).map(|i| operation([Integer, Fp32][i % 2], 8 + i as u16, &[6 + i as u16, 1])).collect()
}

#[test]
#[ignore = "a measurement"]
fn one_sm() {
    use OperationClass::*;
    let alu = alu();
    measure("alu", Script::new(&alu).repeat(100).warps(8), 200);
    measure("alu, 1 warp", Script::new(&alu).repeat(10000), 1);

    let loads = [load(4), operation(Integer, 5, &[4]), load(6), operation(Fp32, 7, &[6, 5])];
    measure(
        "loads",
        Script {
            address: |warp, step| 128 * (64 * warp + u64::from(step % 8)),
            ..Script::new(&loads).repeat(400).warps(8)
        },
        200,
    );
    measure(
        "loads, far",
        Script {
            address: |warp, step| 128 * (4096 * warp + u64::from(step)),
            ..Script::new(&loads).repeat(200).warps(8)
        },
        200,
    );

    let shared = |register| access(MemorySpace::Shared, AccessKind::Load, register);
    let mut gemm = vec![
        load(4),
        load(5),
        access(MemorySpace::Shared, AccessKind::Store, 4),
        access(MemorySpace::Shared, AccessKind::Store, 5),
        control(Barrier),
    ];
    for i in 0..16 {
        gemm.extend([shared(10 + i), shared(30 + i), operation(Fp32, 6, &[10 + i, 30 + i, 6])]);
    }
    gemm.extend([control(Barrier), operation(Integer, 2, &[2]), control(Branch)]);
    measure(
        "tiled gemm",
        Script {
            address: |warp, step| 128 * (16 * warp + u64::from(step % 16)),
            shared_bytes: 8192,
            ..Script::new(&gemm).repeat(40).warps(8)
        },
        200,
    );
}

#[test]
#[ignore = "a measurement"]
fn sgemm() {
    use OperationClass::*;
    // Inner loop of a naive 512 × 512 product: two loads, one uniform over the lanes.
    let loop_body = [
        load(4),
        load(5),
        operation(Fp32, 6, &[4, 5, 6]),
        operation(Integer, 2, &[2]),
        operation(Integer, 3, &[3]),
        operation(Integer, 8, &[2]),
        control(Branch),
    ];
    let address = |warp: u64, step: u32| {
        let (row, column, k) = (warp / 16, warp % 16, u64::from(step / 7));
        if step.is_multiple_of(7) {
            0x100_0000 + 2048 * row + 4 * k
        } else {
            0x200_0000 + 2048 * k + 128 * column
        }
    };
    let sgemm = Script {
        address,
        stride: |step| if step.is_multiple_of(7) { 0 } else { 4 },
        ..Script::new(&loop_body).repeat(512).warps(8)
    };
    measure_gpu("sgemm", sgemm, 1024);
}

#[test]
#[ignore = "a measurement"]
fn saxpy() {
    use OperationClass::*;
    let stream = [
        load(4),
        load(5),
        operation(Fp32, 6, &[4, 5, 6]),
        operation(Integer, 2, &[2]),
        access(MemorySpace::Global, AccessKind::Store, 6),
        operation(Integer, 3, &[3]),
        control(Branch),
    ];
    let address = |warp: u64, step: u32| {
        0x1000_0000 * u64::from(1 + step % 7) + 128 * (warp + 20480 * u64::from(step / 7))
    };
    measure_gpu("saxpy", Script { address, ..Script::new(&stream).repeat(4).warps(8) }, 2560);
}

#[test]
#[ignore = "a measurement"]
fn arithmetic() {
    measure_gpu("alu", Script::new(&alu()).repeat(40).warps(8), 1280);
}
