//! Location of a request between its SM and its bank, for hang reports.

use std::mem::discriminant;

use timing::dram::RefreshMode;
use timing::hang_report::{Place, SectorRead};
use timing::message::Timed;

use crate::harness::{Bench, read, titan_v};

/// Locations of a read at the ends of epochs until its reply, each listed once.
fn way(bench: &mut Bench) -> Vec<Place> {
    let request = Timed { cycle: bench.now, message: read(0, 0b10) };
    let mut replies = bench.epoch(&[request]);
    let mut way: Vec<Place> = Vec::new();
    while replies.is_empty() {
        let located = bench.side.locate();
        assert_eq!(located.len(), 1, "{located:?}");
        assert_eq!(located[0].reply, request.message.reply());
        if way.last().is_none_or(|last| discriminant(last) != discriminant(&located[0].place)) {
            way.push(located[0].place.clone());
        }
        replies = bench.epoch(&[]);
    }
    assert_eq!(bench.side.locate(), []);
    way
}

#[test]
fn read_is_located_in_page_walk_then_at_slice() {
    let mut bench = Bench::new(titan_v(|gpu| gpu.tlb.walk = 654));
    let way = way(&mut bench);
    let slice = way.iter().position(|place| matches!(place, Place::Sectors { .. })).unwrap();
    assert_eq!(way[0], Place::PageWalk);
    assert!(slice > 0);
}

#[test]
fn sector_read_from_dram_is_located_on_its_way_back() {
    let mut bench = Bench::new(titan_v(|gpu| gpu.dram.latency = 1000));
    let way = way(&mut bench);
    let Some(Place::Sectors { missing, .. }) = way.iter().rfind(|at| matches!(at, Place::Sectors { .. }))
    else {
        panic!("{way:?}")
    };
    let [sector] = &missing[..] else { panic!("{missing:?}") };
    assert_eq!((sector.sector, matches!(sector.read, SectorRead::Coming { .. })), (1, true));
}

#[test]
fn reads_of_a_bank_are_reported_in_order() {
    let mut bench = Bench::new(titan_v(|gpu| gpu.dram.rcd = 3000));
    let requests: Vec<_> =
        (0..2).map(|sector| Timed { cycle: bench.now, message: read(0, 1 << sector) }).collect();
    let mut replies = bench.epoch(&requests);
    for _ in 0..4 {
        replies.extend(bench.epoch(&[]));
    }
    assert_eq!(replies, []);
    let before: Vec<usize> = bench
        .side
        .locate()
        .iter()
        .map(|located| match &located.place {
            Place::Sectors { missing, .. } => match missing[0].read {
                SectorRead::Channel { bank: Some(queue), .. } => queue.before,
                ref other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(before, [0, 1]);
}

#[test]
fn pending_refresh_of_a_bank_is_reported() {
    // The row must stay open for long, so the refresh waits.
    let mut bench = Bench::new(titan_v(|gpu| {
        (gpu.dram.refresh, gpu.dram.rcd) = (RefreshMode::AllBank, 60_000);
        (gpu.dram.ras, gpu.dram.rc) = (50_000, 50_000);
    }));
    let request = Timed { cycle: bench.now, message: read(0, 1) };
    bench.epoch(&[request]);
    let banks = |bench: &Bench| -> Vec<String> {
        bench.side.waiting().into_iter().filter(|line| line.contains(", bank ")).collect()
    };
    let before = banks(&bench);
    // Refreshes are 4,680 core cycles apart.
    for _ in 0..50 {
        bench.epoch(&[]);
    }
    let (before, after) = (before.concat(), banks(&bench).concat());
    assert!(before.contains("row 0 is open, ") && !before.contains("refresh"), "{before}");
    assert!(after.contains("row 0 is open, refresh is pending, 2 reads"), "{after}");
}
