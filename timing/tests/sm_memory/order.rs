//! Order of service.

use timing::message::RequestKind;
use warp_stream::{AccessKind, MemorySpace};

use crate::bench::{Bench, Instruction};

#[test]
fn sub_cores_are_served_round_robin() {
    let mut bench = Bench::new();
    let instructions: Vec<Instruction> =
        (0..8).map(|i| Instruction::load(128 * u64::from(i)).sub_core(i / 2)).collect();
    bench.run(&instructions);
    let order: Vec<u64> = bench.requests(RequestKind::Read).iter().map(|(line, _)| line / 128).collect();
    assert_eq!(order, [0, 2, 4, 6, 1, 3, 5, 7]);
}

#[test]
fn request_for_a_free_structure_passes_an_older_one() {
    let mut bench = Bench::with(&[("l1", "unified", toml::Value::Boolean(false))]);
    let blocks = Instruction::shared(4, |lane| 128 * lane);
    let waits = Instruction::shared(4, |lane| 4 * lane);
    let passes = Instruction::store(0x1000);
    let sent_at = |bench: &Bench| bench.sent[0].cycle;
    bench.run(&[blocks, waits, passes]);
    assert!(sent_at(&bench) < 10, "the store left at {}", sent_at(&bench));
}

#[test]
fn per_sm_pipeline_holds_one_access() {
    let change = ("memory_pipeline", "organisation", toml::Value::String("per-sm".to_owned()));
    let divergent = Instruction::new(MemorySpace::Global, AccessKind::Store, 4, |lane| 0x10000 + 128 * lane);
    let other = Instruction::shared(4, |lane| 4 * lane).sub_core(1);
    let instructions = [divergent, other];
    let accepted = |bench: &mut Bench| bench.run(&instructions)[1].accepted;
    assert_eq!(accepted(&mut Bench::new()), 0);
    assert!(accepted(&mut Bench::with(&[change])) >= 32);
}

#[test]
fn no_request_leaves_without_credits() {
    let mut bench = Bench::with(&[("memory_pipeline", "credits", toml::Value::Integer(1))]);
    let times = bench.run(&[Instruction::load(0), Instruction::load(128)]);
    assert_eq!(bench.sent[1].cycle, bench.sent[0].cycle + 1);
    assert!(times[1].completed > times[0].completed);
}
