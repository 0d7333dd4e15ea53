//! Lowering: preserved semantics, expected machine code, and register counts close to those of the vendor's
//! assembler.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that meets an error has failed")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_frontend::Module;
use ptx_frontend::analyse::{ControlFlow, reads, writes};
use ptx_frontend::ir::{AddressBase, Function, Instruction, Operand};
use ptx_frontend::isa::{Effect, Integer, Modifier, Op};
use ptx_frontend::lower::{
    LoweredFunction, Replacements, SharedAddresses, Target, contract, listing, lower, rewrite,
};
use warp_stream::OperationClass;

struct Lowered {
    name: String,
    function: Arc<Function>,
    flow: ControlFlow,
    replacements: Replacements,
    lowered: LoweredFunction,
}

fn lowered(function: Arc<Function>) -> Lowered {
    lowered_for(function, Target::Sm70)
}

fn lowered_for(mut function: Arc<Function>, target: Target) -> Lowered {
    rewrite(&mut function);
    let flow = ControlFlow::of(&function);
    let replacements = contract(&mut function, &flow);
    let lowered = lower(&function, &flow, &replacements, &SharedAddresses::declared(&function), target);
    Lowered { name: function.name.clone(), function, flow, replacements, lowered }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn ptx_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            ptx_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            files.push(path);
        }
    }
}

/// Returns all valid functions of a file.
fn functions(path: &Path) -> Vec<Arc<Function>> {
    let text = std::fs::read_to_string(path).unwrap();
    let Ok(module) = Module::parse(text, &path.display().to_string()) else { return Vec::new() };
    let names: Vec<String> = module.kernels().chain(module.functions()).map(str::to_owned).collect();
    names.iter().filter_map(|name| module.function(name).ok()).collect()
}

/// Returns all functions in the repository's PTX files, lowered for Volta.
fn all_functions() -> Vec<Lowered> {
    all_sources().into_iter().map(lowered).collect()
}

/// Returns all functions in the repository's PTX files.
fn all_sources() -> Vec<Arc<Function>> {
    let mut files = Vec::new();
    for folder in ["tests/ptx", "examples", "ptx-frontend/tests/data", "ptx-frontend/tests/lower"] {
        ptx_files(&root().join(folder), &mut files);
    }
    files.sort();
    files.iter().flat_map(|path| functions(path)).collect()
}

/// Returns the position in the execution order of each PTX instruction.
fn ranks(lowered: &LoweredFunction) -> Vec<usize> {
    let mut ranks = vec![usize::MAX; lowered.position.len()];
    for (rank, index) in lowered.order.iter().enumerate() {
        ranks[index.0 as usize] = rank;
    }
    ranks
}

fn each_takes_effect_once(of: &Lowered) {
    let lowered = &of.lowered;
    let mut seen = vec![0; of.function.instructions.len()];
    lowered.order.iter().for_each(|index| seen[index.0 as usize] += 1);
    assert!(seen.iter().all(|count| *count == 1), "{}: {seen:?}", of.name);
    assert_eq!(lowered.effects.len(), lowered.instructions.len());
    let mut next = 0;
    for effects in &lowered.effects {
        assert_eq!(effects.start, next, "{}", of.name);
        next = effects.end;
    }
    assert_eq!(next as usize, lowered.order.len());
}

/// Checks that blocks are consecutive and that each executes its own instructions.
fn blocks_stay_apart(of: &Lowered) {
    let blocks = of.flow.blocks();
    let start = |n: usize| match blocks.get(n) {
        Some(block) => of.lowered.position[block.start.0 as usize],
        None => of.lowered.instructions.len() as u32,
    };
    for (n, block) in blocks.iter().enumerate() {
        assert!(start(n) < start(n + 1), "{}: an empty block", of.name);
        for machine in start(n)..start(n + 1) {
            let effects = of.lowered.effects[machine as usize].clone();
            for index in &of.lowered.order[effects.start as usize..effects.end as usize] {
                assert!(block.start <= *index && *index < block.end, "{}: {}", of.name, index.0);
                let at = of.lowered.position[index.0 as usize];
                assert!(at == machine || *index == block.start, "{}: {}", of.name, index.0);
            }
        }
        let last = of.lowered.effects[start(n + 1) as usize - 1].end as usize;
        let i = &of.function.instructions[block.end.0 as usize - 1];
        if i.op.leaves() {
            assert_eq!(
                of.lowered.order[last - 1].0,
                block.end.0 - 1,
                "{}: what ends a block comes last",
                of.name
            );
        }
    }
}

