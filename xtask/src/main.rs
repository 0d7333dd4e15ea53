//! `cargo xtask`: development tasks beyond a single cargo command.

use clap::{Parser, Subcommand};
use programs::Extent;
use std::path::PathBuf;
use std::process::ExitCode;

mod agree;
mod book;
mod clients;
mod debian;
mod dist;
mod error;
mod evaluation;
mod extending;
mod files;
mod guided;
mod house;
mod kernels;
mod miri;
mod modes;
mod process;
mod programs;
mod projects;
mod python;
mod python_package;
mod random;
mod slurm;
mod stamp;
mod suites;
mod test;
mod tidy;
mod toolchain;
mod workspace;

use evaluation::{accuracy, bench, correlate, micro, power, registers};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Development tasks of Voltsim")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Set up what the tests need, check style, compile the CUDA programs and run every test.
    Test {
        /// Run only tests whose name contains this, and leave the style checks out. `pytorch`,
        /// `pytorch-2.6` and `slurm` are suites run by name alone; the last one installs Slurm.
        filter: Option<String>,
        /// Run the fast lane: format, unit tests, and suites without CUDA programs; under five
        /// minutes on a warm build.
        #[arg(long, conflicts_with = "filter")]
        fast: bool,
    },
    /// Only set up the compilers and compile the CUDA programs, into target/programs.
    Programs {
        /// Also compile the programs that take minutes; `cargo xtask test NAME` then runs them.
        #[arg(long)]
        long: bool,
    },
    /// Build the command and the libraries into target/guided, compiled with a profile of what they
    /// execute: the timing model is faster so.
    Guided,
    /// Run the tests of other projects that use CUDA on the simulator.
    Clients(clients::Arguments),
    /// Run the tests of the worked examples (`examples/projects`): CTest, numba, CuPy, Triton.
    Projects(projects::Arguments),
    /// Compare the front end with ptxas 11.8, 12.9 and 13.5: which instructions there are, from
    /// which target and version on.
    Agree {
        /// Names of forms or of their groups, and PTX files; every form without.
        subjects: Vec<String>,
    },
    /// Build and run programs of benchmark suites (LonestarGPU, Pannotia, CHAI, ISPASS-2009,
    /// Parboil, SHOC) from checkouts beside the repository.
    Suites(suites::Arguments),
    /// Time the CUDA programs of the repository in functional and in detailed mode, and fail if
    /// functional mode is slower.
    Modes(modes::Arguments),
    /// Run programs that were profiled on a GV100 on the model of one, and print how far it is.
    Correlate(correlate::Arguments),
    /// Run kernels whose power was measured on a GV100 on the model of one, and compare watts.
    Power(power::Arguments),
    /// Time measured kernel configurations on the model of their card, and write the figures.
    Accuracy(accuracy::Arguments),
    /// Compare registers of lowered kernels with `ptxas` for sm_70, on PTX files beside the repository.
    Registers(registers::Arguments),
    /// Run the micro-benchmarks on the timing model and compare with what was measured on cards.
    Micro(micro::Arguments),
    /// Make the artefacts that users install: wheel, archive, Debian package, OCI image.
    Dist(dist::Arguments),
    /// Compile the kernels of the stand-ins anew and compare them with the PTX of the repository.
    Kernels(kernels::Arguments),
    /// Interpret tests of crates with `unsafe` or threads by Miri; needs `rustup toolchain install
    /// nightly` with the components miri and rust-src.
    Miri,
    /// Check the links of all pages and build the book into target/book.
    Docs(book::Arguments),
    /// Measure the structure of the sources: cycles, `impl` blocks, names, documents.
    House,
    /// List the places that break rules of STYLE.md.
    Tidy(tidy::Arguments),
    /// Measure how fast the engine executes the benchmark kernels, beside the same loops in C++,
    /// and how fast the timing model times them (`detailed`).
    #[command(args_conflicts_with_subcommands = true)]
    Bench {
        #[command(subcommand)]
        subject: Option<bench::Subject>,
        /// Rows to measure, by name: `saxpy`, `bfs*`, `detailed/saxpy`, `host/*`. Without any, all.
        rows: Vec<String>,
        /// Measure what `cargo xtask guided` has built.
        #[arg(long, global = true)]
        guided: bool,
        /// Also write the rows to this file.
        #[arg(long, value_name = "FILE", global = true)]
        json: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Test { fast: true, .. } => test::fast(),
        Task::Test { filter, .. } if filter.as_deref() == Some("slurm") => slurm::run(),
        Task::Test { filter, .. } => {
            let suite = filter.as_deref().and_then(clients::run_by_name);
            suite.unwrap_or_else(|| test::run(filter.as_deref()))
        }
        Task::Guided => guided::run(),
        Task::Clients(arguments) => clients::run(&arguments),
        Task::Projects(arguments) => projects::run(&arguments),
        Task::Agree { subjects } => agree::run(&subjects),
        Task::Suites(arguments) => suites::run(&arguments),
        Task::Modes(arguments) => modes::run(&arguments),
        Task::Correlate(arguments) => correlate::run(&arguments),
        Task::Power(arguments) => power::run(&arguments),
        Task::Accuracy(arguments) => accuracy::run(&arguments),
        Task::Registers(arguments) => registers::run(&arguments),
        Task::Bench { subject, rows, guided, json } => {
            bench::run(subject.as_ref(), &rows, guided, json.as_deref())
        }
        Task::Dist(arguments) => dist::run(&arguments),
        Task::Kernels(arguments) => kernels::run(&arguments),
        Task::Miri => miri::run(),
        Task::Docs(arguments) => book::run(&arguments),
        Task::House => house::run(),
        Task::Tidy(arguments) => tidy::run(&arguments),
        Task::Micro(arguments) => micro::run(&arguments),
        Task::Programs { long } => {
            let extent = if long { Extent::Long } else { Extent::Usual };
            programs::set_up_and_compile(&workspace::Workspace::find(), extent)
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
