//! Basic blocks, their edges, and immediate post-dominators, at which diverged lanes reconverge.

use std::collections::BTreeSet;

use crate::ir::{Function, Instruction, InstructionIndex, Operand};
use crate::isa::Effect;

/// Index into [`ControlFlow::blocks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// Instructions that execute in sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// First instruction.
    pub start: InstructionIndex,
    /// One past the last instruction.
    pub end: InstructionIndex,
    /// Possible next blocks, ascending.
    pub successors: Vec<BlockId>,
    /// Possible previous blocks, ascending.
    pub predecessors: Vec<BlockId>,
    /// True if the last instruction may end the function or thread.
    pub exits: bool,
}

/// Control-flow graph of a function. Calls are straight-line code: they return or end the thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlFlow {
    blocks: Vec<Block>,
    /// Immediate post-dominator of each block; `None` for the function's end.
    post_dominators: Vec<Option<BlockId>>,
}

/// Labels of a branch.
fn targets(instruction: &Instruction) -> impl Iterator<Item = InstructionIndex> + '_ {
    instruction.operands.iter().flat_map(|operand| match operand {
        Operand::Label(target) => std::slice::from_ref(target).iter().copied(),
        Operand::BranchTargets(targets) => targets.iter().copied(),
        _ => [].iter().copied(),
    })
}

impl ControlFlow {
    /// Analyses a function.
    pub fn of(function: &Function) -> ControlFlow {
        let mut blocks = split(&function.instructions);
        connect(&mut blocks, &function.instructions);
        let post_dominators = post_dominators(&blocks);
        ControlFlow { blocks, post_dominators }
    }

    /// Blocks in code order. Every instruction is in exactly one block.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Block number `id`.
    pub fn block(&self, id: BlockId) -> Option<&Block> {
        self.blocks.get(id.0 as usize)
    }

    /// Block that contains an instruction.
    pub fn block_of(&self, instruction: InstructionIndex) -> Option<BlockId> {
        let behind = self.blocks.partition_point(|block| block.start <= instruction);
        let found = behind.checked_sub(1)?;
        let block = self.blocks.get(found)?;
        (instruction < block.end).then(|| id(found))
    }

    /// First other block on every path from this block to the function's end; `None` if there is only the
    /// end. An endless loop counts as continuing to the end from its last block.
    pub fn immediate_post_dominator(&self, block: BlockId) -> Option<BlockId> {
        self.post_dominators.get(block.0 as usize).copied().flatten()
    }

    /// Reconvergence point of lanes that diverge at this branch; `None` for the function's end.
    pub fn reconvergence_point(&self, branch: InstructionIndex) -> Option<InstructionIndex> {
        let block = self.immediate_post_dominator(self.block_of(branch)?)?;
        self.block(block).map(|block| block.start)
    }
}

fn id(position: usize) -> BlockId {
    BlockId(u32::try_from(position).unwrap_or(u32::MAX))
}

fn index(position: usize) -> InstructionIndex {
    InstructionIndex(u32::try_from(position).unwrap_or(u32::MAX))
}

/// Splits the code before branch targets and after branches and exits.
fn split(instructions: &[Instruction]) -> Vec<Block> {
    let mut starts = BTreeSet::from([index(0)]);
    for (position, instruction) in instructions.iter().enumerate() {
        if instruction.op.leaves() {
            starts.insert(index(position + 1));
            starts.extend(targets(instruction));
        }
    }
    let end = index(instructions.len());
    let starts: Vec<InstructionIndex> = starts.into_iter().filter(|start| *start < end).collect();
    let ends = starts.iter().skip(1).copied().chain([end]);
    let block =
        |(start, end)| Block { start, end, successors: Vec::new(), predecessors: Vec::new(), exits: false };
    starts.iter().copied().zip(ends).map(block).collect()
}

