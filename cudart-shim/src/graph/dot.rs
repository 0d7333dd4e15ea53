//! DOT drawings of graphs (`cudaGraphDebugDotPrint`).

use super::handle::GraphHandle;
use super::node::{Kind, Node};
use super::store::Graphs;
use crate::abi::error::Result;
use crate::work::operation::Operation;
use std::fmt::Write as _;

/// All details (`cudaGraphDebugDotFlagsVerbose`).
const VERBOSE: u32 = 1;
const HANDLES: u32 = 1 << 10;
/// Flags for parameters of node types.
const PARAMETERS: u32 = 0b1011_1001_1111_1100;

/// Drawing of a graph; each inner graph is a cluster.
pub(crate) fn picture(graphs: &Graphs, graph: GraphHandle, flags: u32) -> Result<String> {
    let mut text = String::from("digraph dot {\n");
    draw(graphs, graph, flags, &mut text)?;
    text.push_str("}\n");
    Ok(text)
}

fn draw(graphs: &Graphs, handle: GraphHandle, flags: u32, text: &mut String) -> Result<()> {
    let graph = graphs.graph(handle)?;
    let name = |node: &Node| format!("\"graph_{}_node_{}\"", graph.id, node.local);
    let _ = writeln!(text, "subgraph cluster_{} {{\nlabel=\"graph_{}\"", graph.id, graph.id);
    for &node_handle in graph.topology.nodes() {
        let node = graphs.node(node_handle)?;
        let mut label = format!("{}\\n{}", node.local, node.kind.name());
        if flags & (VERBOSE | HANDLES) != 0 {
            let _ = write!(label, "\\nhandle: {node_handle:?}");
        }
        if flags & (VERBOSE | PARAMETERS) != 0 {
            label.push_str(&parameters(&node.kind));
        }
        let _ = writeln!(text, "{} [shape=\"record\" label=\"{label}\"];", name(node));
        for owned in Graphs::owned_by(&node.kind) {
            draw(graphs, owned, flags, text)?;
        }
    }
    for (from, to, edge) in graph.topology.edges() {
        let style = if edge.kind == 0 { "" } else { " [label=\"programmatic\"]" };
        let _ = writeln!(text, "{} -> {}{style};", name(graphs.node(from)?), name(graphs.node(to)?));
    }
    text.push_str("}\n");
    Ok(())
}

fn parameters(kind: &Kind) -> String {
    match kind {
        Kind::Operation(Operation::Kernel(launch)) => {
            let name = launch.kernel.name.to_string_lossy();
            let sizes = &launch.sizes;
            format!("\\n{name}\\ngrid {:?} CTA {:?} shared {}", sizes.grid(), sizes.block(), sizes.shared)
        }
        Kind::Operation(Operation::Copy(copy)) => {
            let size = copy.extent;
            let (to, from) = (copy.to.address, copy.from.address);
            format!("\\n{from:#x} to {to:#x}\\n{} x {} x {} bytes", size.width, size.height, size.depth)
        }
        Kind::Operation(Operation::Fill(fill)) => {
            let size = fill.extent;
            format!("\\n{:#x} {:?}\\n{} x {} bytes", fill.to.address, fill.pattern, size.width, size.height)
        }
        Kind::EventWait(event) | Kind::EventRecord(event) => format!("\\nevent {event:?}"),
        Kind::Allocate(reservation) => {
            format!("\\n{} bytes at {:#x}", reservation.bytes, reservation.address)
        }
        Kind::Free(address) => format!("\\n{address:#x}"),
        Kind::Conditional(conditional) => {
            format!("\\n{:?}, condition {:#x}", conditional.form, conditional.condition.handle())
        }
        Kind::Operation(_) | Kind::Child(_) | Kind::Empty => String::new(),
    }
}
