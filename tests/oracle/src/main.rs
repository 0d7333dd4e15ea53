//! `isa-oracle sweep [NAME…]`: the worst errors of the approximate functions over all their operands, as a table.

use std::process::ExitCode;

use isa_oracle::sweep::{Errors, Worst, sweep, swept};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((command, names)) if command == "sweep" => sweep_all(names),
        _ => {
            eprintln!("usage: isa-oracle sweep [OPCODE…]");
            ExitCode::FAILURE
        }
    }
}

fn sweep_all(names: &[String]) -> ExitCode {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut verdict = ExitCode::SUCCESS;
    println!("| instruction | allowed | results | worst, ulp | worst, absolute | worst, relative |");
    println!("|---|---|---|---|---|---|");
    for (variant, function, format) in swept() {
        let opcode = variant.opcode();
        if !names.is_empty() && !names.contains(&opcode) {
            continue;
        }
        match sweep(&variant, function, format, 1, threads) {
            Ok(report) => {
                report.errors.iter().for_each(|errors| print_errors(&opcode, errors));
                if let Some((operand, result)) = report.first_wrong {
                    println!("{opcode}: {} are wrong, the first {operand:#x}: {result:#x}", report.wrong);
                    verdict = ExitCode::FAILURE;
                }
            }
            Err(error) => {
                eprintln!("{opcode}: {error}");
                verdict = ExitCode::FAILURE;
            }
        }
    }
    verdict
}

fn print_errors(opcode: &str, errors: &Errors) {
    let show = |worst: Worst, power: bool| match power {
        true => format!("2^{:.2} at {:#x}", worst.error.log2(), worst.operand),
        false => format!("{:.3} at {:#x}", worst.error, worst.operand),
    };
    println!(
        "| `{opcode}` | {} | {} | {} | {} | {} |",
        errors.bound,
        errors.results,
        show(errors.ulp, false),
        show(errors.absolute, true),
        show(errors.relative, true)
    );
}
