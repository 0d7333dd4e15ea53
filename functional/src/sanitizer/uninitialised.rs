//! Reads of uninitialised memory and registers.
//!
//! A load is reported if no byte that a lane reads was ever written. A vector load over padding or past the
//! data therefore passes. Stores, atomics, copies and fills initialise bytes; a copy within device memory
//! copies the state of its source. Memory that the host can reach, module variables, arrays, and
//! device-side `malloc` blocks count as initialised.
//!
//! A store of unknown extent (matrix stores, bulk copies) initialises its whole allocation or the CTA's
//! shared memory. A copy by a tensor map ends the tracking. Untracked: reads of matrices, bulk copies,
//! textures, and shared memory of clusters with several CTAs.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use ptx_frontend::analyse::{self, BlockId, Liveness};
use ptx_frontend::ir::{Instruction, InstructionIndex, RegisterId};
use ptx_frontend::isa::Modifier;

use super::access::{AccessKind, LaneAccess, accesses};
use super::report::{Finding, Key, Party, Severity};
use super::written::{Bits, SparseBits};
use super::{Check, Checker, memory, threads};
use crate::engine::address_translation::lanes_of;
use crate::engine::grid::Grid;
use crate::engine::lane::WARP;
use crate::engine::op::Flow;
use crate::engine::probe::{Probe, Region, Site, Watch};
use crate::engine::program::{BoundFunction, spot_in};
use crate::engine::warp_context::WarpContext;
use crate::memory::{Allocation, AllocationKind};

/// Initialised bytes of global memory.
#[derive(Debug, Default)]
pub(super) struct Global(Mutex<Written>);

#[derive(Debug, Default)]
struct Written {
    bits: SparseBits,
    /// Tracked allocations: start and end.
    followed: BTreeMap<u64, u64>,
}

impl Written {
    fn follows(&self, address: u64) -> bool {
        self.followed.range(..=address).next_back().is_some_and(|(_, end)| address < *end)
    }
}

impl Global {
    pub(super) fn allocated(&self, allocation: Allocation) {
        if allocation.kind == AllocationKind::Device {
            let mut written = self.0.lock();
            written.bits.reset(allocation.address, allocation.end());
            written.followed.insert(allocation.address, allocation.end());
        }
    }

    pub(super) fn freed(&self, address: u64) {
        let mut written = self.0.lock();
        if let Some(end) = written.followed.remove(&address) {
            written.bits.reset(address, end);
        }
    }

    pub(super) fn written(&self, address: u64, bytes: u64) {
        let mut written = self.0.lock();
        if written.follows(address) {
            written.bits.set(address, address.saturating_add(bytes));
        }
    }

    /// Copies the state of bytes between tracked or untracked memory.
    pub(super) fn copied(&self, to: u64, from: u64, bytes: u64) {
        let mut written = self.0.lock();
        if !written.follows(to) {
            return;
        }
        match written.follows(from) {
            true => written.bits.copy(to, from, bytes),
            false => written.bits.set(to, to.saturating_add(bytes)),
        }
    }
}

/// Initialised bytes of a CTA's memory.
#[derive(Debug)]
pub(super) struct CtaState {
    shared: Bits,
    /// Local memory of each warp, lane after lane; created at first access.
    local: Vec<Bits>,
    /// Bytes of local memory per thread, including the kernel's variables.
    local_bytes: u64,
    kernel_bytes: u64,
}

impl CtaState {
    pub(super) fn new(grid: &Grid<'_>) -> CtaState {
        CtaState {
            shared: Bits::new(grid.shared_bytes().into()),
            local: vec![Bits::default(); grid.shape.warps_per_cta() as usize],
            local_bytes: grid.local_bytes().into(),
            kernel_bytes: grid.program.kernel().local_bytes.into(),
        }
    }

    pub(super) fn restart(&mut self) {
        self.shared.clear();
        let (pitch, bytes) = (self.local_bytes, self.kernel_bytes);
        for bits in &mut self.local {
            (0..WARP as u64).for_each(|lane| bits.reset(lane * pitch, lane * pitch + bytes));
        }
    }