fn connect(blocks: &mut [Block], instructions: &[Instruction]) {
    let starting_at = |blocks: &[Block], start: InstructionIndex| {
        blocks.binary_search_by_key(&start, |block| block.start).ok().map(id)
    };
    for position in 0..blocks.len() {
        let end = blocks[position].end;
        let last = (end.0 as usize).checked_sub(1).and_then(|last| instructions.get(last));
        let Some(last) = last else { continue };
        let mut successors = BTreeSet::new();
        let mut exits = last.op.line().effect == Effect::Exit;
        if last.op.leaves() {
            successors.extend(targets(last).map(|target| starting_at(blocks, target)));
        }
        if last.falls_through() {
            successors.insert(starting_at(blocks, end));
        }
        // A path past the last instruction ends the function.
        exits |= successors.remove(&None);
        blocks[position].exits = exits;
        for successor in successors.into_iter().flatten() {
            blocks[position].successors.push(successor);
            if let Some(block) = blocks.get_mut(successor.0 as usize) {
                block.predecessors.push(id(position));
            }
        }
    }
}

/// Immediate post-dominators by the algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance
/// Algorithm"), on the reversed graph with a virtual exit block.
fn post_dominators(blocks: &[Block]) -> Vec<Option<BlockId>> {
    let virtual_exit = blocks.len();
    let exits = with_exits_for_endless_loops(blocks);
    let order = reverse_post_order(blocks, &exits);
    // Position in the order; the virtual exit is first.
    let mut rank = vec![usize::MAX; blocks.len() + 1];
    for (position, block) in order.iter().enumerate() {
        rank[*block] = position;
    }
    let mut dominator = vec![usize::MAX; blocks.len() + 1];
    dominator[virtual_exit] = virtual_exit;
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().skip(1) {
            let mut meet = if exits[block] { virtual_exit } else { usize::MAX };
            for successor in &blocks[block].successors {
                let successor = successor.0 as usize;
                if dominator[successor] != usize::MAX {
                    meet = if meet == usize::MAX {
                        successor
                    } else {
                        common(&dominator, &rank, meet, successor)
                    };
                }
            }
            if dominator[block] != meet {
                dominator[block] = meet;
                changed = true;
            }
        }
    }
    dominator.iter().take(blocks.len()).map(|&block| (block < virtual_exit).then(|| id(block))).collect()
}

/// Nearest common post-dominator of `a` and `b`.
fn common(dominator: &[usize], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while rank[a] > rank[b] {
            a = dominator[a];
        }
        while rank[b] > rank[a] {
            b = dominator[b];
        }
    }
    a
}

/// Blocks with an edge to the virtual exit: exiting blocks, and the last block of each endless loop.
fn with_exits_for_endless_loops(blocks: &[Block]) -> Vec<bool> {
    let mut exits: Vec<bool> = blocks.iter().map(|block| block.exits).collect();
    let mut reaches = vec![false; blocks.len()];
    let mut work: Vec<usize> = (0..blocks.len()).filter(|&block| exits[block]).collect();
    let mut candidates = (0..blocks.len()).rev();
    loop {
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut reaches[block], true) {
                work.extend(blocks[block].predecessors.iter().map(|block| block.0 as usize));
            }
        }
        let Some(stuck) = candidates.find(|&block| !reaches[block]) else { return exits };
        exits[stuck] = true;
        work.push(stuck);
    }
}

