//! Lowers the kernels of PTX files and prints PTX instructions, machine instructions and registers
//! of each, and the number of machine instructions of each class. With `--list`, also prints the
//! machine code. `--target` chooses the target, such as `sm_75`; by default `sm_70`.
//!
//! ```text
//! cargo run -p ptx-frontend --example lower -- [--list] [--target=sm_75] FILE.ptx …
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use ptx_frontend::Module;
use ptx_frontend::analyse::ControlFlow;
use ptx_frontend::ir::Function;
use ptx_frontend::lower::{
    LoweredFunction, SharedAddresses, Target, contract, listing, lower, rewrite_contracted,
};

fn main() -> Result<(), Box<dyn Error>> {
    let (options, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let lists = options.iter().any(|option| option == "--list");
    let target = options.iter().find_map(|option| Target::named(option.strip_prefix("--target=")?));
    let target = target.unwrap_or_default();
    for file in files {
        let module = Module::parse(std::fs::read_to_string(&file)?, &file)?;
        let names: Vec<String> = module.kernels().map(str::to_owned).collect();
        for name in names {
            let mut function: Arc<Function> = module.function(&name)?;
            let flow = ControlFlow::of(&function);
            let mut replacements = contract(&mut function, &flow);
            rewrite_contracted(&mut function, &mut replacements);
            let flow = ControlFlow::of(&function);
            let lowered =
                lower(&function, &flow, &replacements, &SharedAddresses::declared(&function), target);
            println!(
                "{name}\t{}\t{}\t{}\t{}",
                function.instructions.len(),
                lowered.instructions.len(),
                lowered.registers,
                classes(&lowered)
            );
            if lists {
                print!("{}", listing(&function, &flow, &lowered));
            }
        }
    }
    Ok(())
}

/// Number of machine instructions of each class, with the space of an access:
/// `Fp32=1 Load.Global=2`.
fn classes(lowered: &LoweredFunction) -> String {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for instruction in &lowered.instructions {
        let space = instruction.memory.map_or(String::new(), |memory| format!(".{:?}", memory.space));
        *counts.entry(format!("{:?}{space}", instruction.class)).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(class, count)| format!("{class}={count}")).collect();
    counts.join(" ")
}
