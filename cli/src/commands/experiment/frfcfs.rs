//! FR-FCFS against FCFS: Khairy et al., Fig. 13.

use std::io::Write;

use super::geometric_mean;
use super::measure::Configuration;
use super::workload::Workload;
use crate::failure::Failure;
use crate::table;

const FCFS: &[&str] = &["dram.scheduler=fcfs"];

pub(super) fn run(elements: u32, out: &mut dyn Write) -> Result<(), Failure> {
    let mut kernels = Vec::new();
    let mut gains = Vec::new();
    for gpu in ["titan-v-old", "titan-v"] {
        let out_of_order = Configuration::plain(gpu).measure(Workload::Memory, elements)?;
        let in_order = Configuration { gpu, changes: FCFS }.measure(Workload::Memory, elements)?;
        let pairs = out_of_order.iter().zip(&in_order);
        gains.push(pairs.map(|(new, old)| old.cycles as f64 / new.cycles as f64).collect::<Vec<_>>());
        kernels = out_of_order;
    }
    writeln!(out, "Speed with FR-FCFS over speed with FCFS.\n")?;
    let mut rows: Vec<[String; 3]> = Vec::new();
    for (number, launch) in kernels.iter().enumerate() {
        let [old, new] = [0, 1].map(|model: usize| gains[model].get(number).copied().unwrap_or(f64::NAN));
        rows.push([launch.kernel.clone(), format!("{old:.2}"), format!("{new:.2}")]);
    }
    let [old, new] = [0, 1].map(|model: usize| geometric_mean(&gains[model]));
    rows.push(["mean".to_owned(), format!("{old:.2}"), format!("{new:.2}")]);
    rows.push(["paper's mean, of other kernels".to_owned(), "1.20".to_owned(), "2.0".to_owned()]);
    table::write(out, ["kernel", "old model", "new model"], &rows)?;
    Ok(())
}