/// Reverse post-order of the reversed graph from the virtual exit, with every block.
fn reverse_post_order(blocks: &[Block], exits: &[bool]) -> Vec<usize> {
    let virtual_exit = blocks.len();
    let roots: Vec<usize> = (0..blocks.len()).filter(|&block| exits[block]).collect();
    let next = |block: usize, n: usize| {
        if block == virtual_exit {
            roots.get(n).copied()
        } else {
            blocks[block].predecessors.get(n).map(|block| block.0 as usize)
        }
    };
    let mut order = Vec::with_capacity(blocks.len() + 1);
    let mut seen = vec![false; blocks.len() + 1];
    seen[virtual_exit] = true;
    let mut stack = vec![(virtual_exit, 0)];
    while let Some((block, n)) = stack.pop() {
        match next(block, n) {
            Some(inner) => {
                stack.push((block, n + 1));
                if !std::mem::replace(&mut seen[inner], true) {
                    stack.push((inner, 0));
                }
            }
            None => order.push(block),
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Module;

    fn flow(body: &str) -> (Function, ControlFlow) {
        let text = format!(
            ".version 7.0\n.target sm_70\n.entry k() {{ .reg .pred %p<9>; .reg .b32 %r<9>;\n{body}\n}}"
        );
        let module = Module::parse(text, "test").unwrap();
        let function = (*module.function("k").unwrap()).clone();
        let flow = ControlFlow::of(&function);
        (function, flow)
    }

    fn edges(flow: &ControlFlow) -> Vec<Vec<u32>> {
        flow.blocks().iter().map(|block| block.successors.iter().map(|block| block.0).collect()).collect()
    }

    fn meets(flow: &ControlFlow) -> Vec<Option<u32>> {
        let blocks = 0..flow.blocks().len();
        blocks.map(|block| flow.immediate_post_dominator(id(block)).map(|block| block.0)).collect()
    }

    #[test]
    fn diamonds_reconverge_at_their_end() {
        let (_, flow) = flow(
            "@%p1 bra ELSE; mov.u32 %r1, 1; bra END;
             ELSE: mov.u32 %r1, 2;
             END: mov.u32 %r2, %r1; ret;",
        );
        assert_eq!(edges(&flow), [vec![1, 2], vec![3], vec![3], vec![]]);
        assert_eq!(meets(&flow), [Some(3), Some(3), Some(3), None]);
        assert_eq!(flow.reconvergence_point(InstructionIndex(0)), Some(InstructionIndex(4)));
    }

    #[test]
    fn lanes_leaving_a_loop_reconverge_after_it() {
        let (_, flow) = flow("TOP: add.u32 %r1, %r1, 1; @%p1 bra TOP; ret;");
        assert_eq!(edges(&flow), [vec![0, 1], vec![]]);
        assert_eq!(flow.reconvergence_point(InstructionIndex(1)), Some(InstructionIndex(2)));
    }

    #[test]
    fn guarded_exits_reconverge_only_at_the_end() {
        let (_, flow) = flow("@%p1 ret; mov.u32 %r1, 1; ret;");
        assert_eq!(edges(&flow), [vec![1], vec![]]);
        assert!(flow.blocks()[0].exits);
        assert_eq!(meets(&flow), [None, None]);
    }

    #[test]
    fn branches_to_an_early_exit_reconverge_at_the_end() {
        let (_, flow) = flow("@%p1 bra OUT; mov.u32 %r1, 1; bra DONE; OUT: trap; DONE: ret;");
        assert_eq!(flow.reconvergence_point(InstructionIndex(0)), None);
    }

    #[test]
    fn branches_in_endless_loops_reconverge_inside() {
        let (_, flow) = flow("TOP: @%p1 bra SKIP; mov.u32 %r1, 1; SKIP: mov.u32 %r2, 2; bra TOP;");
        assert_eq!(flow.reconvergence_point(InstructionIndex(0)), Some(InstructionIndex(2)));
        assert_eq!(meets(&flow)[2], None);
    }

    #[test]
    fn indexed_branches_reach_all_their_targets() {
        let (_, flow) = flow(
            "T: .branchtargets A, B, A;
             brx.idx %r1, T;
             A: mov.u32 %r2, 1; bra C;
             B: mov.u32 %r2, 2;
             C: ret;",
        );
        assert_eq!(edges(&flow), [vec![1, 2], vec![3], vec![3], vec![]]);
        assert_eq!(flow.reconvergence_point(InstructionIndex(0)), Some(InstructionIndex(4)));
    }

    #[test]
    fn blocks_partition_the_instructions() {
        let (function, flow) = flow("@%p1 bra B; A: ret; B: @%p2 bra A; bra B;");
        for position in 0..function.instructions.len() {
            let block = flow.block(flow.block_of(index(position)).unwrap()).unwrap();
            assert!(block.start <= index(position) && index(position) < block.end);
        }
        assert_eq!(flow.block_of(index(function.instructions.len())), None);
    }
}
