//! Dominators of basic blocks, as intervals of the dominator tree.

use crate::analyse::{Block, ControlFlow};

/// Marks unreachable blocks.
const NOWHERE: usize = usize::MAX;

/// Dominator tree of a function's blocks.
pub(super) struct Dominators {
    /// For each block, its number in the tree (parents first) and the last number below it; `None` if
    /// unreachable.
    intervals: Vec<Option<(u32, u32)>>,
}

impl Dominators {
    pub(super) fn of(flow: &ControlFlow) -> Dominators {
        let blocks = flow.blocks();
        let order = reverse_post_order(blocks);
        let parents = parents(blocks, &order);
        let mut children = vec![Vec::new(); blocks.len()];
        for &block in order.iter().skip(1) {
            children[parents[block]].push(block);
        }
        let mut intervals = vec![None; blocks.len()];
        let mut next = 0;
        let mut stack = Vec::new();
        if let Some(&entry) = order.first() {
            stack.push((entry, 0));
        }
        while let Some((block, child)) = stack.pop() {
            if child == 0 {
                intervals[block] = Some((next, next));
                next += 1;
            }
            match children[block].get(child) {
                Some(&below) => stack.extend([(block, child + 1), (below, 0)]),
                None => {
                    if let Some((_, last)) = &mut intervals[block] {
                        *last = next - 1;
                    }
                }
            }
        }
        Dominators { intervals }
    }

    /// True if `block` is on every path to `of`.
    pub(super) fn dominates(&self, block: u32, of: u32) -> bool {
        let interval = |block: u32| self.intervals.get(block as usize).copied().flatten();
        match (interval(block), interval(of)) {
            (_, None) => true,
            (None, _) => false,
            (Some((first, last)), Some((number, _))) => first <= number && number <= last,
        }
    }
}

/// Reachable blocks in reverse post-order.
fn reverse_post_order(blocks: &[Block]) -> Vec<usize> {
    let mut order = Vec::with_capacity(blocks.len());
    let mut seen = vec![false; blocks.len()];
    let mut stack = Vec::new();
    if let Some(seen) = seen.first_mut() {
        *seen = true;
        stack.push((0, 0));
    }
    while let Some((block, n)) = stack.pop() {
        match blocks[block].successors.get(n) {
            Some(next) => {
                stack.push((block, n + 1));
                let next = next.0 as usize;
                if !std::mem::replace(&mut seen[next], true) {
                    stack.push((next, 0));
                }
            }
            None => order.push(block),
        }
    }
    order.reverse();
    order
}

/// Immediate dominators by the algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance
/// Algorithm").
fn parents(blocks: &[Block], order: &[usize]) -> Vec<usize> {
    let mut rank = vec![NOWHERE; blocks.len()];
    for (position, block) in order.iter().enumerate() {
        rank[*block] = position;
    }
    let mut parents = vec![NOWHERE; blocks.len()];
    if let Some(&entry) = order.first() {
        parents[entry] = entry;
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().skip(1) {
            let known = blocks[block].predecessors.iter().map(|before| before.0 as usize);
            let known = known.filter(|before| parents[*before] != NOWHERE);
            let meet = known.reduce(|a, b| common(&parents, &rank, a, b)).unwrap_or(NOWHERE);
            changed |= std::mem::replace(&mut parents[block], meet) != meet;
        }
    }
    parents
}

/// Nearest common dominator of `a` and `b`.
fn common(parents: &[usize], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while rank[a] > rank[b] {
            a = parents[a];
        }
        while rank[b] > rank[a] {
            b = parents[b];
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Module;

    /// Dominance by definition: without `block`, no path leads to `of`.
    fn by_definition(flow: &ControlFlow, block: usize, of: usize) -> bool {
        let blocks = flow.blocks();
        let reached = |without: Option<usize>| {
            let mut seen = vec![false; blocks.len()];
            let mut work = if without == Some(0) { vec![] } else { vec![0] };
            while let Some(block) = work.pop() {
                if !std::mem::replace(&mut seen[block], true) {
                    let next = blocks[block].successors.iter().map(|next| next.0 as usize);
                    work.extend(next.filter(|next| Some(*next) != without));
                }
            }
            seen
        };
        !reached(None)[of] || block == of || reached(None)[block] && !reached(Some(block))[of]
    }

    #[test]
    fn intervals_match_the_definition_of_dominance() {
        let bodies = [
            "@%p1 bra B; mov.u32 %r1, 1; bra C; B: mov.u32 %r1, 2; C: ret;",
            "A: @%p1 bra C; B: @%p2 bra A; @%p1 bra B; bra A; C: @%p2 bra B; ret;",
            "ret; A: mov.u32 %r1, 1; bra A;",
            "bra B; A: mov.u32 %r1, 1; B: @%p1 bra A; @%p2 bra D; C: @%p1 bra C; D: @%p2 bra B; ret; E: bra D;",
        ];
        for body in bodies {
            let text = format!(
                ".version 7.0\n.target sm_70\n.entry k() {{ .reg .pred %p<9>; .reg .b32 %r<9>;\n{body}\n}}"
            );
            let function = Module::parse(text, "test").unwrap().function("k").unwrap();
            let flow = ControlFlow::of(&function);
            let dominators = Dominators::of(&flow);
            let count = flow.blocks().len();
            for (block, of) in (0..count).flat_map(|block| (0..count).map(move |of| (block, of))) {
                let found = dominators.dominates(block as u32, of as u32);
                assert_eq!(found, by_definition(&flow, block, of), "{body}: {block} of {of}");
            }
        }
    }
}
