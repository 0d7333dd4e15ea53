//! `cargo xtask`: everything about the project that is more than one cargo command.

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

mod bench;
mod debian;
mod error;
mod process;
mod programs;
mod stamp;
mod test;
mod toolchain;
mod workspace;

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
        /// Run only tests whose name contains this, and leave the style checks out.
        filter: Option<String>,
    },
    /// Only set up the compilers and compile the CUDA programs, into target/programs.
    Programs,
    /// Measure how fast the engine executes the benchmark kernels, beside the same loops in C++.
    Bench {
        /// Also write the rows to this file.
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Test { filter } => test::run(filter.as_deref()),
        Task::Bench { json } => bench::run(json.as_deref()),
        Task::Programs => programs::set_up_and_compile(&workspace::Workspace::find()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
