//! `cargo xtask bench peers DIR`: runs GPGPU-Sim on the timed programs and Accel-Sim on their
//! traces, alternating with Voltsim in the same configuration.
//!
//! GPGPU-Sim times PTX instructions, Accel-Sim and Voltsim machine instructions. So the table
//! compares seconds per kernel and lists instructions per second with their kind. The peers'
//! seconds are processor time of the simulating thread. Voltsim's are wall-clock time, which is no
//! less, so load on the machine lowers the ratio.

use super::{KernelSummary, Statistics, Summary, read};
use crate::error::{Error, Result};
use crate::toolchain::Toolchain;
use crate::workspace::Workspace;
use crate::{debian, files, process, programs};
use installation::Installation;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use voltsim_tests::catalogue::{self, Mode};

mod clock;
mod installation;
mod output;

/// Programs, with sizes that take GPGPU-Sim a minute or two.
const PROGRAMS: [(&str, &str); 4] =
    [("matrix_multiply", "128"), ("saxpy", "262144"), ("bfs", "16384"), ("heat", "150")];

/// Runs of Voltsim before and after each peer's run; the shortest counts.
const RUNS: usize = 3;

/// Results.
#[derive(Serialize)]
pub(super) struct Report {
    rows: Vec<Row>,
    refused: Vec<Refused>,
}

/// A kernel, or all launches of a program's trace, on a peer and on Voltsim.
#[derive(Serialize)]
struct Row {
    program: &'static str,
    size: &'static str,
    /// Mangled name; `None` for all launches of a trace.
    kernel: Option<String>,
    launches: usize,
    peer: &'static str,
    theirs: Figures,
    voltsim: Figures,
    /// PTX warp instructions that Voltsim executes; its model times machine instructions.
    ptx_warp_instructions: Option<u64>,
    /// The peer's seconds over Voltsim's.
    times: f64,
}

/// Results of a simulator.
#[derive(Serialize, Clone, Copy)]
struct Figures {
    cycles: u64,
    warp_instructions: u64,
    seconds: f64,
}

/// A program that a simulator could not run.
#[derive(Serialize)]
struct Refused {
    program: &'static str,
    peer: &'static str,
    reason: String,
}

impl Figures {
    /// The shorter of two runs; the other figures are equal.
    fn shorter(self, other: Option<&Figures>) -> Figures {
        let seconds = other.map_or(self.seconds, |other| other.seconds.min(self.seconds));
        Figures { seconds, ..self }
    }
}

/// Builds the programs, runs everything in turn and prints a table, with the Voltsim at `command`.
pub(super) fn run(workspace: &Workspace, command: PathBuf, folder: &Path) -> Result<Report> {
    let work = workspace.target.join("peers");
    let toolchain = Toolchain::set_up(workspace)?;
    let [ptxas, ..] = &toolchain.assemblers;
    let installation = Installation::find(folder, ptxas, command.clone(), &work)?;
    if !debian::is_present("clang-16") {
        return Err(Error::Peer {
            folder: "/usr/bin".into(),
            what: "clang++-16, which compiles the programs",
        });
    }
    let mut chosen = catalogue::programs(&workspace.root)?;
    chosen.retain(|program| PROGRAMS.iter().any(|(name, _)| program.name == *name));
    chosen.iter_mut().for_each(|program| program.modes = vec![Mode::Clang11]);
    let programs = work.join("programs");
    programs::compile(workspace, chosen, &programs)?;
    let gpu = work.join("titan-v-of-gpgpu-sim.toml");
    let mut import = Command::new(&command);
    let text = process::quiet(import.args(["config", "import"]).arg(&installation.options))?;
    fs::write(&gpu, text).map_err(Error::file(&gpu))?;
    let peers = Peers { voltsim: command, installation, programs, work, gpu };
    let mut report = Report { rows: Vec::new(), refused: Vec::new() };
    println!(
        "{:<31} {:<10} {:>8} {:>10} {:>10} {:>9} {:>10} {:>7}",
        "kernel", "simulator", "launches", "cycles", "warp inst", "seconds", "k inst/s", "times"
    );
    for (program, size) in PROGRAMS {
        report.take(program, "GPGPU-Sim", peers.on_gpgpu_sim(program, size));
        if peers.installation.has_accel_sim() {
            report.take(program, "Accel-Sim", peers.on_accel_sim(program, size).map(|row| vec![row]));
        }
    }
    Ok(report)
}

impl Report {
    fn take(&mut self, program: &'static str, peer: &'static str, rows: Result<Vec<Row>>) {
        match rows {
            Ok(rows) => {
                rows.iter().for_each(Row::print);
                self.rows.extend(rows);
            }
            Err(error) => {
                println!("{program}: not on {peer}: {error}");
                self.refused.push(Refused { program, peer, reason: error.to_string() });
            }
        }
    }
}

