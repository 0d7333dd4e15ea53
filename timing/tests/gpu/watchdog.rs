//! Hung launches: wait chains from the warp to the bank.

use timing::gpu::{Copy, Direction, LaunchError, Stuck};
use timing::partition::Place;
use timing::specification::{GpuSpec, gpu};
use warp_stream::{AccessKind, MemorySpace, OperationClass};

use crate::script::{Script, titan_v, try_launch};

const LINE: u64 = 128;
/// Address of the kernels' data.
const DATA: u64 = 1 << 21;

/// DRAM that never serves an access: the next refresh always closes the row too early.
const NEVER: [&str; 4] = ["dram.refresh=all-bank", "dram.refi=2000", "dram.rcd=4000", "tlb.walk=0"];

/// Hang report of a launch on a TITAN V with dead DRAM; its code is in L2.
fn stuck(changes: &[&str], script: &Script) -> Stuck {
    let mut gpu = titan_v(&[&NEVER, changes].concat());
    let code = Copy { direction: Direction::ToDevice, address: script.kernel.code_address, bytes: 1 << 12 };
    gpu.copy(code).unwrap();
    stands_still(try_launch(&mut gpu, script).unwrap_err())
}

fn stands_still(error: LaunchError) -> Stuck {
    match error {
        LaunchError::Stuck(stuck) => stuck,
        other => panic!("{other}"),
    }
}

/// Report of the only waiting warp.
fn only_warp(stuck: &Stuck) -> &str {
    match &stuck.warps[..] {
        [warp] => warp,
        warps => panic!("{warps:#?}"),
    }
}

/// A warp that loads a word and uses it.
fn load_and_use() -> Script {
    Script::new(1, 32).load(8, &[], |_| DATA + 4).operation(OperationClass::Integer, 9, &[8]).exit()
}

/// Addresses of the first lines of a slice.
fn of_one_slice() -> Vec<u64> {
    let map = GpuSpec::read(&gpu::built_in("titan-v").unwrap()).unwrap().partition;
    let offset = |line: u64| DATA / u64::from(map.all_slices()) / LINE * LINE + line * LINE;
    (0..64).map(|line| map.address(Place { slice: 5, offset: offset(line) })).collect()
}

/// A warp whose lanes load different lines of one slice.
fn loads_of_one_slice() -> Script {
    let lines = of_one_slice();
    Script::new(1, 32)
        .load(8, &[], move |thread| lines[thread.number as usize])
        .operation(OperationClass::Integer, 9, &[8])
        .exit()
}

#[test]
fn warps_at_a_barrier_are_reported_as_waiting() {
    let error = try_launch(&mut titan_v(&[]), &Script::new(2, 64).hang().exit()).unwrap_err();
    let stuck = stands_still(error);
    assert_eq!(stuck.kernels, ["launch 0, kernel hangs: 0 of 2 CTAs completed, 2 started"]);
    // Two CTAs of two warps, at the instruction after the barrier.
    assert_eq!(stuck.warps.len(), 4, "{:#?}", stuck.warps);
    let first = &stuck.warps[0];
    assert_eq!(first, "SM 0, launch 0, CTA 0, warp 0, line 101: waits for other warps");
}

#[test]
fn long_sleep_of_all_warps_is_no_deadlock() {
    let script = Script::new(1, 32).sleep(3_000_000).exit();
    let record = try_launch(&mut titan_v(&[]), &script).unwrap();
    // 3 ms at 1.2 GHz.
    assert!(record.cycles >= 3_600_000, "{}", record.cycles);
}

#[test]
fn waiting_warp_is_linked_to_its_load_and_l1_entry() {
    let stuck = stuck(&[], &load_and_use());
    let warp = only_warp(&stuck);
    assert!(warp.starts_with("SM 0, launch 0, CTA 0, warp 0, line 101: waits for Global memory"), "{warp}");
    let link = "Load of line 100: line 0x200000 in L1's table, sectors 0001 outstanding, 1 accesses waiting";
    assert!(warp.contains(link), "{warp}");
}

#[test]
fn loads_of_other_registers_are_not_reported() {
    let script = Script::new(1, 32).load(7, &[], |_| DATA + 4 * LINE).load(8, &[], |_| DATA);
    let stuck = stuck(&[], &script.operation(OperationClass::Integer, 9, &[8]).exit());
    let warp = only_warp(&stuck);
    assert!(warp.contains("Load of line 101") && !warp.contains("of line 100"), "{warp}");
}

#[test]
fn l1_line_is_linked_to_slice_bank_and_row() {
    let stuck = stuck(&[], &load_and_use());
    let warp = only_warp(&stuck);
    let map = GpuSpec::read(&gpu::built_in("titan-v").unwrap()).unwrap().partition;
    let slice = map.place(DATA).slice;
    let (channel, _) = map.channel(slice);
    assert!(warp.contains(&format!("at slice {slice}, sector 0 at channel {channel}, part ")), "{warp}");
    assert!(warp.contains(", bank ") && warp.contains(" for row "), "{warp}");
}

