//! Lowers the kernels of PTX files and prints PTX instructions, machine instructions and registers
//! of each. With `--list`, also prints the machine code.
//!
//! ```text
//! cargo run -p ptx-frontend --example lower -- [--list] FILE.ptx …
//! ```

use std::error::Error;
use std::sync::Arc;

use ptx_frontend::Module;
use ptx_frontend::analyse::ControlFlow;
use ptx_frontend::ir::Function;
use ptx_frontend::lower::{SharedAddresses, contract, listing, lower, rewrite};

fn main() -> Result<(), Box<dyn Error>> {
    let (options, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let lists = options.iter().any(|option| option == "--list");
    for file in files {
        let module = Module::parse(std::fs::read_to_string(&file)?, &file)?;
        let names: Vec<String> = module.kernels().map(str::to_owned).collect();
        for name in names {
            let mut function: Arc<Function> = module.function(&name)?;
            rewrite(&mut function);
            let flow = ControlFlow::of(&function);
            let replacements = contract(&mut function, &flow);
            let lowered = lower(&function, &flow, &replacements, &SharedAddresses::declared(&function));
            println!(
                "{name}\t{}\t{}\t{}",
                function.instructions.len(),
                lowered.instructions.len(),
                lowered.registers
            );
            if lists {
                print!("{}", listing(&function, &flow, &lowered));
            }
        }
    }
    Ok(())
}