impl Row {
    fn print(&self) {
        let subject = match &self.kernel {
            Some(kernel) => format!("{} {}", plain(kernel), self.size),
            None => format!("{} {}, its trace", self.program, self.size),
        };
        let line = |subject: &str, simulator, figures: &Figures, last: &str| {
            let Figures { cycles, warp_instructions, seconds } = *figures;
            let rate = warp_instructions as f64 / seconds / 1e3;
            let launches = self.launches;
            println!(
                "{subject:<31} {simulator:<10} {launches:>8} {cycles:>10} {warp_instructions:>10} {seconds:>9.3} {rate:>10.1} \
                 {last:>7}"
            );
        };
        line(&subject, self.peer, &self.theirs, "");
        line("", "Voltsim", &self.voltsim, &format!("{:.0}", self.times));
        if let Some(count) = self.ptx_warp_instructions {
            let rate = count as f64 / self.voltsim.seconds / 1e3;
            println!("{:<31} {:<10} {:>19} {count:>10} {:>9} {rate:>10.1}", "", "", "of PTX", "");
        }
    }
}

/// Plain name of a function mangled without a namespace (`_Z5saxpyifPKfPf`).
fn plain(mangled: &str) -> &str {
    let Some(rest) = mangled.strip_prefix("_Z") else { return mangled };
    let name = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let length = rest[..rest.len() - name.len()].parse().ok();
    length.and_then(|length| name.get(..length)).unwrap_or(mangled)
}

struct Peers {
    /// The `voltsim` command.
    voltsim: PathBuf,
    installation: Installation,
    /// Folder of the compiled programs.
    programs: PathBuf,
    /// Folder for output.
    work: PathBuf,
    /// GPGPU-Sim's configuration as a GPU file.
    gpu: PathBuf,
}

/// Figures by kernel.
type Kernels = BTreeMap<String, Figures>;

impl Peers {
    fn program(&self, name: &str) -> PathBuf {
        self.programs.join(Mode::Clang11.name()).join(name)
    }

    /// A row per kernel of the program.
    fn on_gpgpu_sim(&self, name: &'static str, size: &'static str) -> Result<Vec<Row>> {
        let program = self.program(name);
        let mut ours = Kernels::new();
        let run = |ours: &mut Kernels| -> Result<()> {
            for _ in 0..RUNS {
                keep_shorter(ours, self.timed(&program, size)?);
            }
            Ok(())
        };
        run(&mut ours)?;
        let ended = self.installation.gpgpu_sim(&program, size, &self.folder("gpgpu-sim", name))?;
        run(&mut ours)?;
        let ptx = self.executed(&program, size)?;
        let row = |(kernel, theirs): (String, Figures)| {
            let silent =
                || Error::Silent { program: program.clone(), what: "a kernel that the peer has run" };
            let voltsim = *ours.get(&kernel).ok_or_else(silent)?;
            Ok(Row {
                program: name,
                size,
                launches: ended.iter().filter(|launch| launch.kernel == kernel).count(),
                peer: "GPGPU-Sim",
                theirs,
                voltsim,
                ptx_warp_instructions: ptx.get(&kernel).copied(),
                times: theirs.seconds / voltsim.seconds,
                kernel: Some(kernel),
            })
        };
        summed(&ended).into_iter().map(row).collect()
    }

    /// A row for the program's trace; Voltsim's seconds are those of the whole process.
    fn on_accel_sim(&self, name: &'static str, size: &'static str) -> Result<Row> {
        let folder = self.folder("accel-sim", name);
        files::remove_folder(&folder)?;
        let traces = folder.join("traces");
        let mut record = Command::new(&self.voltsim);
        record.args(["record", "--format", "accelsim", "-o"]).arg(&traces).arg("--");
        process::quiet(record.arg(self.program(name)).arg(size))?;
        let (mut voltsim, launches) = self.trace_timed(&traces, &folder)?;
        let run = |shortest: &mut Figures, runs| -> Result<()> {
            for _ in 0..runs {
                *shortest = self.trace_timed(&traces, &folder)?.0.shorter(Some(shortest));
            }
            Ok(())
        };
        run(&mut voltsim, RUNS - 1)?;
        let ended = self.installation.accel_sim(&traces, launches, &folder)?;
        run(&mut voltsim, RUNS)?;
        let theirs = Figures {
            cycles: ended.iter().map(|launch| launch.cycles).sum(),
            warp_instructions: ended.iter().map(|launch| launch.warp_instructions).sum(),
            seconds: ended.iter().map(|launch| launch.seconds).sum(),
        };
        Ok(Row {
            program: name,
            size,
            kernel: None,
            launches,
            peer: "Accel-Sim",
            theirs,
            voltsim,
            ptx_warp_instructions: None,
            times: theirs.seconds / voltsim.seconds,
        })
    }