#[test]
fn bank_with_accesses_is_reported_with_its_rows() {
    let stuck = stuck(&[], &load_and_use());
    let bank = stuck.units.iter().find(|unit| unit.contains(", bank ")).unwrap();
    // L2 fetches pairs of sectors.
    assert!(bank.contains("2 reads and 0 writes wait, the oldest for row "), "{bank}");
    assert!(bank.contains("is open"), "{bank}");
}

#[test]
fn line_without_l1_mshr_is_in_the_memory_pipeline() {
    let script = Script::new(1, 32).load(8, &[], |_| DATA).load(9, &[], |_| DATA + LINE);
    let script = script.operation(OperationClass::Integer, 10, &[9]).exit();
    let stuck = stuck(&["l1.misses=1"], &script);
    let warp = only_warp(&stuck);
    let link = "Load of line 101: line 0x200080 in the memory pipeline, L1 waits for an MSHR";
    assert!(warp.contains(link), "{warp}");
}

#[test]
fn access_behind_a_full_pipeline_is_in_the_sub_cores_queue() {
    let loads = (0..8).fold(Script::new(1, 32), |script, number| {
        script.load(8 + number, &[], move |_| DATA + u64::from(number) * LINE)
    });
    let script = loads.operation(OperationClass::Integer, 20, &[15]).exit();
    let stuck = stuck(&["l1.misses=1", "memory_pipeline.buffer=1"], &script);
    let warp = only_warp(&stuck);
    assert!(warp.contains("Load of line 107: in the sub-core's queue behind "), "{warp}");
}

#[test]
fn request_without_credits_stays_in_its_sm() {
    let script = loads_of_one_slice();
    let narrow = ["crossbar.input_buffer=1", "crossbar.output_buffer=1", "memory_pipeline.credits=1"];
    let stuck = stuck(&[&narrow[..], &["l2.mshrs=4"]].concat(), &script);
    let unsent = stuck.warps[0].contains("queued in the SM after") && stuck.warps[0].contains("0 may leave");
    assert!(unsent, "{}", stuck.warps[0]);
}

#[test]
fn request_for_a_full_slice_is_in_the_crossbar() {
    let stuck = stuck(&["crossbar.output_buffer=1", "l2.mshrs=4"], &loads_of_one_slice());
    let crossbar = "in the crossbar from port 0 to slice 5, whose buffer is full";
    assert!(stuck.warps[0].contains(crossbar), "{}", stuck.warps[0]);
}

#[test]
fn queued_request_is_reported_with_the_slices_stall() {
    let stuck = stuck(&["l2.mshrs=4"], &loads_of_one_slice());
    let queued = "queued at slice 5 after 0 requests; the first waits for an MSHR";
    assert!(stuck.warps[0].contains(queued), "{}", stuck.warps[0]);
}

#[test]
fn fetching_warp_is_linked_to_line_and_bank() {
    let script = load_and_use();
    let error = try_launch(&mut titan_v(&NEVER), &script).unwrap_err();
    let stuck = stands_still(error);
    let warp = only_warp(&stuck);
    assert!(
        warp.contains("waits for instructions\n    Load of line 100: line 0x10000000000 of instr"),
        "{warp}"
    );
    assert!(warp.contains(", bank "), "{warp}");
}

#[test]
fn constant_load_is_linked_to_its_l2_line() {
    let script = Script::new(1, 32).access(MemorySpace::Constant, AccessKind::Load, Some(8), |_| DATA + 64);
    let stuck = stuck(&[], &script.operation(OperationClass::Integer, 9, &[8]).exit());
    let warp = only_warp(&stuck);
    assert!(warp.contains("Load of line 100: line 0x200000 of constants, at slice "), "{warp}");
}

#[test]
fn atomic_operation_is_linked_to_its_l2_line() {
    let script = Script::new(1, 32).atomic(8, &[], |_| DATA).operation(OperationClass::Integer, 9, &[8]);
    let stuck = stuck(&[], &script.exit());
    let warp = only_warp(&stuck);
    assert!(warp.contains("Atomic of line 100: requested from L2, line 0x200000, at slice "), "{warp}");
}

#[test]
fn long_hang_report_is_abridged() {
    let script = Script::new(80, 1024).load(8, &[], |thread| DATA + thread.number * LINE);
    let stuck = stuck(&[], &script.operation(OperationClass::Integer, 9, &[8]).exit());
    let printed = stuck.to_string();
    assert!(printed.contains("SM 0") && printed.contains(", bank "), "{printed}");
    assert!(printed.contains(" more warps") && printed.contains(" more units"), "{printed}");
}
