//! Coverage: the instruction forms that kernels have executed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use ptx_frontend::disassemble;
use ptx_frontend::ir::{Function, Instruction};

use crate::engine::op::Flow;
use crate::engine::probe::{Probe, Site, Watch, Watcher};
use crate::engine::warp_context::WarpContext;

/// A line of the op table with its modifiers and types filled in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Form {
    /// Name of the line: `integer.add`.
    pub line: String,
    /// Full opcode: `add.s32`.
    pub opcode: String,
}

/// Counts executing warps per form.
#[derive(Debug, Default)]
pub struct Coverage {
    forms: Mutex<BTreeMap<Form, Arc<Executed>>>,
}

#[derive(Debug, Default)]
struct Executed(AtomicU64);

impl Coverage {
    /// Executed forms with the number of warps.
    pub fn executed(&self) -> Vec<(Form, u64)> {
        let forms = self.forms.lock();
        let counted = forms.iter().map(|(form, count)| (form.clone(), count.0.load(Ordering::Relaxed)));
        counted.filter(|(_, count)| *count > 0).collect()
    }
}

impl Watcher for Coverage {
    fn watch(&self, _: &Function, instruction: &Instruction) -> Vec<Watch> {
        let line = instruction.op.line();
        let form =
            Form { line: format!("{}.{}", line.group, line.name), opcode: disassemble::opcode(instruction) };
        vec![Watch::of(Arc::<Executed>::clone(self.forms.lock().entry(form).or_default()))]
    }
}

impl Probe for Executed {
    fn reached(&self, _: &mut WarpContext<'_>, _: &Site) -> Flow {
        self.0.fetch_add(1, Ordering::Relaxed);
        Flow::Next
    }
}
