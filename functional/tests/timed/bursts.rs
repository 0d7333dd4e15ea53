//! Bursts of a warp's instructions report what single turns report.

use std::collections::BTreeMap;

use functional::timed::turns::Order;
use warp_stream::MachineInstruction;

use crate::bench::{Bench, kernel};

/// An instruction with its executing lanes and their addresses, if it accesses memory.
type Told = (MachineInstruction, u32, Vec<u64>);

/// Reports of each warp, in the warp's order.
fn told(body: &str, order: Order) -> BTreeMap<(u64, u32), Vec<Told>> {
    let bench = Bench::new(&kernel(body));
    let out = bench.words(&[0; 512]);
    let mut warps: BTreeMap<(u64, u32), Vec<Told>> = BTreeMap::new();
    for step in bench.launch(order, 3, 64, out).unwrap() {
        let lanes = (0..32).filter(|lane| step.active >> lane & 1 != 0);
        let addresses = lanes.map(|lane| step.addresses[lane] - out);
        let accesses = step.instruction.memory.is_some();
        let addresses = if accesses { addresses.collect() } else { Vec::new() };
        warps.entry((step.cta, step.warp)).or_default().push((step.instruction, step.active, addresses));
    }
    warps
}

#[test]
fn burst_reports_a_warps_instructions_as_turns_do() {
    let arithmetic = "
        mov.u32 %r6, 0; mov.u32 %r7, %r1;
        LOOP: mad.lo.u32 %r7, %r7, 5, %r6; setp.lt.u32 %p1, %r1, 20; @%p1 bra SKIP;
        red.global.add.u32 [%rd3], %r7; ld.global.u32 %r8, [%rd3+1024]; add.u32 %r7, %r7, %r8;
        SKIP: add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 200; @%p2 bra LOOP; st.global.u32 [%rd3+768], %r7; ret;";
    let barriers = "
        mov.u32 %r6, 0;
        LOOP: bar.sync 0; red.global.add.u32 [%rd3], %r6; add.u32 %r6, %r6, %r1; bar.sync 0;
        add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 50; @%p2 bra LOOP; st.global.u32 [%rd3+768], %r6; ret;";
    for body in [arithmetic, &format!("mov.u32 %r9, 0; {barriers}")] {
        assert!(told(body, Order::InBursts) == told(body, Order::InTurn), "{body}");
    }
}

#[test]
fn clock_advances_within_a_burst() {
    let bench = Bench::new(&kernel(
        "mov.u64 %rd4, %clock64; LOOP: mov.u64 %rd5, %clock64; sub.u64 %rd5, %rd5, %rd4;
         setp.lt.u64 %p1, %rd5, 5000; @%p1 bra LOOP; ret;",
    ));
    let out = bench.words(&[0; 32]);
    let steps = bench.launch(Order::InBursts, 1, 32, out).unwrap();
    assert!((5000..6000).contains(&steps.len()), "{}", steps.len());
}
