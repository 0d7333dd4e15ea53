//! Explanation of illegal addresses by the history of allocations and the variables of shared and local
//! memory.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use ptx_frontend::ir::Instruction;
use warp_stream::kernel_name::variable;

use super::report::{Finding, Party, Severity};
use super::{CallSite, Check, Checker, threads};
use crate::engine::grid::Grid;
use crate::engine::probe::Region;
use crate::engine::program::PlacedVariable;
use crate::fault::{Fault, FaultKind};
use crate::memory::{Allocation, AllocationKind, WINDOW_SIZE};
use crate::ops::address_operand::{AccessSpace, named_space, names_cluster};

/// Number of freed allocations kept.
const REMEMBERED: usize = 4096;

/// Addresses below this bound count as a null pointer plus an offset.
const NEAR_NULL: u64 = 1 << 16;

/// Maximum distance in bytes at which an allocation is called near.
const FAR: u64 = 1 << 32;

/// Creator or destroyer of an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// API call.
    Call {
        /// Name of the function.
        name: String,
        /// Number of the call in the process, from 1.
        number: u64,
    },
    /// Module variable with this name.
    Variable(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Call { name, number } => write!(f, "{name} (API call {number})"),
            Origin::Variable(name) => write!(f, "the variable {}", variable(name)),
        }
    }
}

/// An allocation with its history.
#[derive(Debug, Clone)]
pub(super) struct Past {
    allocation: Allocation,
    made_by: Option<Origin>,
    freed_by: Option<Origin>,
    call: Option<Arc<dyn CallSite>>,
}

impl Past {
    /// Bytes of the allocation.
    pub(super) fn size(&self) -> u64 {
        self.allocation.size
    }

    /// The host's stack at the allocating call; empty if unknown.
    pub(super) fn frames(&self) -> Vec<String> {
        self.call.as_ref().map(|call| call.frames()).unwrap_or_default()
    }
}

impl fmt::Display for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Allocation { address, size, serial, .. } = self.allocation;
        write!(f, "allocation {serial} of {size} bytes at {address:#x}")?;
        match (&self.made_by, self.allocation.kind) {
            (Some(Origin::Variable(name)), _) => write!(f, ", the module's variable {}", variable(name))?,
            (Some(origin), _) => write!(f, ", made by {origin}")?,
            (None, AllocationKind::Heap) => write!(f, ", made by malloc in a kernel")?,
            (None, _) => {}
        }
        match &self.freed_by {
            Some(origin) => write!(f, " and freed by {origin}"),
            None => Ok(()),
        }
    }
}

/// Live allocations and the most recently freed ones.
#[derive(Debug, Default)]
pub(super) struct History(Mutex<Events>);

#[derive(Debug, Default)]
struct Events {
    /// Live allocations by address.
    live: BTreeMap<u64, Past>,
    freed: VecDeque<Past>,
}

impl History {
    pub(super) fn allocated(&self, allocation: Allocation, by: Origin, call: Option<Arc<dyn CallSite>>) {
        let past = Past { allocation, made_by: Some(by), freed_by: None, call };
        self.0.lock().live.insert(allocation.address, past);
    }

    pub(super) fn freed(&self, address: u64, by: Origin) {
        let mut events = self.0.lock();
        let Some(past) = events.live.remove(&address) else { return };
        if events.freed.len() == REMEMBERED {
            events.freed.pop_front();
        }
        events.freed.push_back(Past { freed_by: Some(by), ..past });
    }

    fn live(&self, allocation: Allocation) -> Past {
        let events = self.0.lock();
        let known = events.live.get(&allocation.address);
        let known = known.filter(|known| known.allocation.serial == allocation.serial).cloned();
        known.unwrap_or(Past { allocation, made_by: None, freed_by: None, call: None })
    }

    /// Live allocations that API calls made and `wanted` names, by address.
    pub(super) fn live_of_calls(&self, wanted: impl Fn(&Allocation) -> bool) -> Vec<Past> {
        let is_of_call = |past: &&Past| matches!(past.made_by, Some(Origin::Call { .. }));
        let events = self.0.lock();
        events.live.values().filter(is_of_call).filter(|past| wanted(&past.allocation)).cloned().collect()
    }