    fn local(&mut self, warp: u32) -> &mut Bits {
        let bits = &mut self.local[warp as usize];
        if bits.is_empty() {
            *bits = Bits::new(self.local_bytes * WARP as u64);
        }
        bits
    }

    /// Records a write to a lane's local memory.
    pub(super) fn local_written(&mut self, warp: u32, lane: usize, start: u64, bytes: u64) {
        let start = lane as u64 * self.local_bytes + start;
        self.local(warp).set(start, start + bytes);
    }
}

/// Probes for an instruction.
pub(super) fn watch(i: &Instruction) -> Vec<Watch> {
    // The old value that an exchange returns is often unused.
    let kind = |access: &LaneAccess| if i.has(Modifier::Exch) { AccessKind::Write } else { access.kind };
    let watch = |access: LaneAccess| Watch {
        address: Some(access.operand),
        space: access.space,
        ..Watch::of(Arc::new(Accessed(LaneAccess { kind: kind(&access), ..access })))
    };
    accesses(i).into_iter().map(watch).collect()
}

/// Load, store, or atomic.
#[derive(Debug)]
struct Accessed(LaneAccess);

impl Probe for Accessed {
    fn reached(&self, w: &mut WarpContext<'_>, site: &Site) -> Flow {
        let grid = w.grid;
        let (Some(checker), Some(mut checks)) = (grid.owner.checker(), w.cta.checks.take()) else {
            return Flow::Next;
        };
        if let Some(state) = &mut checks.written {
            self.follow(w, site, checker, state);
        }
        w.cta.checks = Some(checks);
        Flow::Next
    }
}

impl Accessed {
    fn follow(&self, w: &WarpContext<'_>, site: &Site, checker: &Checker, state: &mut CtaState) {
        let addresses = site.addresses(w);
        let bytes = u64::from(self.0.bytes);
        let mut unread: Option<(usize, Region, u64)> = None;
        let mut global = checker.global.0.lock();
        if self.0.kind == AccessKind::Anywhere {
            global.followed.clear();
            state.shared.set(0, w.shared_bytes.into());
            return;
        }
        if self.regular(w, site, &addresses, &mut global, state) {
            return;
        }
        for lane in lanes_of(w.mask) {
            let (region, address) = site.locate(w, addresses[lane]);
            let (start, end) = (address, address.saturating_add(bytes));
            if self.0.kind == AccessKind::Clobber {
                clobber(w, state, &mut global, region, start, bytes);
                continue;
            }
            let reads = self.0.kind != AccessKind::Write;
            let at = lane as u64 * state.local_bytes;
            let written = match region {
                Region::Global => global.bits.any(start, end),
                Region::Shared => state.shared.any(start, end) || end > u64::from(w.shared_bytes),
                Region::Local => state.local(w.warp).any(at + start, at + end) || end > state.local_bytes,
                Region::Unfollowed => true,
            };
            if reads && !written && (region != Region::Global || global.follows(start)) {
                unread.get_or_insert((lane, region, address));
            }
            if self.0.kind == AccessKind::Read && written {
                continue;
            }
            // A reported location is marked as written, so that later reads of it pass.
            match region {
                Region::Global => global.bits.set(start, end),
                Region::Shared => state.shared.set(start, end),
                Region::Local => state.local_written(w.warp, lane, start, bytes),
                Region::Unfollowed => {}
            }
        }
        drop(global);
        if let Some((lane, region, address)) = unread {
            self.report(w, site, checker, lane, region, address);
        }
    }

