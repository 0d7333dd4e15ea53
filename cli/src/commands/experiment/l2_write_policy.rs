//! Reads of L2 after writes of a part of a sector: Khairy et al., Fig. 5.

use std::io::Write;

use super::measure::{Configuration, Launch};
use super::workload::Workload;
use crate::failure::Failure;
use crate::table;

/// The kernel's accesses to C, and what the paper finds on the card.
const STEPS: [(&str, bool, &str); 5] = [
    ("write C[i]", true, "miss"),
    ("write C[i+1]", true, "hit"),
    ("read C[i]", false, "miss"),
    ("read C[i]", false, "hit"),
    ("read C[i+1]", false, "hit"),
];

const POLICIES: [Configuration; 3] = [
    Configuration::plain("titan-v"),
    Configuration { gpu: "titan-v", changes: &["l2.write_allocation=write-validate"] },
    Configuration { gpu: "titan-v", changes: &["l2.write_allocation=fetch-on-write"] },
];

pub(super) fn run(elements: u32, out: &mut dyn Write) -> Result<(), Failure> {
    let policies = POLICIES
        .iter()
        .map(|policy| policy.measure(Workload::WriteAndRead, elements))
        .collect::<Result<Vec<_>, _>>()?;
    writeln!(out, "What the L2 does with each access; sectors fetched from DRAM for it.\n")?;
    let mut rows = Vec::new();
    for (number, (step, is_write, paper)) in STEPS.iter().enumerate() {
        let mut row = [step.to_string(), paper.to_string(), String::new(), String::new(), String::new()];
        for (cell, launches) in row.iter_mut().skip(2).zip(&policies) {
            let launch =
                launches.get(number).ok_or_else(|| Failure::new("a step of the kernel was not timed"))?;
            *cell = outcome(launch, *is_write)?;
        }
        rows.push(row);
    }
    let heading = ["access", "paper", "lazy fetch on read", "write validate", "fetch on write"];
    table::write(out, heading, &rows)?;
    Ok(())
}

fn outcome(launch: &Launch, is_write: bool) -> Result<String, Failure> {
    let hits = launch.count(&[if is_write { "l2.write_hits" } else { "l2.read_hits" }])?;
    // Fetches of the launch less the fetches of its code.
    let fetches = launch.count(&["l2.fetches"])?.saturating_sub(launch.count(&["l2.sectors_instruction"])?);
    Ok(format!("{} ({fetches})", if hits > 0 { "hit" } else { "miss" }))
}
