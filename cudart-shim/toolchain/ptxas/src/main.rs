//! Replacement of `ptxas`, put in place by `voltsim run`. The command checks PTX and writes an
//! image that holds the PTX, which Voltsim's driver loads as machine code.
//!
//! Messages have the assembler's form, since programs parse them. Exit status 255 means an error in
//! the PTX, 1 a wrong command line.

mod options;
mod toolkit;

use options::{Input, Options, Task};
use ptx_frontend::Module;
use ptx_frontend::container::Linked;
use ptx_frontend::isa::release;
use ptx_frontend::judge::Remark;
use ptx_frontend::usage::usage;
use std::fs;
use std::process::ExitCode;

/// Exit status for an error in the PTX.
const REFUSED: u8 = 255;

const HELP: &str = "\
Usage: ptxas [options] <ptx file>,...
Voltsim's stand-in: checks PTX and writes it in a form that Voltsim's driver loads. Takes the assembler's options;
those that concern machine code change nothing.
  -o, --output-file <file>     output, elf.o without
  -arch, --gpu-name <sm_NN>    target; for a virtual one (compute_NN) the PTX is only checked
  -maxrregcount <n>            registers a thread may use
  -v, --verbose                print what each kernel uses
  -V, --version                print the version
";

/// Text of the version. Programs choose the version of their PTX by the release, and old ones refuse
/// later releases. `given` is the release of the environment; the default is the newest whose PTX
/// the front end supports.
fn version(given: Option<&str>) -> String {
    let release = given.unwrap_or("13.5");
    format!(
        "ptxas: Voltsim's stand-in for the PTX assembler\n\
         Cuda compilation tools, release {release}, V{release}.0\n"
    )
}

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    match Options::read(&arguments) {
        Ok(Task::Help) => show(HELP),
        Ok(Task::Version) => match toolkit::release() {
            Ok(given) => show(&version(given.as_deref())),
            Err(message) => fail(&message),
        },
        Ok(Task::Targets) => show(&release::targets().map(|name| format!("sm_{name}\n")).collect::<String>()),
        Ok(Task::Versions) => {
            show(&release::versions().map(|(major, minor)| format!("{major}.{minor}\n")).collect::<String>())
        }
        Ok(Task::Assemble(options)) => assemble(&options),
        Err(message) => fail(&message),
    }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("ptxas fatal   : {message}");
    tell_of_toolkit();
    ExitCode::FAILURE
}

/// Names this command, and the path of the toolkit's assembler if found.
fn tell_of_toolkit() {
    let own = "ptxas info    : this is Voltsim's stand-in for ptxas, put first in PATH by `voltsim run`";
    match toolkit::assembler() {
        Some(path) => eprintln!("{own}; the toolkit's assembler is {}", path.display()),
        None => eprintln!("{own}"),
    }
}

fn show(text: &str) -> ExitCode {
    print!("{text}");
    ExitCode::SUCCESS
}

fn assemble(options: &Options) -> ExitCode {
    let mut texts = Vec::new();
    for input in &options.inputs {
        let (shown, text) = match input {
            Input::Text(text) => ("<string>".to_owned(), text.clone()),
            Input::File(path) => match fs::read(path) {
                Ok(bytes) => {
                    let text = String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned();
                    (path.display().to_string(), text)
                }
                Err(_) => return fatal(&format!("Could not open input file '{}'", path.display()), 1),
            },
        };
        if !check(&shown, &text, options) {
            return ExitCode::from(REFUSED);
        }
        texts.push(text);
    }
    if options.is_virtual {
        return ExitCode::SUCCESS;
    }
    let texts = texts.iter().map(String::as_bytes).collect();
    let image = Linked { texts, max_registers: options.max_registers }.to_bytes();
    match fs::write(&options.output, image) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => fatal(&format!("Could not open output file '{}'", options.output.display()), 1),
    }
}

fn fatal(message: &str, status: u8) -> ExitCode {
    eprintln!("ptxas fatal   : {message}");
    ExitCode::from(status)
}

/// Checks a text and prints its errors; true for a legal one.
fn check(shown: &str, text: &str, options: &Options) -> bool {
    let module = match Module::parse(text, shown) {
        Ok(module) => module,
        Err(error) => {
            eprintln!("{}", error.log(shown));
            return false;
        }
    };
    if let Some(misfit) = options.misfit(&module) {
        eprintln!("ptxas fatal   : {misfit}");
        return false;
    }
    let judgement = module.judge();
    if !judgement.errors.is_empty() {
        eprintln!("{}", judgement.log(shown));
        return false;
    }
    for Remark { line, message } in &judgement.missing {
        eprintln!(
            "ptxas {shown}, line {line}; warning : {message}; a launch of its kernel fails under Voltsim"
        );
    }
    if options.verbose {
        eprint!("{}", usage(&module, &options.target, options.max_registers));
    }
    true
}
