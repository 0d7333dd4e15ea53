//! Lowers the kernels of PTX files and prints, for each, PTX instructions, machine instructions and registers; with
//! `--list` the machine instructions too.
//!
//! ```text
//! cargo run -p ptx-frontend --example lower -- [--list] FILE.ptx …
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use ptx_frontend::Module;
use ptx_frontend::analyse::ControlFlow;
use ptx_frontend::ir::Function;
use ptx_frontend::lower::{LoweredFunction, contract, lower, rewrite};

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
            let lowered = lower(&function, &flow, &replacements);
            println!(
                "{name}\t{}\t{}\t{}",
                function.instructions.len(),
                lowered.instructions.len(),
                lowered.registers
            );
            if lists {
                list(&function, &lowered);
            }
        }
    }
    Ok(())
}

fn list(function: &Function, lowered: &LoweredFunction) {
    let mut starts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for block in ControlFlow::of(function).blocks() {
        let start = block.start.0 as usize;
        starts.entry(lowered.position[start]).or_default().push(start);
    }
    for (position, instruction) in lowered.instructions.iter().enumerate() {
        if starts.contains_key(&(position as u32)) {
            println!("block");
        }
        let effects = lowered.effects[position].clone();
        let effects: Vec<String> = lowered.order[effects.start as usize..effects.end as usize]
            .iter()
            .map(|index| function.instructions[index.0 as usize].op.line().name.to_owned())
            .collect();
        println!("    {} ; {} {}", describe(instruction), instruction.line, effects.join(" "));
    }
}

fn describe(i: &warp_stream::MachineInstruction) -> String {
    let registers = |of: warp_stream::Registers| match of.count {
        0 => String::from("-"),
        1 => format!("R{}", of.first),
        count => format!("R{}.{count}", of.first),
    };
    let sources: Vec<String> = i.sources.iter().filter(|s| s.count > 0).map(|s| registers(*s)).collect();
    let class = format!("{:?}", i.class);
    let predicates = match (i.predicates_read, i.predicates_written) {
        (0, 0) => String::new(),
        (read, written) => format!(" P{read:x}>{written:x}"),
    };
    format!("{class:18} {:6} <- {}{predicates}", registers(i.destination), sources.join(" "))
}
