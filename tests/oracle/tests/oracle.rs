//! Every form of the op table against the oracles. `tests/isa/README.md` says how to run more rows or other ones.

use std::process::ExitCode;

use isa_oracle::kernel::{text, widths};
use isa_oracle::machine::{Engine, Job, Machine, MachineError};
use isa_oracle::operands::rows;
use isa_oracle::oracle::{UNJUDGED, Unjudged, answers, judge, reason_for_none};
use isa_oracle::random::Random;
use isa_oracle::sweep::{sweep, swept};
use isa_oracle::variant::Variant;
use libtest_mimic::{Arguments, Failed, Trial};
use ptx_frontend::isa::{self, OpLine};

/// Differences shown of a form.
const SHOWN: usize = 5;

/// Of the singles every so-many-th is an operand of the approximate functions.
const SWEEP_STEP: u64 = 40_961;

/// How much is tried.
#[derive(Debug, Clone, Copy)]
struct Effort {
    rows: usize,
    seed: u64,
}

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
    trials.push(Trial::test("every form without an oracle is listed with its reason", reasons));
    for (variant, function, format) in swept() {
        let opcode = variant.opcode();
        trials.push(Trial::test(format!("operands of all sizes: {opcode}"), move || {
            let step = if format.bits() > 16 { SWEEP_STEP } else { 1 };
            let report = sweep(&variant, function, format, step, 1)?;
            match report.first_wrong {
                None => Ok(()),
                Some((operand, result)) => {
                    Err(format!("{} are wrong, the first {operand:#x}: {result:#x}", report.wrong).into())
                }
            }
        }));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A form is judged unless it is listed, and what is listed exists and could not be judged.
fn reasons() -> Result<(), Failed> {
    let known = |group: &str, mnemonic: &str| {
        isa::table().any(|line| line.group == group && line.parsed().mnemonic == mnemonic)
    };
    let listed = UNJUDGED.iter().flat_map(|(group, names, _)| names.iter().map(move |name| (*group, *name)));
    let gone: Vec<_> = listed.filter(|(group, name)| !known(group, name)).collect();
    if gone.is_empty() { Ok(()) } else { Err(format!("the op table has no {gone:?}").into()) }
}

/// All variants of a form.
fn check(line: &'static OpLine, effort: Effort) -> Result<(), Failed> {
    let mut random = Random::new(effort.seed, line.name);
    let variants =
        Variant::all(line, &mut random).ok_or("no oracle knows its operands, and no reason is listed")?;
    let mut engine = Engine::new()?;
    let mut judged = 0;
    let mut wrong = Vec::new();
    for variant in &variants {
        let judge = match judge(variant) {
            Ok(judge) => judge,
            Err(Unjudged::NotInManual) => continue,
            Err(Unjudged::Unknown) => return Err(format!("no oracle for {}", variant.text()).into()),
        };
        let operands = rows(variant, effort.rows, &mut random);
        let (operand_words, result_words) = widths(variant);
        let text = text(variant);
        let job = Job { text: &text, operands: &operands, operand_words, result_words };
        let results = match engine.run(job) {
            Ok(results) => results,
            Err(error @ MachineError::Refused(_)) => {
                wrong.push(format!("{}: {error}", variant.text()));
                continue;
            }
            Err(error) => return Err(format!("{}: {error}", variant.text()).into()),
        };
        judged += 1;
        let pairs = operands.chunks(operand_words).zip(results.chunks(result_words));
        let difference = pairs.enumerate().find_map(|(row, (x, found))| {
            let wanted = answers(variant, &judge, row, x);
            let agree = wanted.iter().zip(found).all(|(wanted, found)| wanted.allows(*found));
            (!agree).then(|| {
                let shown: Vec<String> = wanted.iter().map(ToString::to_string).collect();
                format!("{} of {x:#x?}: {found:#x?}, not {}", variant.text(), shown.join(", "))
            })
        });
        wrong.extend(difference);
    }
    if judged == 0 && wrong.is_empty() {
        return Err("no variant of it was judged".into());
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = wrong.iter().take(SHOWN).cloned().collect();
    Err(format!("{} of {} variants are wrong:\n{}", wrong.len(), variants.len(), shown.join("\n")).into())
}
