//! Tests every form of the op table against the oracles. `tests/isa/README.md` describes longer runs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use isa_oracle::case::{Case, Effort};
use isa_oracle::machine::{Engine, Machine, MachineError};
use isa_oracle::oracle::reference::{self, Exact};
use isa_oracle::oracle::{Function, UNJUDGED, reason_for_none};
use isa_oracle::recording::Recording;
use isa_oracle::sweep::{sweep, swept};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use ptx_frontend::isa::{self, OpLine};

/// Number of differences shown per form.
const SHOWN: usize = 5;

/// Step between single-precision operands of the approximate functions.
const SWEEP_STEP: u64 = 40_961;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let effort =
        Effort { rows: number("VOLTSIM_ORACLE_ROWS", 500) as usize, seed: number("VOLTSIM_ORACLE_SEED", 1) };
    eprintln!("{} rows for each variant of a form, seed {}", effort.rows, effort.seed);
    let judged = isa::table().filter(|line| reason_for_none(line).is_none());
    let mut trials: Vec<Trial> = judged
        .map(|line| Trial::test(format!("{}::{}", line.group, line.name), move || check(line, effort)))
        .collect();
    trials.push(Trial::test("forms without an oracle are listed with a reason", reasons));
    for (variant, function, format) in swept() {
        let opcode = variant.opcode();
        trials.push(Trial::test(format!("operands of all sizes: {opcode}"), move || {
            let step = if format.bits() > 16 { SWEEP_STEP } else { 1 };
            let report = sweep(&variant, function, format, step, 1)?;
            match report.first_wrong {
                None => Ok(()),
                Some((operand, result)) => {
                    Err(format!("{} results are wrong, first for {operand:#x}: {result:#x}", report.wrong)
                        .into())
                }
            }
        }));
    }
    let name = "MPFR and the host agree to 50 bits";
    trials.push(Trial::ignorable_test(name, || match reference::mpfr() {
        Ok(_) => host_and_reference().map(|()| Completion::Completed),
        Err(reason) => Ok(Completion::ignored_with(format!("Debian package libmpfr6 is missing: {reason}"))),
    }));
    trials.push(Trial::test("recordings round-trip", round_trip));
    for path in recordings() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        trials.push(Trial::test(format!("recorded: {name}"), move || recorded(&path)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Checks that the host's and the reference's values agree up to rounding, because sweeps use the host's.
fn host_and_reference() -> Result<(), Failed> {
    use Function::{Cos, Ex2, Lg2, Rcp, Rsqrt, Sin, Sqrt, Tanh};
    for function in [Rcp, Sqrt, Rsqrt, Sin, Cos, Lg2, Ex2, Tanh] {
        for bits in (0..=u32::MAX).step_by(SWEEP_STEP as usize) {
            let operand = f64::from(f32::from_bits(bits));
            let (host, exact) = (Exact::by_host(function, operand), Exact::of(function, operand));
            let limit = exact.value.abs() * (-50f64).exp2();
            if exact.value.is_finite() && exact.distance(host.value) > limit {
                return Err(format!("{function:?} of {operand:e}: {host:?} and {exact:?}").into());
            }
        }
    }
    Ok(())
}

/// Returns the files of `tests/isa/recorded`.
fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../isa/recorded");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "zst"));
    paths.sort();
    paths
}

/// Checks that each form is judged or listed, and that listed forms exist and cannot be judged.
fn reasons() -> Result<(), Failed> {
    let known = |group: &str, mnemonic: &str| {
        isa::table().any(|line| line.group == group && line.parsed().mnemonic == mnemonic)
    };
    let listed = UNJUDGED.iter().flat_map(|(group, names, _)| names.iter().map(move |name| (*group, *name)));
    let gone: Vec<_> = listed.filter(|(group, name)| !known(group, name)).collect();
    if gone.is_empty() { Ok(()) } else { Err(format!("the op table has no {gone:?}").into()) }
}

/// Checks all variants of a form.
fn check(line: &'static OpLine, effort: Effort) -> Result<(), Failed> {
    let cases = Case::all(line, effort)?;
    let mut engine = Engine::new()?;
    let mut wrong = Vec::new();
    for case in &cases {
        match engine.run(case.job()) {
            Ok(results) => wrong.extend(case.first_wrong(&results)),
            Err(error @ MachineError::Refused(_)) => wrong.push(format!("{}: {error}", case.variant.text())),
            Err(error) => return Err(format!("{}: {error}", case.variant.text()).into()),
        }
    }
    shown(&wrong, &format!("of {} variants are wrong", cases.len()))
}

/// Compares the engine with the results of a real GPU.
fn recorded(path: &Path) -> Result<(), Failed> {
    let recording = Recording::read(path)?;
    let different = recording.differences(&mut Engine::new()?)?;
    shown(&different, &format!("of {} variants are not as recorded", recording.answers.len()))
}

fn shown(wrong: &[String], what: &str) -> Result<(), Failed> {
    if wrong.is_empty() {
        return Ok(());
    }
    let first: Vec<&str> = wrong.iter().take(SHOWN).map(String::as_str).collect();
    Err(format!("{} {what}:\n{}", wrong.len(), first.join("\n")).into())
}

/// Checks that a recording round-trips through a file.
fn round_trip() -> Result<(), Failed> {
    let effort = Effort { rows: 4, seed: 1 };
    let names = ("Some card".to_owned(), "13.0".to_owned());
    let (recording, refused) = Recording::make(Engine::new, 1, names, effort)?;
    shown(&refused, "are refused")?;
    let folder = tempfile::tempdir()?;
    let mut read = Recording::read(&recording.write(folder.path())?)?;
    if read != recording {
        return Err("the recording changed between writing and reading".into());
    }
    shown(&read.differences(&mut Engine::new()?)?, "differ from themselves")?;
    let word = read.answers.first_mut().and_then(|answer| answer.results.first_mut());
    *word.ok_or("nothing was recorded")? ^= 1;
    match read.differences(&mut Engine::new()?)?.len() {
        1 => Ok(()),
        count => Err(format!("one changed bit makes {count} differences").into()),
    }
}
