//! How fast the SM core is on this host. `cargo test -p timing --release --test sm -- --ignored --nocapture speed`

use std::sync::Arc;

use warp_stream::{AccessKind, MemorySpace, OperationClass};

use crate::bench::{Bench, Script, Scripted, access, control, load, operation};

/// Processor time of this thread, where the system tells. Seconds.
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

#[test]
#[ignore = "a measurement"]
fn speed() {
    use OperationClass::*;
    let alu: Vec<_> =
        (0..32).map(|i| operation([Integer, Fp32][i % 2], 8 + i as u16, &[6 + i as u16, 1])).collect();
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
