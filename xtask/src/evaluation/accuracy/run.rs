//! Compiles configurations and times their second launch.

use super::measurements::{Card, Row};
use super::set::Set;
use super::store::{Outcome, Store};
use crate::error::{Error, Result};
use crate::process;
use crate::workspace::Workspace;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Programs that compile and launch a configuration.
const COMPILE: &str = include_str!("compile.c");
const LAUNCH: &str = include_str!("launch.c");

/// Options of a run: the first launch warms functionally, the second one is timed until it is steady.
const OPTIONS: [&str; 7] =
    ["--mode", "detailed", "--only", "launch=2", "--warm-up", "launches=1", "--until-stable"];

/// How often a running row is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// The tools and folders of a comparison.
pub(super) struct Runner<'a> {
    card: &'a Card,
    set: &'a Set,
    /// Library of NVRTC.
    nvrtc: PathBuf,
    /// Folder with the tools and the rows' files.
    folder: PathBuf,
    voltsim: PathBuf,
    /// Digest of the command and the library.
    build: String,
    store: Store,
    /// Longest time of a row.
    limit: Duration,
}

/// A row with its result, or the reason why it has none.
pub(super) struct Timed {
    pub(super) row: Row,
    pub(super) outcome: std::result::Result<Outcome, String>,
}

impl<'a> Runner<'a> {
    /// Prepares the tools.
    pub(super) fn new(
        workspace: &Workspace,
        (card, set): (&'a Card, &'a Set),
        nvrtc: PathBuf,
        limit: Duration,
    ) -> Result<Self> {
        let folder = workspace.target.join("accuracy");
        let store = Store::open(folder.join("results"))?;
        let voltsim = workspace.command();
        let release = workspace.target.join("release");
        let library = library_folder::prepare(&release, &workspace.root)?;
        let core = release.join("libvoltsim_core.so");
        let bytes = |file: &Path| fs::read(file).map_err(Error::file(file));
        let build = Store::key(&[&bytes(&voltsim)?, &bytes(&core)?]);
        let compile = |name: &str, source: &str, link: &[&str]| {
            let file = folder.join(name).with_added_extension("c");
            fs::write(&file, source).map_err(Error::file(&file))?;
            let mut gcc = Command::new("gcc");
            gcc.args(["-O1", "-o"]).arg(folder.join(name)).arg(&file).args(link);
            process::quiet(&mut gcc)
        };
        let driver = library.join("libcuda.so.1");
        compile("compile", COMPILE, &["-ldl"])?;
        compile("launch", LAUNCH, &[&driver.to_string_lossy()])?;
        Ok(Self { card, set, nvrtc, folder, voltsim, build, store, limit })
    }

