//! Stand-in for `ptxas`, put in place by `voltsim run`: checks PTX and writes an image that holds the PTX itself, which
//! our driver loads where a program expects machine code.
//!
//! Messages have the form of the assembler's, since programs read them; exit status 255 is an error in the PTX, 1 a wrong
//! command line.

mod options;
mod report;

use options::{Options, Task};
use ptx_frontend::Module;
use ptx_frontend::container::Linked;
use ptx_frontend::module::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// An error in the PTX.
const REFUSED: u8 = 255;

const HELP: &str = "\
Usage: ptxas [options] <ptx file>,...
Voltsim's stand-in: checks PTX and writes it in a form that Voltsim's driver loads. Takes the assembler's options;
those that concern machine code change nothing.
  -o, --output-file <file>     output, elf.o without
  -arch, --gpu-name <sm_NN>    target
  -maxrregcount <n>            registers a thread may use
  -v, --verbose                print what each kernel uses
  -V, --version                print the version
";

/// The release is the newest whose PTX the front end knows; programs choose the version of their PTX by it.
const VERSION: &str = "\
ptxas: Voltsim's stand-in for the PTX assembler
Cuda compilation tools, release 13.5, V13.5.0
";

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    match Options::read(&arguments) {
        Ok(Task::Help) => show(HELP),
        Ok(Task::Version) => show(VERSION),
        Ok(Task::Assemble(options)) => assemble(&options),
        Err(message) => {
            eprintln!("ptxas fatal   : {message}");
            ExitCode::FAILURE
        }
    }
}

fn show(text: &str) -> ExitCode {
    print!("{text}");
    ExitCode::SUCCESS
}

fn assemble(options: &Options) -> ExitCode {
    let mut texts = Vec::new();
    for input in &options.inputs {
        let shown = input.display();
        let text = match fs::read(input) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned(),
            Err(_) => return fatal(&format!("Could not open input file '{shown}'"), 1),
        };
        if let Err(count) = check(input, &text, options) {
            if count > 0 {
                return fatal("Ptx assembly aborted due to errors", REFUSED);
            }
            return ExitCode::from(REFUSED);
        }
        texts.push(text);
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

/// Checks all functions; says how many errors were printed, 0 where the text is no module and that has been said.
fn check(file: &Path, text: &str, options: &Options) -> Result<(), usize> {
    let module = match Module::parse(text, &file.to_string_lossy()) {
        Ok(module) => module,
        Err(error) => {
            let (line, message) = match &error {
                Error::NotAModule(diagnostic) => (diagnostic.place.line, diagnostic.problem.to_string()),
                other => (1, other.to_string()),
            };
            eprintln!("ptxas {}, line {line}; fatal   : {message}", file.display());
            eprintln!("ptxas fatal   : Ptx assembly aborted due to errors");
            return Err(0);
        }
    };
    let mut errors = Vec::new();
    for problem in module.problems() {
        errors.push((problem.place.line, problem.problem.to_string()));
    }
    let source = module.source().text();
    let mut kernels = Vec::new();
    let defined = module.outline().functions.iter().filter(|item| item.body.is_some());
    for name in defined.map(|item| item.name.of(source)) {
        match module.function(name) {
            Ok(function) if function.is_kernel => kernels.push(function),
            Ok(_) => {}
            Err(Error::Invalid { problems, .. }) => {
                let found = problems.iter().map(|found| (found.place.line, found.problem.to_string()));
                errors.extend(found);
            }
            Err(other) => errors.push((1, other.to_string())),
        }
    }
    errors.sort();
    for (line, message) in &errors {
        eprintln!("ptxas {}, line {line}; error   : {message}", file.display());
    }
    if !errors.is_empty() {
        return Err(errors.len());
    }
    if options.verbose {
        report::module(&module);
        for kernel in &kernels {
            report::kernel(kernel, options);
        }
    }
    Ok(())
}
