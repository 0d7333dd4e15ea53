//! Kernels whose cycles and hits Nsight Compute counted on a Quadro GV100.

use crate::script::{Script, Thread, count, gv100, launch};

/// Caches of data as under the profiler.
const COLD: &[&str] = &["launch.cold=true"];

/// A page of the L2 TLB.
const DATA: u64 = 32 << 20;

/// Warps of a CTA.
const WARPS: u64 = 32;

/// Core cycles that an SM needs for each of a warp's stores to `lines` lines.
fn cycles_of_a_store(lines: u64) -> f64 {
    let own = move |thread: Thread| {
        let (lane, warp) = (thread.number % 32, thread.number / 32);
        DATA + (warp * lines + lane % lines) * 128 + lane / lines * 4
    };
    let cycles = |times| {
        let script = Script::new(8, 32 * WARPS as u32).store(&[], own).repeat(0, times).exit();
        launch(&mut gv100(COLD), &script).cycles
    };
    (cycles(23) - cycles(7)) as f64 / (16 * WARPS) as f64
}

#[test]
fn store_takes_as_long_as_whole_lines() {
    // The GV100: 4 cycles for each line that a store touches, so 64 for two words in each of 16.
    for lines in [1, 8, 16, 32] {
        let (cycles, card) = (cycles_of_a_store(lines), 4.0 * lines as f64);
        assert!((0.95..=1.05).contains(&(cycles / card)), "{lines} lines: {cycles}");
    }
}

#[test]
fn stores_to_one_sector_take_two_cycles_of_l2() {
    let (ctas, warps) = (1954, 16);
    let script = Script::new(ctas, 32 * warps).store(&[], |_| DATA).exit();
    let record = launch(&mut gv100(COLD), &script);
    // The GV100: 2.08 cycles for each store, the launch's start and end included.
    let cycles = record.cycles as f64 / f64::from(ctas * warps);
    assert!((2.08 * 0.97..=2.08 * 1.03).contains(&cycles), "{cycles}");
}

#[test]
fn rows_of_16_kib_share_all_sets_of_l1() {
    let words = |thread: Thread| DATA + (thread.number << 14) + 4 * thread.iteration;
    let load = Script::new(1, 512).load(8, &[], words).repeat(0, 31).exit();
    let hits = |changes: &[&str]| {
        let record = launch(&mut gv100(&[COLD, changes].concat()), &load);
        let [sectors, hits] =
            ["l1.load_sectors", "l1.load_sector_hits"].map(|name| count(&record, name) as f64);
        hits / sectors
    };
    // A word in eight begins a sector. The GV100: 88.4 % for such a kernel, 77.5 % by a linear index.
    assert!((0.86..=0.89).contains(&hits(&[])), "{}", hits(&[]));
    let linear = hits(&["l1.set_hash=linear"]);
    assert!(linear < 0.8, "{linear}");
}
