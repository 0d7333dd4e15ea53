//! Control-flow graphs as Graphviz drawings.

use std::fmt::Write;

use super::flow::{BlockId, ControlFlow};
use crate::disassemble::instruction;
use crate::ir::{Function, InstructionIndex};
use crate::source::narrow;

/// A `digraph` with a box of code per block, an edge per branch, and a dashed edge to each block's
/// immediate post-dominator.
pub fn dot(function: &Function, flow: &ControlFlow) -> String {
    let mut text =
        format!("digraph \"{}\" {{\nnode [shape=box fontname=monospace];\n", escaped(&function.name));
    for (position, block) in flow.blocks().iter().enumerate() {
        let mut code = format!("{position}:\\l");
        for index in block.start.0..block.end.0 {
            let _ = write!(code, "{}\\l", escaped(&instruction(function, InstructionIndex(index))));
        }
        let _ = writeln!(text, "b{position} [label=\"{code}\"];");
        for successor in &block.successors {
            let _ = writeln!(text, "b{position} -> b{};", successor.0);
        }
        if let Some(meet) = flow.immediate_post_dominator(BlockId(narrow(position))) {
            let _ = writeln!(text, "b{position} -> b{} [style=dashed constraint=false];", meet.0);
        }
    }
    text.push_str("}\n");
    text
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
