//! STREAM's bandwidth with L1 and without as SMs are taken away: Khairy et al., Fig. 15.

use std::io::Write;

use super::measure::Configuration;
use super::workload::Workload;
use crate::failure::Failure;
use crate::table;

/// Bytes a second that the TITAN V's DRAM moves at most.
const PEAK: f64 = 652.8e9;
/// Bytes of an element of each of three arrays.
const BYTES: f64 = 12.0;

/// How many SMs, the change that leaves so many, and what the paper measures on the card, in
/// percent of the peak.
///
/// The paper says "4 and 2 cores". For 68 % of the peak, each of two SMs would move 185 B a core
/// cycle, more than the 128 B of an SM's L1. The experiment therefore takes 4 and 2 SMs of each of
/// GV100's six GPCs.
const SMS: [(&str, &[&str], &str); 3] =
    [("80", &[], "82"), ("24", &["chip.sms=24"], "75"), ("12", &["chip.sms=12"], "68")];

pub(super) fn run(elements: u32, out: &mut dyn Write) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for (sms, changes, card) in SMS {
        let mut row =
            [sms.to_owned(), card.to_owned(), String::new(), String::new(), String::new(), String::new()];
        let mut cells = row.iter_mut().skip(2);
        for gpu in ["titan-v", "titan-v-old"] {
            let launches = Configuration { gpu, changes }.measure(Workload::Stream, elements)?;
            for (launch, cell) in launches.iter().skip(1).zip(&mut cells) {
                *cell = format!(
                    "{:.1}",
                    100.0 * BYTES * f64::from(elements) / (launch.nanoseconds()? as f64 * 1e-9) / PEAK
                );
            }
        }
        rows.push(row);
    }
    writeln!(out, "Bandwidth of STREAM's triad in percent of DRAM's peak.\n")?;
    let heading = ["SMs", "paper's card", "new, L1 on", "new, L1 off", "old, L1 on", "old, L1 off"];
    table::write(out, heading, &rows)?;
    writeln!(
        out,
        "\nThe paper: no difference between L1 on and off in the new model; with L1 on the old one collapses. It says \"4 and 2\n\
         cores\", which are taken for 4 and 2 SMs of each of six GPCs: two SMs in all cannot move 68 % of the peak."
    )?;
    Ok(())
}
