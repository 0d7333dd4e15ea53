//! Counts over time.

use std::num::NonZero;

use launch_report::{Format, Report};
use timing::record::LaunchRecord;
use timing::series::{Interval, MOST_POINTS};
use warp_stream::OperationClass;

use crate::script::{Script, launch, titan_v};

/// A kernel with loads, arithmetic and stores.
fn script() -> Script {
    Script::new(200, 128)
        .load(4, &[], |thread| (1 << 32) + 4 * thread.number + thread.iteration * (1 << 20))
        .operation(OperationClass::Fp32, 5, &[4])
        .store(&[5], |thread| (1 << 33) + 4 * thread.number)
        .repeat(0, 4)
        .exit()
}

fn cycles(count: u64) -> Option<Interval> {
    NonZero::new(count).map(Interval::Cycles)
}

fn timed(series: Option<Interval>, threads: usize) -> LaunchRecord {
    launch(&mut titan_v(&[]).with_series(series).with_threads(threads), &script())
}

#[test]
fn points_add_up_to_the_counters_of_the_launch() {
    let record = timed(cycles(64), 1);
    let series = record.series.unwrap();
    assert!(series.points() > 20, "{}", series.points());
    assert_eq!(series.imbalance(&record.counters), None);
    let sms = series.units.sms.sums();
    let expected = timing::statistics::value(&record.counters, "sm.warp_instructions");
    assert_eq!(Some(sms[1..].iter().sum()), expected);
    assert_eq!(sms.len(), 1 + 80);
}

#[test]
fn series_are_equal_for_any_number_of_threads() {
    let one = timed(cycles(64), 1);
    assert!(one.series.is_some());
    assert_eq!(one, timed(cycles(64), 4));
}

#[test]
fn series_change_no_result() {
    let without = timed(None, 1);
    assert!(without.series.is_none());
    for interval in [cycles(1), cycles(1000), Some(Interval::Auto)] {
        let with = timed(interval, 1);
        assert_eq!(LaunchRecord { series: None, ..with }, without);
    }
}

/// A kernel of many cycles and few instructions.
fn long(series: Option<Interval>) -> LaunchRecord {
    let script = Script::new(8, 32).operation(OperationClass::Fp32, 4, &[4]).repeat(0, 20_000).exit();
    launch(&mut titan_v(&[]).with_series(series), &script)
}

#[test]
fn automatic_series_has_few_points() {
    let record = long(Some(Interval::Auto));
    let series = record.series.unwrap();
    assert!((1..=MOST_POINTS).contains(&series.points()), "{}", series.points());
    assert_eq!(series.imbalance(&record.counters), None);
}

#[test]
fn merged_points_of_units_keep_their_sums() {
    let record = long(cycles(1));
    let series = record.series.unwrap();
    assert!(series.points() > 2 * series.units.sms.len(), "{}", series.points());
    assert_eq!(series.imbalance(&record.counters), None);
    let expected = timing::statistics::value(&record.counters, "sm.warp_instructions");
    assert_eq!(Some(series.units.sms.sums()[1..].iter().sum()), expected);
}

#[test]
fn report_keeps_each_series_beside_its_launch() {
    let mut report = Report::new("titan-v");
    let mut gpu = titan_v(&[]).with_series(cycles(64));
    for number in 1..=40 {
        let record = launch(&mut gpu, &script());
        let series = record.series.clone().filter(|_| number % 3 == 0);
        report.add(LaunchRecord { launch: number, series, ..record });
    }
    let text = report.text(Format::Json).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    for launch in value["launches"].as_array().unwrap() {
        let number = launch["launch"].as_u64().unwrap();
        assert_eq!(launch.get("series").is_some(), number % 3 == 0, "{number}");
    }
    let sum = |launch: &serde_json::Value| -> u64 {
        let values = launch["series"]["counters"]["l1.load_sectors"].as_array().unwrap();
        values.iter().map(|value| value.as_u64().unwrap()).sum()
    };
    assert_eq!(value["launches"][2]["counters"]["l1.load_sectors"], sum(&value["launches"][2]));
}
