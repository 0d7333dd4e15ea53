//! Where requests are that have not left their SM, as the watchdog tells it.

use timing::hang_report::Place;

use crate::bench::{Bench, Instruction};

/// Places of a load's request as long as it is in the unit, each once.
fn places(bench: &mut Bench, cycles: u64) -> Vec<Place> {
    let load = Instruction::load(1 << 21);
    bench.accept(0, &load);
    let mut places: Vec<Place> = Vec::new();
    for _ in 0..cycles {
        bench.cycle += 1;
        bench.step();
        for located in bench.unit.locate() {
            assert_eq!(located.reply.line, 1 << 21);
            if places.last() != Some(&located.place) {
                places.push(located.place);
            }
        }
    }
    places
}

#[test]
fn a_request_without_a_translation_waits_for_it() {
    let mut bench = Bench::with(&[("tlb", "miss", toml::Value::Integer(50))]);
    assert_eq!(places(&mut bench, 100), [Place::Translation]);
    assert_eq!(bench.sent.len(), 1);
}

#[test]
fn what_has_left_the_sm_is_not_in_it() {
    let mut bench = Bench::new();
    places(&mut bench, 20);
    assert_eq!((bench.sent.len(), bench.unit.locate()), (1, Vec::new()));
}