/// Returns the registers read and written after contraction, including the carry flag.
fn registers(of: &Lowered, position: usize) -> (Vec<u32>, Vec<u32>) {
    let i = &of.function.instructions[position];
    let replaced = of.replacements.get(&position);
    let code: Vec<&Instruction> = match replaced {
        Some(instructions) => instructions.iter().collect(),
        None => vec![i],
    };
    let mut read: Vec<u32> = code.iter().flat_map(|i| reads(i)).map(|r| r.0).collect();
    let mut written: Vec<u32> = code.iter().flat_map(|i| writes(i)).map(|r| r.0).collect();
    if i.guard.is_some() {
        read.extend(&written);
    }
    use Integer as I;
    if matches!(i.op, Op::Integer(I::add_cc | I::addc | I::sub_cc | I::subc | I::mad_cc | I::madc)) {
        read.push(u32::MAX);
        written.push(u32::MAX);
    }
    (read, written)
}

/// Returns whether the two memory accesses must keep their order. Accesses with different offsets from one
/// register need not.
fn memory_conflict(a: &Instruction, b: &Instruction) -> bool {
    let effect = |i: &Instruction| i.op.line().effect;
    let constant = |i: &Instruction| {
        i.modifiers()
            .any(|m| matches!(m, Modifier::Const | Modifier::Param | Modifier::ParamEntry | Modifier::Nc))
    };
    let is_access =
        |i: &Instruction| matches!(effect(i), Effect::Load | Effect::Store | Effect::Atomic) && !constant(i);
    let orders = |i: &Instruction| matches!(effect(i), Effect::Fence | Effect::Barrier | Effect::Call);
    if orders(a) || orders(b) {
        return (is_access(a) || orders(a)) && (is_access(b) || orders(b));
    }
    if !is_access(a) || !is_access(b) || (effect(a) == Effect::Load && effect(b) == Effect::Load) {
        return false;
    }
    let place = |i: &Instruction| {
        i.operands.iter().find_map(|operand| match operand {
            Operand::Address { base, offset } => Some((*base, *offset)),
            _ => None,
        })
    };
    let space = |i: &Instruction| {
        i.modifiers().find(|m| matches!(m, Modifier::Global | Modifier::Shared | Modifier::Local))
    };
    let apart = match (space(a), space(b)) {
        (Some(a), Some(b)) => a != b,
        _ => false,
    };
    let far = match (place(a), place(b)) {
        (Some((AddressBase::Register(r), at)), Some((AddressBase::Register(s), other))) => {
            r == s && at != other
        }
        _ => false,
    };
    !apart && !far && place(a).is_some() && place(b).is_some()
}

/// Checks that dependent instructions of a block keep their order.
fn order_keeps_dependences(of: &Lowered) {
    let ranks = ranks(&of.lowered);
    for block in of.flow.blocks() {
        let range = block.start.0 as usize..block.end.0 as usize;
        let all: Vec<_> = range.clone().map(|position| registers(of, position)).collect();
        for a in range.clone() {
            for b in a + 1..range.end {
                let ((read_a, written_a), (read_b, written_b)) =
                    (&all[a - range.start], &all[b - range.start]);
                let meets = |x: &[u32], y: &[u32]| x.iter().any(|register| y.contains(register));
                let dependent =
                    meets(written_a, read_b) || meets(read_a, written_b) || meets(written_a, written_b);
                let (first, second) = (&of.function.instructions[a], &of.function.instructions[b]);
                if (dependent || memory_conflict(first, second)) && ranks[a] > ranks[b] {
                    panic!("{}: {first:?} takes effect after {second:?}", of.name);
                }
            }
        }
    }
}

