use ptx_frontend::ir::*;
use ptx_frontend::isa::{Control, Op};
use std::collections::HashSet;
pub struct ControlFlow {
    meet: Vec<Option<InstructionIndex>>,
    points: HashSet<InstructionIndex>,
}
impl ControlFlow {
    pub fn of(f: &Function) -> ControlFlow {
        let n = f.instructions.len();
        let mut succ: Vec<Vec<usize>> = vec![vec![]; n + 1];
        for (i, ins) in f.instructions.iter().enumerate() {
            let guarded = ins.guard.is_some();
            match ins.op {
                Op::Control(Control::bra) => {
                    if let Operand::Label(t) = ins.operands[0] {
                        succ[i].push(t.0 as usize);
                    }
                    if guarded {
                        succ[i].push(i + 1);
                    }
                }
                Op::Control(Control::brx_idx) => {
                    if let Operand::BranchTargets(t) = &ins.operands[1] {
                        for t in t {
                            succ[i].push(t.0 as usize);
                        }
                    }
                    if guarded {
                        succ[i].push(i + 1);
                    }
                }
                Op::Control(Control::ret) | Op::Control(Control::exit) | Op::Control(Control::trap) => {
                    succ[i].push(n);
                    if guarded {
                        succ[i].push(i + 1);
                    }
                }
                _ => succ[i].push(i + 1),
            }
        }
        // post-dominator sets by iteration over immediate post-dominators (reverse order numbering)
        let mut ipdom: Vec<Option<usize>> = vec![None; n + 1];
        ipdom[n] = Some(n);
        // order: dfs postorder on reverse graph
        let mut pred: Vec<Vec<usize>> = vec![vec![]; n + 1];
        for i in 0..n {
            for &s in &succ[i] {
                pred[s].push(i);
            }
        }
        let mut order = vec![];
        let mut seen = vec![false; n + 1];
        let mut stack = vec![(n, 0)];
        seen[n] = true;
        while let Some((v, k)) = stack.pop() {
            if k < pred[v].len() {
                stack.push((v, k + 1));
                let u = pred[v][k];
                if !seen[u] {
                    seen[u] = true;
                    stack.push((u, 0));
                }
            } else {
                order.push(v);
            }
        }
        let mut num = vec![usize::MAX; n + 1];
        for (k, &v) in order.iter().enumerate() {
            num[v] = k;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &v in order.iter().rev() {
                if v == n {
                    continue;
                }
                let mut new: Option<usize> = None;
                for &s in &succ[v] {
                    if ipdom[s].is_none() {
                        continue;
                    }
                    new = Some(match new {
                        None => s,
                        Some(mut a) => {
                            let mut b = s;
                            while a != b {
                                while num[a] < num[b] {
                                    a = ipdom[a].unwrap();
                                }
                                while num[b] < num[a] {
                                    b = ipdom[b].unwrap();
                                }
                            }
                            a
                        }
                    });
                }
                if new.is_some() && ipdom[v] != new {
                    ipdom[v] = new;
                    changed = true;
                }
            }
        }
        let mut meet = vec![None; n];
        let mut points = HashSet::new();
        for i in 0..n {
            if succ[i].len() > 1 {
                if let Some(m) = ipdom[i] {
                    if m < n {
                        meet[i] = Some(InstructionIndex(m as u32));
                        points.insert(InstructionIndex(m as u32));
                    }
                }
            }
        }
        ControlFlow { meet, points }
    }
    pub fn reconvergence(&self, i: InstructionIndex) -> Option<InstructionIndex> {
        self.meet.get(i.0 as usize).copied().flatten()
    }
    pub fn reconvergence_points(&self) -> &HashSet<InstructionIndex> {
        &self.points
    }
    pub fn maximum_live_registers(&self) -> u32 {
        32
    }
}