    /// Times rows with some processes at a time, in the order of the rows. A row that fails has a reason.
    pub(super) fn all(&self, rows: Vec<Row>, processes: usize) -> Vec<Timed> {
        let count = rows.len();
        let left = Mutex::new(rows.into_iter().enumerate());
        let done = Mutex::new(Vec::new());
        let work = |process: usize| loop {
            let next = lock(&left).next();
            let Some((number, row)) = next else { break };
            let outcome = self.one(&row, process).map_err(|error| first_line(&error.to_string()));
            let said = outcome.as_ref().map_or_else(Clone::clone, |outcome| {
                format!("{:.1} us, card {:.1} us", outcome.microseconds, row.microseconds)
            });
            println!("{} of {count}: {}: {said}", number + 1, row.name());
            lock(&done).push((number, Timed { row, outcome }));
        };
        thread::scope(|scope| {
            for process in 0..processes.max(1) {
                scope.spawn(move || work(process));
            }
        });
        let mut done = std::mem::take(&mut *lock(&done));
        done.sort_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, timed)| timed).collect()
    }

    /// Result of a row, kept or computed.
    fn one(&self, row: &Row, process: usize) -> Result<Outcome> {
        let own = self.folder.join(format!("process-{process}"));
        fs::create_dir_all(&own).map_err(Error::file(&own))?;
        let ptx = own.join("kernel.ptx");
        self.compile(row, &own, &ptx)?;
        let words = self.words(row, &ptx)?;
        let text = fs::read(&ptx).map_err(Error::file(&ptx))?;
        // The path of the PTX differs between processes.
        let options = [&OPTIONS[..], &[self.card.gpu]].concat().join(" ");
        let key =
            Store::key(&[&text, words[1..].join(" ").as_bytes(), options.as_bytes(), self.build.as_bytes()]);
        if let Some(kept) = self.store.get(&key) {
            return Ok(kept);
        }
        let outcome = self.time(&words, &own)?;
        self.store.put(&key, &outcome)?;
        Ok(outcome)
    }

    fn compile(&self, row: &Row, own: &Path, ptx: &Path) -> Result<()> {
        let source = own.join("kernel.cu");
        fs::write(&source, self.set.source()?).map_err(Error::file(&source))?;
        let mut compile = Command::new(self.folder.join("compile"));
        compile.args([&self.nvrtc, &source]).arg(ptx);
        compile.arg(format!("--gpu-architecture={}", self.card.architecture));
        compile.args(["-std=c++14", "-default-device"]).args(&self.set.options);
        compile.args(row.parameters.iter().map(|(name, value)| format!("-D{name}={value}")));
        process::quiet(&mut compile).map(|_| ())
    }

    /// Arguments of `launch`.
    fn words(&self, row: &Row, ptx: &Path) -> Result<Vec<String>> {
        let sizes = self.set.sizes(row)?.map(|size| size.to_string());
        let start = [ptx.to_string_lossy().into_owned(), self.set.kernel.clone()];
        let no_dynamic_shared = "0".to_owned();
        let launch = start.into_iter().chain(sizes).chain([no_dynamic_shared]);
        Ok(launch.chain(self.set.arguments.iter().cloned()).collect())
    }

    fn time(&self, words: &[String], own: &Path) -> Result<Outcome> {
        let (statistics, log) = (own.join("statistics.json"), own.join("log"));
        let messages = File::create(&log).map_err(Error::file(&log))?;
        let mut command = Command::new(&self.voltsim);
        command.args(["run", "--gpu", self.card.gpu, "--threads", "1"]).args(OPTIONS);
        command.arg("--statistics").arg(&statistics).arg("--").arg(self.folder.join("launch")).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(messages);
        let failed = |why: String| {
            let said = fs::read_to_string(&log).unwrap_or_default();
            let last = said.lines().last().unwrap_or_default();
            Error::Row { why, last: last.to_owned() }
        };
        let start = Instant::now();
        let mut child = command.spawn().map_err(Error::file(&self.voltsim))?;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(Error::file(&self.voltsim))? {
                break status;
            }
            if start.elapsed() > self.limit {
                end(&mut child);
                return Err(failed(format!("no result within {} s", self.limit.as_secs())));
            }
            thread::sleep(LOOK);
        };
        if !status.success() {
            return Err(failed(status.to_string()));
        }
        let text = fs::read_to_string(&statistics).map_err(Error::file(&statistics))?;
        outcome(&text).ok_or_else(|| failed("the statistics have no timed launch".to_owned()))
    }
}

/// Ends a run by SIGTERM, which the command passes on to the program.
fn end(child: &mut Child) {
    if let Some(id) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // The process may have ended by itself meanwhile.
        let _ = kill_process(id, Signal::TERM);
    }
    let _ = child.wait();
}