#[test]
fn lowering_executes_each_instruction_once_in_dependence_order() {
    let all = all_sources();
    assert!(all.len() > 1000, "only {} functions", all.len());
    for source in &all {
        for target in Target::ALL {
            let of = lowered_for(Arc::clone(source), target);
            each_takes_effect_once(&of);
            blocks_stay_apart(&of);
            order_keeps_dependences(&of);
        }
    }
}

#[test]
fn memory_instructions_describe_their_own_memory_access() {
    for of in all_functions() {
        for (instruction, effects) in of.lowered.instructions.iter().zip(&of.lowered.effects) {
            let is_memory = instruction.class.unit() == warp_stream::Unit::Memory
                && instruction.class != warp_stream::OperationClass::Shuffle;
            if is_memory || instruction.memory.is_some() {
                assert!(instruction.memory.is_some(), "{}: {instruction:?}", of.name);
                assert!(!effects.is_empty(), "{}: {instruction:?}", of.name);
            }
        }
    }
}

/// Figures of ptxas 12.9 for `sm_70`: file, kernel, registers, machine instructions.
const REFERENCE: &str = include_str!("lower/registers.tsv");

/// Limit of the mean relative error of register counts.
const ERROR_OF_REGISTERS: f64 = 0.15;

#[test]
fn register_counts_match_ptxas_on_average() {
    let rows = REFERENCE.lines().filter(|line| !line.starts_with('#'));
    let mut errors = Vec::new();
    for row in rows {
        let [file, kernel, registers, instructions] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}: four columns");
        };
        let module = Module::parse(std::fs::read_to_string(root().join(file)).unwrap(), file).unwrap();
        let of = lowered(module.function(kernel).unwrap());
        let expected: f64 = registers.parse().unwrap();
        let error = f64::from(of.lowered.registers) / expected - 1.0;
        println!(
            "{kernel}: {} registers for {registers}, {} instructions for {instructions}",
            of.lowered.registers,
            of.lowered.instructions.len()
        );
        errors.push(error.abs());
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    assert!(errors.len() > 20 && mean < ERROR_OF_REGISTERS, "mean error {mean:.3} of {}", errors.len());
}

/// Limit of the fraction of three-source instructions whose sources share a register bank. Random
/// allocation would give a quarter.
const IN_ONE_BANK: f64 = 0.02;

#[test]
fn three_sources_seldom_share_a_register_bank() {
    let (mut three, mut in_one_bank) = (0, 0);
    for of in all_functions() {
        for instruction in &of.lowered.instructions {
            let sources = instruction.sources.iter().filter(|source| source.count > 0);
            let registers: Vec<u16> = sources.map(|source| source.first).collect();
            if registers.len() == 3 && instruction.sources.iter().all(|source| source.count < 2) {
                three += 1;
                in_one_bank += u32::from(registers.iter().all(|register| register % 2 == registers[0] % 2));
            }
        }
    }
    let fraction = f64::from(in_one_bank) / f64::from(three);
    assert!(three > 1000 && fraction < IN_ONE_BANK, "{in_one_bank} of {three}");
}

/// Prefix of lines with expected machine code for `sm_70` in a test file. The lines of another target
/// begin with its name, such as `//sm_75= `.
const EXPECTED: &str = "//= ";

#[test]
fn kernels_lower_to_the_expected_machine_instructions() {
    let folder = root().join("ptx-frontend/tests/lower");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "ptx")).collect();
    files.sort();
    assert!(!files.is_empty());
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        for target in Target::ALL {
            let prefix = if target == Target::Sm70 { EXPECTED } else { &format!("//{}= ", target.name()) };
            let expected: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(prefix)).collect();
            if target != Target::Sm70 && expected.is_empty() {
                continue;
            }
            let of = lowered_for(functions(&path).remove(0), target);
            let found = listing(&of.function, &of.flow, &of.lowered);
            assert_eq!(
                found.lines().collect::<Vec<_>>(),
                expected,
                "{}, {}:\n{found}",
                path.display(),
                target.name()
            );
        }
    }
}

