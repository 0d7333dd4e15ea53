//! Reservation failures of L1: Khairy et al., Fig. 14.

use std::io::Write;

use super::measure::{Configuration, Launch};
use super::workload::Workload;
use crate::failure::Failure;
use crate::table;

const FAILURES: [&str; 3] =
    ["l1.line_reservation_failures", "l1.miss_reservation_failures", "l1.merge_reservation_failures"];
const QUEUE: &str = "l1.queue_reservation_failures";

pub(super) fn run(elements: u32, out: &mut dyn Write) -> Result<(), Failure> {
    let old = Configuration::plain("titan-v-old").measure(Workload::Memory, elements)?;
    let new = Configuration::plain("titan-v").measure(Workload::Memory, elements)?;
    writeln!(
        out,
        "Reservation failures of an SM's L1 in 1,000 of its cycles: of lines, MSHRs and merges; of the queue"
    )?;
    writeln!(out, "to L2. The paper: the new model has none.\n")?;
    let mut rows = Vec::new();
    for (old, new) in old.iter().zip(&new) {
        rows.push([
            old.kernel.clone(),
            rate(old, &FAILURES)?,
            rate(new, &FAILURES)?,
            rate(old, &[QUEUE])?,
            rate(new, &[QUEUE])?,
        ]);
    }
    table::write(out, ["kernel", "old model", "new model", "queue, old", "queue, new"], &rows)?;
    Ok(())
}

fn rate(launch: &Launch, names: &[&str]) -> Result<String, Failure> {
    let cycles = launch.count(&["sm.active_cycles"])?.max(1);
    Ok(format!("{:.0}", 1000.0 * launch.count(names)? as f64 / cycles as f64))
}
