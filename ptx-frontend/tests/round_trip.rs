//! Round trip of functions through disassembly.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that meets an error has failed")]

use ptx_frontend::analyse::{ControlFlow, dot};
use ptx_frontend::ir::{Function, Initial, InstructionIndex, SourceLocation, TextPosition, Variable};
use ptx_frontend::{Module, disassemble};

const ASSORTED: &str = include_str!("data/assorted.ptx");
const CONSTRUCTS: &str = include_str!("data/constructs.ptx");

/// Removes properties that disassembly may change: positions, and names shared between scopes.
fn bare(function: &Function) -> Function {
    let mut bare = function.clone();
    for instruction in &mut bare.instructions {
        instruction.place = TextPosition::default();
        instruction.location = SourceLocation::default();
    }
    bare.inlined_at.clear();
    bare.register_names.clear();
    bare.variables.iter_mut().for_each(|variable| variable.name.clear());
    bare.parameters.iter_mut().chain(&mut bare.returns).for_each(|formal| formal.name.clear());
    bare
}

/// Returns address values by offset, and all bytes.
fn content(variable: &Variable) -> (Vec<Initial>, Vec<u8>) {
    let mut bytes = vec![0; usize::try_from(variable.size).unwrap()];
    let mut addresses = Vec::new();
    for initial in &variable.initial {
        match initial {
            Initial::Bytes { offset, bytes: some } => {
                let offset = usize::try_from(*offset).unwrap();
                bytes[offset..offset + some.len()].copy_from_slice(some);
            }
            address => addresses.push(address.clone()),
        }
    }
    (addresses, bytes)
}

fn check(text: &str) {
    let first = Module::parse(text, "first").unwrap();
    let printed = disassemble::module(&first).unwrap_or_else(|error| panic!("{error}"));
    let second = Module::parse(printed.as_str(), "second").unwrap();
    assert_eq!(second.problems(), [], "{printed}");
    assert_eq!(first.functions().count(), second.functions().count());
    for name in first.functions().filter(|name| first.function_item(name).unwrap().body.is_some()) {
        let again = second.function(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(bare(&first.function(name).unwrap()), bare(&again), "{name}");
    }
    for (one, other) in first.variables().iter().zip(second.variables()) {
        assert_eq!(content(one), content(other));
        let shape = |v: &Variable| (v.name.clone(), v.space, v.linkage, v.ty, v.size, v.align, v.managed);
        assert_eq!(shape(one), shape(other));
    }
    assert_eq!(disassemble::module(&second).unwrap(), printed);
}

#[test]
fn compiled_code_round_trips() {
    check(ASSORTED);
}

#[test]
fn every_construct_round_trips() {
    check(CONSTRUCTS);
}

#[test]
fn disassembled_instructions_use_source_names() {
    let module = Module::parse(CONSTRUCTS, "m").unwrap();
    let function = module.function("everything").unwrap();
    let shown = disassemble::instruction(&function, InstructionIndex(0));
    assert_eq!(shown, "@!%p1 mov.b32 %r1, 31;");
}

#[test]
fn graphs_have_a_node_per_block_and_an_edge_per_branch() {
    let text = ".version 7.0 .target sm_70 .entry k() { .reg .pred p; @p bra L; trap; L: ret; }";
    let function = Module::parse(text, "m").unwrap().function("k").unwrap();
    let drawn = dot(&function, &ControlFlow::of(&function));
    assert!(drawn.contains("b0 [label=\"0:\\l@p bra $L2;\\l\"];"), "{drawn}");
    assert!(drawn.contains("b0 -> b1;") && drawn.contains("b0 -> b2;"));
}
