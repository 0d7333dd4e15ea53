//! Dead code elimination: removes machine instructions with unread results; other nodes carry their
//! effects.

use warp_stream::OperationClass;

use crate::analyse::ControlFlow;

use super::code::{Code, Node, NodeKind, Words};
use super::live::{Live, OfWords, RegisterClass as _, live_out};

/// Removes dead nodes, block by block from the end, so that their sources die too.
pub(super) fn drop_dead(code: &mut Code, flow: &ControlFlow) {
    let live_out = live_out::<OfWords>(code, flow);
    let mut live = Live::new(OfWords::count(code));
    for (block, nodes) in code.blocks.iter_mut().enumerate() {
        live.reset(live_out.of_block(block));
        for node in nodes.iter_mut().rev() {
            if only_computes(node) && !node.destination.iter().any(|word| live.has(word)) {
                node.kind = NodeKind::Absorbed;
                node.destination = Words::NONE;
                node.predicates_read.clear();
                if !node.deferred {
                    node.sources = [Words::NONE; 4];
                }
            }
            if !node.guarded {
                OfWords::writes(node, |word| live.clear(word));
            }
            OfWords::reads(node, |word| live.set(word));
        }
    }
}

fn only_computes(node: &Node) -> bool {
    use OperationClass as C;
    let computes = matches!(
        node.class,
        C::Integer
            | C::Move
            | C::IntegerMultiply
            | C::IntegerExtremum
            | C::DotProduct
            | C::PopulationCount
            | C::BitSearch
            | C::Fp32
            | C::Fp32Compare
            | C::Half
            | C::Fp64
            | C::SpecialFunction
            | C::Conversion
            | C::WideConversion
    );
    computes
        && node.kind == NodeKind::Machine
        && node.memory.is_none()
        && node.predicates_written.is_empty()
        && !node.destination.is_none()
}
