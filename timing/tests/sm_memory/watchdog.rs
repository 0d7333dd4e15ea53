//! Locations of requests within their SM, for hang reports.

use timing::hang_report::Place;

use crate::bench::{Bench, Instruction};

/// Locations of a load's request within the unit, each listed once.
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
fn request_waits_for_its_translation() {
    let mut bench = Bench::with(&[("tlb", "miss", toml::Value::Integer(50))]);
    assert_eq!(places(&mut bench, 100), [Place::Translation]);
    assert_eq!(bench.sent.len(), 1);
}

#[test]
fn departed_request_is_not_in_the_sm() {
    let mut bench = Bench::new();
    places(&mut bench, 20);
    assert_eq!((bench.sent.len(), bench.unit.locate()), (1, Vec::new()));
}
