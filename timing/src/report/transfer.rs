//! Statistics of device copies and fills.

use serde::{Deserialize, Serialize};

use super::{Total, written};
use crate::dram::ChannelCounts;
use crate::statistics::Counts;

/// Statistics of one device copy or fill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferRecord {
    /// True for a fill.
    pub is_fill: bool,
    /// Number of the stream.
    pub stream: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Core cycle of the start.
    pub start: u64,
    /// Duration in core cycles.
    pub cycles: u64,
    /// Launches or other transfers ran at the same time; the counts cover all of them.
    pub shared: bool,
    /// Counts during the transfer, in the order of units.
    #[serde(with = "written")]
    pub counters: Counts,
    /// Counts of each DRAM channel; empty if DRAM was idle.
    pub channels: Vec<ChannelCounts>,
}

/// Sums over transfers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Transfers.
    pub number: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Core cycles of all transfers; concurrent ones count each.
    pub cycles: u64,
}

impl TransferRecord {
    /// Name in the kernel column.
    pub fn name(&self) -> &'static str {
        if self.is_fill { "[fill]" } else { "[copy within the device]" }
    }
}

impl Total {
    /// Adds a device copy or fill.
    pub fn add_transfer(&mut self, transfer: &TransferRecord) {
        let TransferRecord { bytes, cycles, counters, channels, .. } = transfer;
        self.transfers.number += 1;
        self.transfers.bytes += bytes;
        self.transfers.cycles += cycles;
        self.add_counts(*cycles, counters, channels);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::report::{Format, Report};
    use crate::statistics::Counters;
    use crate::totals::Totals;

    fn transfer(is_fill: bool, stream: u64) -> TransferRecord {
        let mut counters = Counts::new();
        Totals::default().each(&mut |counter, _| counters.push((counter, 2)));
        let channels = Vec::new();
        TransferRecord {
            is_fill,
            stream,
            bytes: 4096,
            start: 10,
            cycles: 900,
            shared: false,
            counters,
            channels,
        }
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
            [&transfers["number"], &transfers["bytes"], &transfers["cycles"], &sum["cycles"]]
                .map(Value::as_u64)
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
        let sum = "all: 0 launches, 2700 cycles, of which 2700 in 3 copies within the device and fills (12288 bytes)\n";
        assert!(text.contains(sum), "{text}");
        let summary = report().summary();
        let rows: Vec<&str> = summary.lines().map(str::trim_start).collect();
        assert!(
            rows[2].starts_with("[fill]") && rows[3].starts_with("[copy within the device]"),
            "{summary}"
        );
    }
}
