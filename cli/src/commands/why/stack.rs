//! The stack of worths, as a table and as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};
use warp_stream::kernel_name::signature;

use crate::table;

/// Gain in per cent from which a what-if proves its advice.
const PROVEN: f64 = 5.0;
/// Length of the longest bar in characters.
const BAR: f64 = 24.0;

/// Worths of the what-ifs of a launch.
pub(super) struct Stack {
    pub(super) launch: u64,
    /// Mangled name of the kernel.
    pub(super) kernel: String,
    pub(super) gpu: String,
    pub(super) mode: &'static str,
    /// Core cycles without a change.
    pub(super) cycles: u64,
    /// The most valuable first.
    pub(super) worths: Vec<Worth>,
}

/// A what-if with its cycles.
pub(super) struct Worth {
    pub(super) name: &'static str,
    /// Changes of the GPU.
    pub(super) changes: Vec<String>,
    pub(super) cycles: u64,
    /// Core cycles of the run that the what-if is compared with.
    pub(super) against: u64,
    pub(super) advice: &'static str,
}

impl Worth {
    /// Core cycles that the change saves; negative if the launch is slower.
    fn saved(&self) -> i64 {
        self.against as i64 - self.cycles as i64
    }

    /// Saved part in per cent.
    pub(super) fn share(&self) -> f64 {
        100.0 * self.saved() as f64 / (self.against.max(1)) as f64
    }
}

impl Stack {
    pub(super) fn json(&self) -> Value {
        let Stack { launch, kernel, gpu, mode, cycles, worths } = self;
        let what_ifs = worths.iter().map(|worth| {
            json!({
                "name": worth.name,
                "changes": worth.changes,
                "cycles": worth.cycles,
                "against": worth.against,
                "worth": worth.saved(),
                "percent": worth.share(),
                "advice": (worth.share() >= PROVEN).then_some(worth.advice),
            })
        });
        json!({
            "launch": launch,
            "kernel": signature(kernel),
            "gpu": gpu,
            "mode": mode,
            "cycles": cycles,
            "what_ifs": what_ifs.collect::<Vec<_>>(),
        })
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Stack { launch, kernel, gpu, mode, cycles, worths } = self;
        writeln!(out, "launch {launch}, {}: {cycles} cycles on {gpu}, mode {mode}\n", signature(kernel))?;
        let rows: Vec<[String; 6]> = worths.iter().map(|worth| self.row(worth)).collect();
        table::write(out, ["one thing ideal", "cycles", "instead of", "worth", "%", ""], &rows)?;
        writeln!(out, "\nThe worths of two things do not add up.")?;
        if worths.iter().any(|worth| worth.against != *cycles) {
            writeln!(
                out,
                "An L2 or a crossbar without limits is compared with queues in place of the memory side."
            )?;
        }
        let mut proven = worths.iter().filter(|worth| worth.share() >= PROVEN).peekable();
        if proven.peek().is_none() {
            return writeln!(out, "No single change is worth {PROVEN} %.");
        }
        writeln!(out, "\nChanges worth {PROVEN} % or more:")?;
        proven.try_for_each(|worth| {
            writeln!(out, "- {} saves up to {:.1} %: {}.", worth.name, worth.share(), worth.advice)
        })
    }

    fn row(&self, worth: &Worth) -> [String; 6] {
        let share = worth.share();
        let bar = "#".repeat((share.clamp(0.0, 100.0) / 100.0 * BAR).round() as usize);
        [
            worth.name.to_owned(),
            worth.cycles.to_string(),
            worth.against.to_string(),
            worth.saved().to_string(),
            format!("{share:.1}"),
            bar,
        ]
    }
}