    fn folder(&self, peer: &str, program: &str) -> PathBuf {
        self.work.join(peer).join(program)
    }

    /// Figures of Voltsim's model for each kernel, on one thread.
    fn timed(&self, program: &Path, size: &str) -> Result<Kernels> {
        let statistics = self.work.join("statistics.json");
        let mut options =
            vec!["--mode".as_ref(), "detailed".as_ref(), "--gpu".as_ref(), self.gpu.as_os_str()];
        options.extend(["--statistics".as_ref(), statistics.as_os_str()]);
        let kernels = self.summary(&options, program, size)?;
        let Statistics { launches, .. } = read(&statistics)?;
        let figures = |kernel: KernelSummary| {
            let own = launches.iter().filter(|launch| launch.kernel == kernel.name);
            let cycles = own.map(|launch| launch.simulated_cycles).sum();
            let key = kernel.mangled().to_owned();
            let KernelSummary { warp_instructions, seconds, .. } = kernel;
            (key, Figures { cycles, warp_instructions, seconds })
        };
        Ok(kernels.into_iter().map(figures).collect())
    }

    /// PTX warp instructions of each kernel.
    fn executed(&self, program: &Path, size: &str) -> Result<BTreeMap<String, u64>> {
        let kernels = self.summary(&[], program, size)?;
        Ok(kernels
            .into_iter()
            .map(|kernel| (kernel.mangled().to_owned(), kernel.warp_instructions))
            .collect())
    }

    /// Runs the program on one thread.
    fn summary(
        &self,
        options: &[&std::ffi::OsStr],
        program: &Path,
        size: &str,
    ) -> Result<Vec<KernelSummary>> {
        let summary = self.work.join("summary.json");
        let mut command = Command::new(&self.voltsim);
        command.args(["run", "--threads", "1", "--summary"]).arg(&summary).args(options);
        process::quiet(command.arg("--").arg(program).arg(size))?;
        read::<Summary>(&summary).map(|summary| summary.kernels)
    }

    /// Figures of Voltsim's model for a trace's launches, on one thread, and the number of
    /// launches.
    fn trace_timed(&self, traces: &Path, folder: &Path) -> Result<(Figures, usize)> {
        let statistics = folder.join("statistics.json");
        let mut command = Command::new(&self.voltsim);
        command.args(["time", "--threads", "1", "--gpu"]).arg(&self.gpu);
        let start = Instant::now();
        process::quiet(command.arg("--statistics").arg(&statistics).arg(traces))?;
        let seconds = start.elapsed().as_secs_f64();
        let Statistics { launches, total } = read(&statistics)?;
        let cycles = launches.iter().map(|launch| launch.simulated_cycles).sum();
        let warp_instructions = total.counters.warp_instructions;
        Ok((Figures { cycles, warp_instructions, seconds }, launches.len()))
    }
}

/// Totals by kernel.
fn summed(launches: &[output::Launch]) -> Kernels {
    let mut kernels = Kernels::new();
    for output::Launch { kernel, cycles, warp_instructions, seconds } in launches {
        let nothing = Figures { cycles: 0, warp_instructions: 0, seconds: 0.0 };
        let sum = kernels.entry(kernel.clone()).or_insert(nothing);
        sum.cycles += cycles;
        sum.warp_instructions += warp_instructions;
        sum.seconds += seconds;
    }
    kernels
}

/// Merges another run, keeping the shorter times.
fn keep_shorter(kernels: &mut Kernels, run: Kernels) {
    for (kernel, figures) in run {
        let figures = figures.shorter(kernels.get(&kernel));
        kernels.insert(kernel, figures);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_yield_plain_names() {
        assert_eq!(plain("_Z5saxpyifPKfPf"), "saxpy");
        for other in ["saxpy", "_ZN1a1bEv", "_Z", "_Z99short"] {
            assert_eq!(plain(other), other);
        }
    }

    #[test]
    fn launches_of_a_kernel_add_up() {
        let launch = |kernel: &str, cycles| output::Launch {
            kernel: kernel.to_owned(),
            cycles,
            warp_instructions: 2 * cycles,
            seconds: cycles as f64,
        };
        let sums = summed(&[launch("a", 1), launch("b", 10), launch("a", 4)]);
        let of = |kernel: &str| (sums[kernel].cycles, sums[kernel].warp_instructions, sums[kernel].seconds);
        assert_eq!((of("a"), of("b")), ((5, 10, 5.0), (10, 20, 10.0)));
    }
}