    /// Most recently freed allocation that contained the address.
    fn freed_at(&self, address: u64) -> Option<Past> {
        let held = |past: &&Past| (past.allocation.address..past.allocation.end()).contains(&address);
        self.0.lock().freed.iter().rev().find(held).cloned()
    }
}

/// Finding for a fault caused by an address; `None` for other faults.
pub(super) fn explain(history: &History, grid: &Grid<'_>, fault: &Fault) -> Option<Finding> {
    let (address, width, misaligned) = match fault.kind {
        FaultKind::IllegalAddress { address, width, .. } => (address, width, false),
        FaultKind::MisalignedAddress { address, width, .. } => (address, width, true),
        _ => return None,
    };
    let function = grid.program.functions.iter().find(|function| function.name == fault.spot.function);
    let function = function.unwrap_or(grid.program.kernel());
    let instruction = function.source.instructions.iter().find(|i| i.place == fault.spot.place);
    let (region, offset) = region(grid, instruction, address);
    let (trouble, mut details) = match region {
        Region::Global => global(history, grid, address, width),
        Region::Shared | Region::Unfollowed => {
            let variables = &grid.program.shared_variables;
            let limit = grid.shared_bytes();
            let note = format!("the CTA has {limit} bytes of shared memory");
            in_window("shared", offset, limit.into(), &note, variables)
        }
        Region::Local => {
            let note = format!("the thread has {} bytes of local memory", grid.local_bytes());
            let variables: &[PlacedVariable] =
                if function.source.is_kernel { &function.variables } else { &[] };
            in_window("local", offset, grid.local_bytes().into(), &note, variables)
        }
    };
    let verb = verb(instruction);
    let title = if misaligned {
        details.insert(0, format!("{address:#x} is no multiple of {width}"));
        format!("{verb} of {width} bytes at the misaligned address {address:#x}")
    } else {
        format!("{verb} of {width} bytes {trouble}")
    };
    let lane = fault.kind.lane().unwrap_or(0);
    Some(Finding {
        check: Check::Memory,
        severity: Severity::Error,
        title,
        kernel: Some(fault.kernel.clone()),
        launch: None,
        parties: vec![Party {
            role: verb.to_owned(),
            threads: match fault.thread {
                Some([x, y, z]) => format!("thread ({x},{y},{z})"),
                None => threads::thread(grid, 0, lane),
            },
            cta: fault.cta,
            spot: fault.spot.clone(),
        }],
        details,
        host: Vec::new(),
    })
}

/// Memory space and owner of an address, as text.
pub(super) fn place(
    checker: &Checker,
    grid: &Grid<'_>,
    region: Region,
    address: u64,
) -> (&'static str, String) {
    match region {
        Region::Global => {
            let allocation = grid.owner.memory.allocation_of(address);
            let place = match allocation.map(|allocation| checker.history.live(allocation)) {
                Some(past) => {
                    let offset = address - past.allocation.address;
                    format!("{address:#x} is byte {offset} of {past}")
                }
                None => format!("the address is {address:#x}"),
            };
            ("global", place)
        }
        Region::Shared => {
            let holds = |it: &&PlacedVariable| u64::from(it.offset) <= address;
            let held = grid.program.shared_variables.iter().rfind(holds);
            let part = held.map_or(String::new(), |it| {
                format!(", byte {} of variable {}", address - u64::from(it.offset), variable(&it.name))
            });
            ("shared", format!("offset {address:#x} of shared memory{part}"))
        }
        Region::Unfollowed => ("shared", format!("address {address:#x} of the cluster's shared memory")),
        Region::Local => ("local", format!("offset {address:#x} of local memory")),
    }
}

fn verb(instruction: Option<&Instruction>) -> &'static str {
    use ptx_frontend::isa::Effect;
    match instruction.map(|instruction| instruction.op.line().effect) {
        Some(Effect::Load) => "read",
        Some(Effect::Store) => "write",
        Some(Effect::Atomic) => "atomic access",
        _ => "access",
    }
}