/// PTX of four sums over a window of `SIDE` rows, unrolled. Row `i` of one sum is row `i + 4` of
/// the sum before, and each value is loaded once. `first_store` stores the first sum.
fn sums_over_shared_rows(first_store: &str) -> String {
    const SIDE: usize = 12;
    const SUMS: usize = 4;
    let mut text = String::from(
        ".version 7.0\n.target sm_70\n.address_size 64\n.const .align 4 .f32 weight[144];\n\
         .visible .entry sums(.param .u64 out)\n{\n.shared .align 4 .b8 tile[8192];\n\
         .reg .f32 %v<400>;\n.reg .f32 %s<4>;\n.reg .f32 %w<145>;\n.reg .u32 %t<5>;\n.reg .u64 %d<6>;\n\
         ld.param.u64 %d0, [out];\ncvta.to.global.u64 %d1, %d0;\nmov.u32 %t0, %tid.x;\nshl.b32 %t1, %t0, 2;\n\
         mov.u32 %t2, tile;\nadd.s32 %t3, %t1, %t2;\nbar.sync 0;\n",
    );
    (0..SUMS).for_each(|sum| text.push_str(&format!("mov.f32 %s{sum}, 0f00000000;\n")));
    let mut loaded = [false; 400];
    for step in 0..SIDE * SIDE {
        text.push_str(&format!("ld.const.f32 %w{step}, [weight+{}];\n", 4 * step));
        for sum in 0..SUMS {
            let value = step + 4 * SIDE * sum;
            if !std::mem::replace(&mut loaded[value], true) {
                text.push_str(&format!("ld.shared.f32 %v{value}, [%t3+{}];\n", 4 * value));
            }
            text.push_str(&format!("fma.rn.f32 %s{sum}, %v{value}, %w{step}, %s{sum};\n"));
        }
    }
    text.push_str("mul.wide.u32 %d2, %t0, 4;\nadd.s64 %d3, %d1, %d2;\n");
    text.push_str(first_store);
    (1..SUMS).for_each(|sum| text.push_str(&format!("st.global.f32 [%d3+{}], %s{sum};\n", 512 * sum)));
    text + "ret;\n}\n"
}

/// Registers of the sums. 144 values are live at once in the order of the text; ptxas 11.8 and 12.9
/// take 32 registers for such code.
fn registers_of_sums(first_store: &str) -> u32 {
    let module = Module::parse(sums_over_shared_rows(first_store), "sums").unwrap();
    let of = lowered(module.function("sums").unwrap());
    each_takes_effect_once(&of);
    blocks_stay_apart(&of);
    of.lowered.registers
}

#[test]
fn values_that_sums_share_do_not_stay_in_registers() {
    assert!(registers_of_sums("st.global.f32 [%d3], %s0;\n") <= 32);
}

#[test]
fn a_sum_with_an_address_of_its_own_starts_with_the_others() {
    let store = "mov.u32 %t4, %ctaid.x;\nmul.wide.u32 %d4, %t4, 4;\nadd.s64 %d5, %d1, %d4;\n\
                 st.global.f32 [%d5], %s0;\n";
    assert!(registers_of_sums(store) <= 32);
}

#[test]
fn a_texture_fetch_writes_the_components_that_are_read() {
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry fetch(.param .u64 t, .param .u64 out)\n{\n\
                .reg .u64 %d<3>;\n.reg .f32 %f<9>;\nld.param.u64 %d0, [t];\nld.param.u64 %d1, [out];\n\
                mov.f32 %f0, 0f3F000000;\ntex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d0, {%f0, %f0}];\n\
                st.global.f32 [%d1], %f3;\nret;\n}\n";
    let module = Module::parse(text.to_owned(), "fetch").unwrap();
    let of = lowered(module.function("fetch").unwrap());
    let fetch = of.lowered.instructions.iter().find(|i| i.class == OperationClass::Texture).unwrap();
    assert_eq!(fetch.destination.count, 1);
}
