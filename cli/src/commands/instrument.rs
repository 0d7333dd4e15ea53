//! `voltsim instrument`: rewrites a kernel so that it records what it writes to registers.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use launch_capture::{Capture, is_capture};
use ptx_frontend::Module;
use ptx_frontend::instrument::instrument;
use ptx_frontend::instrument::log::Window;
use warp_stream::kernel_name::{base_name, demangled, signature};

use crate::failure::Failure;
use crate::instrumented;
use crate::outputs;

/// Rewrite a kernel's PTX so that every value written to a register is stored in a buffer too
///
/// Line numbers stay the same. The module gets a variable `voltsim_log` of five 8-byte values:
/// address of the log, first thread, number of threads, first write, and writes per thread. A
/// captured launch becomes a launch with its own log. `voltsim compare` runs these steps itself.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// PTX text, or the folder of a captured launch
    input: PathBuf,

    /// File or folder for the result; text goes to standard output by default
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// The kernel; needed where the text has several
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,

    /// Writes of each thread that the log of a captured launch has room for
    #[arg(long, value_name = "COUNT", default_value_t = 256)]
    writes: u32,
}

/// Writes the instrumented text or launch.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    if is_capture(&args.input) {
        return launch(args, out);
    }
    let text = fs::read_to_string(&args.input).map_err(|error| {
        Failure::in_file(&args.input, error).remedy("Name a PTX file, or the folder of a captured launch")
    })?;
    let module = Module::parse(text, &args.input.to_string_lossy()).map_err(Failure::new)?;
    let kernel = kernel(&module, args.kernel.as_deref())?;
    let made = instrument(&module, kernel).map_err(Failure::new)?;
    match &args.output {
        Some(path) => outputs::write(path, &made.text)?,
        None => out.write_all(made.text.as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The kernel of a name, which may be mangled, as in the source, or without types of parameters.
fn by_name<'a>(module: &'a Module, name: &'a str) -> &'a str {
    let is_it = |kernel: &&str| *kernel == name || signature(kernel) == name;
    let similar = || module.kernels().find(|kernel| demangled(kernel) == name || base_name(kernel) == name);
    module.kernels().find(is_it).or_else(similar).unwrap_or(name)
}

/// The kernel named, or the only one.
fn kernel<'a>(module: &'a Module, named: Option<&'a str>) -> Result<&'a str, Failure> {
    let mut kernels = module.kernels();
    match (named, kernels.next(), kernels.next()) {
        (Some(name), ..) => Ok(by_name(module, name)),
        (None, Some(only), None) => Ok(only),
        (None, None, _) => Err(Failure::new(format_args!("{} has no kernel", module.name()))),
        (None, Some(_), Some(_)) => {
            let names: Vec<_> = module.kernels().map(signature).collect();
            Err(Failure::new(format_args!("{} has several kernels: {}", module.name(), names.join(", ")))
                .remedy("Name one with --kernel"))
        }
    }
}

fn launch(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let Some(output) = &args.output else {
        return Err(Failure::new("no folder for the instrumented launch").remedy("Name one with -o"));
    };
    let capture = Capture::open(&args.input)?;
    let texts = capture.modules()?;
    let text = texts.first().map_or("", String::as_str);
    let made = instrumented::rewrite(text, "module.ptx", &capture.launch().kernel)?;
    let window = Window {
        first_thread: 0,
        threads: capture.launch().shape().thread_count(),
        first: 0,
        capacity: args.writes,
    };
    instrumented::with_log(&capture, &made.text, &window, output)?;
    for (number, write) in made.writes.iter().enumerate() {
        writeln!(
            out,
            "{number}\t{}:{}\t{}\t{}",
            signature(&write.function),
            write.place.line,
            write.register,
            write.line
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