/// Result of the only launch of a run's statistics.
fn outcome(statistics: &str) -> Option<Outcome> {
    let statistics: Value = serde_json::from_str(statistics).ok()?;
    let launch = statistics.get("launches")?.as_array()?.first()?;
    let number = |value: Option<&Value>| value?.as_u64();
    let cycles = number(launch.get("cycles"))?;
    let nanoseconds = number(launch.get("counters")?.get("gpu.nanoseconds"))?;
    let occupancy = launch.get("occupancy")?;
    Some(Outcome {
        microseconds: nanoseconds as f64 / 1e3,
        registers: number(launch.get("registers"))?,
        source: launch.get("registers.source")?.as_str()?.to_owned(),
        ctas: number(occupancy.get("ctas_per_sm"))?,
        limit: occupancy.get("limit")?.as_str()?.to_owned(),
        extrapolated: launch.get("extrapolated")?.as_bool()?,
        unsure: number(launch.get("unsure_cycles"))? as f64 / cycles.max(1) as f64,
    })
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const STATISTICS: &str = r#"{"launches": [{"cycles": 1000, "registers": 32,
        "registers.source": "lowering", "extrapolated": true, "unsure_cycles": 5,
        "occupancy": {"ctas_per_sm": 16, "limit": "warps"}, "counters": {"gpu.nanoseconds": 2500}}]}"#;

    #[test]
    fn outcome_is_read_from_statistics() {
        let of = outcome(STATISTICS).unwrap();
        assert_eq!((of.microseconds, of.unsure, of.ctas), (2.5, 0.005, 16));
        assert_eq!((of.registers, of.source.as_str()), (32, "lowering"));
    }

    /// Compiler that adds its options to the source.
    const COMPILER: &str =
        "#!/bin/sh\nshift\ncp \"$1\" \"$2\"\nout=\"$2\"\nshift 2\necho \"// $*\" >> \"$out\"\n";

    /// Command that fails for tile 9, takes long for tile 8, and writes statistics for the others.
    fn command() -> String {
        format!(
            "#!/bin/sh\nwhile [ \"$1\" != --statistics ]; do shift; done\n\
             grep -q -- -Dtile=9 \"$5\" && echo 'no memory' >&2 && exit 3\n\
             grep -q -- -Dtile=8 \"$5\" && exec sleep 9\n\
             cat > \"$2\" <<'END'\n{STATISTICS}\nEND\n"
        )
    }

    fn script(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn row(tile: u64) -> Row {
        Row { parameters: vec![("tile".to_owned(), tile)], microseconds: 2.0 }
    }

    #[test]
    fn rows_are_kept_and_failed_rows_are_named() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().to_owned();
        let description = "source = 'k.cu'\nkernel = 'k'\nproblem = [64]\ngrid = [['tile']]\n\
                           block = ['tile']\narguments = []\n";
        fs::write(folder.join("set.toml"), description).unwrap();
        fs::write(folder.join("k.cu"), "void k();\n").unwrap();
        script(&folder.join("compile"), COMPILER);
        script(&folder.join("voltsim"), &command());
        let set = Set::read(&folder).unwrap();
        let runner = Runner {
            card: &super::super::measurements::CARDS[0],
            set: &set,
            nvrtc: "libnvrtc".into(),
            voltsim: folder.join("voltsim"),
            build: "build".to_owned(),
            store: Store::open(folder.join("results")).unwrap(),
            limit: Duration::from_secs(2),
            folder,
        };
        let timed = runner.all([1, 9, 8, 2].map(row).to_vec(), 2);
        let names: Vec<String> = timed.iter().map(|timed| timed.row.name()).collect();
        assert_eq!(names, ["1", "9", "8", "2"]);
        assert_eq!(timed[0].outcome.as_ref().unwrap().microseconds, 2.5);
        assert!(timed[1].outcome.as_ref().unwrap_err().contains("no memory"), "{:?}", timed[1].outcome);
        assert!(timed[2].outcome.as_ref().unwrap_err().contains("within 2 s"), "{:?}", timed[2].outcome);
        // Kept results need no run.
        script(&runner.voltsim, "#!/bin/sh\nexit 4\n");
        let again = runner.all([2, 1, 3].map(row).to_vec(), 1);
        assert_eq!(again[1].outcome, timed[0].outcome);
        assert!(again[0].outcome.is_ok() && again[2].outcome.is_err());
    }

    #[test]
    fn run_without_a_timed_launch_has_no_outcome() {
        assert_eq!(outcome(r#"{"launches": []}"#), None);
        assert_eq!(outcome(&STATISTICS.replace("cycles", "other")), None);
    }
}
