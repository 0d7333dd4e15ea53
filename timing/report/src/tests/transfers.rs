//! Copies and fills in the forms of a run.

use serde_json::Value;

use timing::record::TransferRecord;
use timing::statistics::{Counters, Counts};
use timing::totals::Totals;

use crate::{Format, Report};

fn transfer(is_fill: bool, stream: u64) -> TransferRecord {
    let mut counters = Counts::new();
    Totals::default().each(&mut |counter, _| counters.push((counter, 2)));
    let channels = Vec::new();
    TransferRecord { is_fill, stream, bytes: 4096, start: 10, cycles: 900, shared: false, counters, channels }
}

fn report() -> Report {
    let mut report = Report::new("tiny");
    [(true, 0), (false, 7), (true, 7)].into_iter().for_each(|(is_fill, stream)| {
        report.add_transfer(transfer(is_fill, stream));
    });
    report
}

#[test]
fn json_has_transfers_beside_launches_and_in_sums() {
    let value: Value = serde_json::from_str(&report().text(Format::Json).unwrap()).unwrap();
    let second = &value["transfers"][1];
    assert_eq!((&second["kind"], &second["bytes"]), (&Value::from("copy"), &Value::from(4096)));
    assert_eq!(second["counters"]["dram.writes"], 2);
    let sums = [&value["streams"][1], &value["total"]].map(|sum| {
        let transfers = &sum["transfers"];
        [&transfers["number"], &transfers["bytes"], &transfers["cycles"], &sum["cycles"]].map(Value::as_u64)
    });
    assert_eq!(sums[0], [2, 8192, 1800, 1800].map(Some));
    assert_eq!(sums[1], [3, 12288, 2700, 2700].map(Some));
    assert_eq!(value["total"]["counters"]["dram.writes"], 6);
}

#[test]
fn json_without_transfers_has_no_transfers_field() {
    assert!(!Report::new("tiny").text(Format::Json).unwrap().contains("transfers"));
}

#[test]
fn csv_row_of_a_transfer_has_no_launch_number() {
    let text = report().text(Format::Csv).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|row| row.split(',').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
    assert_eq!(rows[1][..3], ["", "\"[fill]\"", "0"]);
    assert_eq!(rows[2][..3], ["", "\"[copy within the device]\"", "7"]);
    assert_eq!(rows.len(), 1 + 3 + 2 + 1);
}

#[test]
fn text_and_summary_show_bytes_and_cycles_of_transfers() {
    let text = report().text(Format::Text).unwrap();
    assert!(text.contains("[fill] stream 0, 4096 bytes: 900 cycles\n"), "{text}");
    let sum =
        "all: 0 launches, 2700 cycles, of which 2700 in 3 copies within the device and fills (12288 bytes)\n";
    assert!(text.contains(sum), "{text}");
    let summary = report().summary();
    let rows: Vec<&str> = summary.lines().map(str::trim_start).collect();
    assert!(rows[2].starts_with("[fill]") && rows[3].starts_with("[copy within the device]"), "{summary}");
}
