//! Speed and error of each simplification of the hybrid modes, alone and together: Xu et al., Figs. 4
//! and 5.

use std::io::Write;

use super::geometric_mean;
use super::measure::{Configuration, Launch};
use super::workload::Workload;
use crate::failure::Failure;
use crate::table;

const FRONT_END: &str = "fidelity.front_end=ideal";
const ARITHMETIC: &str = "fidelity.arithmetic=analytical";
const LOAD_STORE: &str = "fidelity.load_store=analytical";
const L1: &str = "fidelity.l1=analytical";
const INTERCONNECT: &str = "fidelity.interconnect=analytical";
const L2: &str = "fidelity.l2=analytical";
const DRAM: &str = "fidelity.dram=analytical";

/// Simplifications with their names; the first is none.
const SIMPLIFICATIONS: [(&str, &[&str]); 8] = [
    ("detailed", &[]),
    ("front end", &[FRONT_END]),
    ("arithmetic", &[ARITHMETIC]),
    ("hybrid-alu: both", &[FRONT_END, ARITHMETIC]),
    ("front end, load/store, L1", &[FRONT_END, LOAD_STORE, L1]),
    ("DRAM", &[DRAM]),
    ("interconnect, L2, DRAM", &[INTERCONNECT, L2, DRAM]),
    ("hybrid-memory: all", &[FRONT_END, ARITHMETIC, LOAD_STORE, L1, INTERCONNECT, L2, DRAM]),
];

pub(super) fn run(elements: u32, out: &mut dyn Write) -> Result<(), Failure> {
    let mut rows = Vec::new();
    let mut detailed = None;
    for (name, changes) in SIMPLIFICATIONS {
        let configuration = Configuration { gpu: "rtx2080ti", changes };
        let mut runs = Vec::new();
        for workload in [Workload::Core, Workload::Memory] {
            runs.push(configuration.clock(workload, elements)?);
        }
        let before = detailed.get_or_insert_with(|| runs.iter().map(summary).collect::<Vec<_>>());
        let (mut errors, mut ratios) = (Vec::new(), Vec::new());
        for (run, (cycles, seconds)) in runs.iter().zip(before.iter()) {
            let of_run = run.0.iter().zip(cycles);
            errors.extend(of_run.map(|(launch, cycles)| launch.cycles as f64 / *cycles as f64 - 1.0));
            ratios.push(seconds / run.1);
        }
        let mean = errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len().max(1) as f64;
        let largest =
            errors.iter().fold(0.0_f64, |most, error| if error.abs() > most.abs() { *error } else { most });
        rows.push([
            name.to_owned(),
            format!("{:.2}", geometric_mean(&ratios)),
            format!("{:.1} %", 100.0 * mean),
            format!("{:+.1} %", 100.0 * largest),
        ]);
    }
    writeln!(
        out,
        "Units simplified on an RTX 2080 Ti. Speed of the whole process over that in detailed mode,"
    )?;
    writeln!(out, "and differences of cycles from detailed mode, kernel by kernel.\n")?;
    table::write(out, ["simplified", "speed x", "mean difference", "largest"], &rows)?;
    writeln!(
        out,
        "\nThe paper, against a card: Accel-Sim 20.2 %, Swift-Sim-Basic 22.6 %, Swift-Sim-Memory 24.3 %;"
    )?;
    writeln!(out, "14.5 and 39.7 times as fast as Accel-Sim on one thread.")?;
    Ok(())
}

/// Cycles of the launches, and the seconds of the run.
fn summary((launches, seconds): &(Vec<Launch>, f64)) -> (Vec<u64>, f64) {
    (launches.iter().map(|launch| launch.cycles).collect(), *seconds)
}
