//! Speed of the cache model: live, from a recording, and as a sweep of 64 configurations.

use crate::error::Result;
use crate::{files, process};
use serde::Deserialize;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Group of the rows.
pub(super) const GROUP: &str = "cache-model";

/// Programs of the rows, with their sizes.
pub(super) const PROGRAMS: [(&str, &str); 2] = [("saxpy", "16777216"), ("matrix_multiply", "512")];

/// 64 configurations in four orders.
const SWEEP: &str = "l1.size=16..128KiB, l1.sets=1..8, l1.misses=32..256";

/// Runs per measurement; the shortest counts.
const RUNS: usize = 3;

#[derive(Deserialize)]
struct Report {
    totals: Vec<Total>,
}

#[derive(Deserialize)]
struct Total {
    counts: Counts,
}

#[derive(Deserialize)]
struct Counts {
    accesses: u64,
}

/// Prints the sector requests per second and core of a program in each mode.
pub(super) fn print(command: &Path, program: &Path, size: &str, folder: &Path) -> Result<()> {
    files::remove_folder(folder)?;
    std::fs::create_dir_all(folder).map_err(crate::error::Error::file(folder))?;
    let (recording, report) = (folder.join("accesses"), folder.join("report.json"));
    let run = |options: &[&Path]| {
        let mut model = Command::new(command);
        model.args(["cache-model", "--gpu", "v100", "--threads", "1", "-o"]).arg(&report).args(options);
        process::quiet(&mut model)
    };
    let shortest = |options: &[&Path]| -> Result<f64> {
        let mut seconds = f64::INFINITY;
        for _ in 0..RUNS {
            let start = Instant::now();
            run(options)?;
            seconds = seconds.min(start.elapsed().as_secs_f64());
        }
        Ok(seconds)
    };
    let path = |text: &'static str| Path::new(text);
    let size = Path::new(size);
    run(&[path("--record"), &recording, path("--"), program, size])?;
    let sectors = super::read::<Report>(&report)?.totals.first().map_or(0, |total| total.counts.accesses);
    let live = shortest(&[path("--"), program, size])?;
    let recorded = shortest(&[&recording])?;
    let sweep = shortest(&[path("--sweep"), path(SWEEP), &recording])?;
    let rate = |seconds: f64| sectors as f64 / seconds / 1e6;
    println!(
        "{GROUP}/{}: {sectors} load sectors; live {:.1} M/s, recorded {:.1} M/s, 64 configurations {:.1} times one",
        program.file_name().unwrap_or_default().to_string_lossy(),
        rate(live),
        rate(recorded),
        sweep / recorded
    );
    Ok(())
}
