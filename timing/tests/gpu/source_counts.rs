//! Counts by program counter.

use launch_report::{Format, Listing, Report};
use serde_json::Value;
use timing::record::{LaunchRecord, SourceCounts};
use warp_stream::OperationClass;

use crate::script::{Script, launch, titan_v};

/// A kernel with conflicting shared accesses, scattered loads, arithmetic and stores.
fn script() -> Script {
    Script::new(200, 128)
        .load(4, &[], |thread| (1 << 32) + 64 * thread.number + thread.iteration * (1 << 20))
        .operation(OperationClass::Fp32, 5, &[4])
        .store(&[5], |thread| (1 << 33) + 4 * thread.number)
        .repeat(0, 4)
        .exit()
}

fn timed(counts: bool, threads: usize) -> LaunchRecord {
    launch(&mut titan_v(&[]).with_pc_counts(counts).with_threads(threads), &script())
}

fn counts(record: &LaunchRecord) -> &SourceCounts {
    record.source_counts.as_ref().unwrap()
}

#[test]
fn pc_counts_add_up_to_the_counters_of_the_launch() {
    let record = timed(true, 1);
    let counts = counts(&record);
    assert_eq!(counts.imbalance(&record.counters), None);
    assert!(counts.rows.iter().any(|row| row.counts.stalls.iter().sum::<u64>() > 1000));
    let mut less = counts.clone();
    less.rows[0].counts.sectors += 1;
    assert!(less.imbalance(&record.counters).is_some());
}

#[test]
fn sectors_belong_to_the_accesses() {
    let record = timed(true, 1);
    let of = |class| {
        let rows = counts(&record).rows.iter().filter(move |row| row.class == class);
        rows.map(|row| row.counts.sectors).sum::<u64>()
    };
    // 800 warps repeat five times; a scattered load touches 32 sectors, a store 4.
    assert_eq!(of(OperationClass::Load), 32 * 800 * 5);
    assert_eq!(of(OperationClass::Store), 4 * 800 * 5);
    assert_eq!(of(OperationClass::Fp32), 0);
}

#[test]
fn waits_for_memory_belong_to_the_use_of_the_load() {
    let record = timed(true, 1);
    let waits = counts(&record).rows.iter().max_by_key(|row| row.counts.stalls[1]).unwrap();
    assert_eq!(waits.class, OperationClass::Fp32);
}

#[test]
fn pc_counts_are_equal_for_any_number_of_threads() {
    assert_eq!(timed(true, 1), timed(true, 4));
}

#[test]
fn pc_counts_change_no_result() {
    let with = timed(true, 1);
    assert_eq!(LaunchRecord { source_counts: None, ..with }, timed(false, 1));
}

#[test]
fn json_has_counts_and_the_listing() {
    let mut record = timed(true, 1);
    record.source_counts.as_mut().unwrap().listing = Some(7);
    let mut report = Report::new("titan-v");
    let listing = || Listing { number: 7, kernel: record.kernel.clone(), ..Listing::default() };
    report.list(7, listing);
    report.list(7, || unreachable!("the listing is there"));
    report.add(record.clone());
    let json: Value = serde_json::from_str(&report.text(Format::Json).unwrap()).unwrap();
    assert_eq!(json["listings"][0]["number"], 7);
    let of_launch = &json["launches"][0]["source_counts"];
    assert_eq!(of_launch["listing"], 7);
    let issued = of_launch["counts"]["warp_instructions"].as_array().unwrap();
    let sum: u64 = issued.iter().filter_map(Value::as_u64).sum();
    assert_eq!(Some(sum), json["launches"][0]["counters"]["sm.warp_instructions"].as_u64());
    assert_eq!(issued.len(), of_launch["line"].as_array().unwrap().len());
}
