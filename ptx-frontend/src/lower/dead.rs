//! Dead code elimination: removes machine instructions with unread results; other nodes carry their
//! effects.

use rustc_hash::FxHashSet;
use warp_stream::OperationClass;

use crate::analyse::ControlFlow;

use super::code::{Code, Node, NodeKind, Words};
use super::live::{Live, OfWords, RegisterClass as _, live_out};

/// Removes dead nodes, block by block from the end, so that their sources die too.
pub(super) fn drop_dead(code: &mut Code, flow: &ControlFlow) {
    let live_out = live_out::<OfWords>(code, flow);
    let mut live = Live::new(OfWords::count(code));
    let mut carries = FxHashSet::default();
    for (block, nodes) in code.blocks.iter_mut().enumerate() {
        live.reset(live_out.of_block(block));
        carries.clear();
        for node in nodes.iter_mut().rev() {
            // Carries pass within a block.
            let is_carry = |of: &u32| *of >= code.program_predicates && !carries.contains(of);
            if only_computes(node)
                && node.predicates_written.iter().all(is_carry)
                && !node.destination.iter().any(|word| live.has(word))
            {
                node.kind = NodeKind::Absorbed;
                node.destination = Words::NONE;
                node.predicates_read.clear();
                node.predicates_written.clear();
                if !node.deferred {
                    node.sources = [Words::NONE; 4];
                }
            }
            carries.extend(node.predicates_read.iter().copied());
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
    computes && node.kind == NodeKind::Machine && node.memory.is_none() && !node.destination.is_none()
}