    /// Fast path for adjacent or equal addresses of all lanes: one test if nothing needs a report.
    fn regular(
        &self,
        w: &WarpContext<'_>,
        site: &Site,
        addresses: &[u64; WARP],
        global: &mut Written,
        state: &mut CtaState,
    ) -> bool {
        if w.mask != u32::MAX || self.0.kind == AccessKind::Clobber {
            return false;
        }
        let bytes = u64::from(self.0.bytes);
        let ((region, start), last) = (site.locate(w, addresses[0]), addresses[WARP - 1]);
        let span = last.wrapping_sub(addresses[0]);
        let step = match span {
            0 => 0,
            span if span == 31 * bytes => bytes,
            _ => return false,
        };
        let lies = |(lane, address): (usize, &u64)| *address == addresses[0].wrapping_add(step * lane as u64);
        if !addresses.iter().enumerate().all(lies) {
            return false;
        }
        let Some(end) = start.checked_add(span + bytes) else { return false };
        match (region, self.0.kind) {
            (Region::Global, AccessKind::Write) => global.bits.set(start, end),
            (Region::Global, _) => return global.bits.all(start, end),
            (Region::Shared, AccessKind::Write) => state.shared.set(start, end),
            (Region::Shared, _) => return state.shared.all(start, end),
            (Region::Local | Region::Unfollowed, _) => return false,
        }
        true
    }

    fn report(
        &self,
        w: &WarpContext<'_>,
        site: &Site,
        checker: &Checker,
        lane: usize,
        region: Region,
        address: u64,
    ) {
        let grid = w.grid;
        let key = Key { kind: "uninitialised", program: grid.program.number, sites: [site.number, 0] };
        checker.findings.add(grid, key, || {
            let (name, place) = memory::place(checker, grid, region, address);
            let verb = if self.0.kind == AccessKind::Atomic { "atomic access to" } else { "read of" };
            Finding {
                check: Check::Uninitialised,
                severity: Severity::Error,
                title: format!("{verb} {} bytes of uninitialised {name} memory", self.0.bytes),
                kernel: Some(grid.program.kernel().name.clone()),
                launch: None,
                parties: vec![Party {
                    role: "read".to_owned(),
                    threads: threads::thread(grid, w.warp, lane as u32),
                    cta: w.cta.id,
                    spot: grid.program.spot_of(site),
                }],
                details: vec![place],
                host: Vec::new(),
            }
        });
    }
}

/// Records a write of unknown extent if `bytes` is 0.
fn clobber(
    w: &WarpContext<'_>,
    state: &mut CtaState,
    global: &mut Written,
    region: Region,
    start: u64,
    bytes: u64,
) {
    match (region, bytes) {
        (Region::Global, 0) => {
            if let Some(allocation) = w.grid.owner.memory.allocation_of(start) {
                global.bits.set(allocation.address, allocation.end());
            }
        }
        (Region::Shared, 0) => state.shared.set(0, w.shared_bytes.into()),
        (Region::Global, _) => global.bits.set(start, start.saturating_add(bytes)),
        (Region::Shared, _) => state.shared.set(start, start.saturating_add(bytes)),
        (Region::Local | Region::Unfollowed, _) => {}
    }
}

/// Reports registers that a path through the function reads and no instruction writes.
pub(super) fn registers(checker: &Checker, function: &BoundFunction, liveness: &Liveness) {
    let source = &function.source;
    let is_written = |register: RegisterId| {
        let by_code = source.instructions.iter().any(|i| analyse::writes(i).contains(&register));
        by_code || source.parameters.iter().any(|parameter| parameter.register == Some(register))
    };
    for register in liveness.live_in(BlockId(0)).filter(|register| !is_written(*register)) {
        let reads = |i: &Instruction| analyse::reads(i).contains(&register);
        let Some(first) = source.instructions.iter().position(reads) else { continue };
        let name = source.register_names.get(register.0 as usize).map_or("", String::as_str);
        // The binder names its own registers with spaces, which PTX cannot contain.
        if name.contains(' ') {
            continue;
        }
        let key =
            Key { kind: "register", program: name_number(&source.name), sites: [register.0, first as u32] };
        checker.findings.count(key, || Finding {
            check: Check::Uninitialised,
            severity: Severity::Warning,
            title: format!("register {name} is read and never written; it is 0 here"),
            kernel: Some(source.name.clone()),
            launch: None,
            parties: vec![Party {
                role: "executing".to_owned(),
                threads: "any thread".to_owned(),
                cta: [0; 3],
                spot: spot_in(function, InstructionIndex(first as u32)),
            }],
            details: Vec::new(),
            host: Vec::new(),
        });
    }
}

/// Numeric identity of a function's name.
fn name_number(name: &str) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    name.hash(&mut hasher);
    hasher.finish()
}