/// Memory space of the address, and the offset in it.
fn region(grid: &Grid<'_>, instruction: Option<&Instruction>, address: u64) -> (Region, u64) {
    match instruction.filter(|instruction| !names_cluster(instruction)).and_then(named_space) {
        Some(AccessSpace::Shared) => return (Region::Shared, address),
        Some(AccessSpace::Local) => return (Region::Local, address),
        Some(AccessSpace::Global) => return (Region::Global, address),
        _ => {}
    }
    let memory = &grid.owner.memory;
    let (shared, local) = (memory.shared_window(), memory.local_window());
    // One window of the CTA's own and one per CTA of the cluster.
    let windows = 1 + u64::from(grid.ctas_per_cluster());
    if address.wrapping_sub(shared) < windows * WINDOW_SIZE {
        (Region::Shared, address - shared)
    } else if address.wrapping_sub(local) < WINDOW_SIZE {
        (Region::Local, address - local)
    } else {
        (Region::Global, address)
    }
}

fn global(history: &History, grid: &Grid<'_>, address: u64, width: u32) -> (String, Vec<String>) {
    let live = grid.owner.memory.allocations();
    let holding = live.iter().find(|it| (it.address..it.end()).contains(&address));
    if let Some(&allocation) = holding {
        let behind = (address + u64::from(width)).saturating_sub(allocation.end());
        let past = history.live(allocation);
        let offset = address - allocation.address;
        let details = vec![format!("{address:#x} is byte {offset} of {past}")];
        return (format!("of which {behind} are past the end of an allocation"), details);
    }
    if let Some(past) = history.freed_at(address) {
        let offset = address - past.allocation.address;
        return ("in freed memory".to_owned(), vec![format!("{address:#x} is byte {offset} of {past}")]);
    }
    if address < NEAR_NULL {
        return ("at a null pointer".to_owned(), vec![format!("the address is {address:#x}")]);
    }
    let distance = |it: &&Allocation| {
        if address >= it.end() { address - it.end() } else { it.address.saturating_sub(address) }
    };
    let visible = live.iter().filter(|it| it.kind != AllocationKind::Parameters);
    let Some(&nearest) = visible.min_by_key(distance) else {
        return (
            "without any allocation".to_owned(),
            vec![format!("the address is {address:#x}; no device memory is allocated")],
        );
    };
    let past = history.live(nearest);
    let bytes = distance(&&nearest);
    if bytes > FAR {
        let details = vec![format!("the address is {address:#x}; the nearest is {past}")];
        return ("far from all allocations".to_owned(), details);
    }
    let (title, side) = match address >= nearest.end() {
        true => ("past the end of", "past"),
        false => ("before the start of", "before"),
    };
    let title = match bytes {
        0 => format!("right {title} an allocation"),
        bytes => format!("{bytes} bytes {title} an allocation"),
    };
    (title, vec![format!("{address:#x} is {bytes} bytes {side} {past}, the nearest")])
}

/// Finding for an access to shared or local memory.
fn in_window(
    name: &str,
    offset: u64,
    limit: u64,
    note: &str,
    variables: &[PlacedVariable],
) -> (String, Vec<String>) {
    let distance = |it: &&PlacedVariable| {
        let (start, end) = (u64::from(it.offset), u64::from(it.offset) + u64::from(it.size));
        if offset >= end { offset - end } else { start.saturating_sub(offset) }
    };
    let mut details = vec![format!("offset {offset:#x} of {name} memory; {note}")];
    if let Some(nearest) = variables.iter().min_by_key(distance) {
        let PlacedVariable { name, size, offset: start, .. } = nearest;
        let name = variable(name);
        let side = if offset >= u64::from(*start) { "past" } else { "before" };
        let bytes = distance(&nearest);
        details.push(match size {
            0 => format!("the dynamic shared memory {name} begins at {start:#x}"),
            size => format!("{bytes} bytes {side} the {size} bytes of variable {name}, the nearest"),
        });
    }
    (format!("{} bytes past the end of {name} memory", offset.saturating_sub(limit)), details)
}
