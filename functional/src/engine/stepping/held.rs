//! Plain accesses of an SM with a store buffer. A store goes to a record; a load that may hit a record
//! reads the SM's copy of the line. The op itself moves the bytes, with redirected addresses.

use super::{SteppedCluster, WARP, WarpStep};
use crate::engine::address_translation::{Generic, Global, Space, lanes_of, resolve_aligned};
use crate::engine::constants::Constants;
use crate::engine::grid::Grid;
use crate::engine::held::{Due, HeldStores};
use crate::engine::machine::{AccessKind, OpAccess};
use crate::engine::op::{Flow, Op};
use crate::engine::view::Range;
use crate::fault::{Fault, FaultKind};

/// Store buffer of an SM, and the row that redirects ops.
#[derive(Debug, Default)]
pub(crate) struct Holding {
    pub(crate) stores: HeldStores,
    /// Constants of the program, and the row.
    constants: Constants,
    row: u32,
}

impl Holding {
    /// Starts buffering stores.
    pub(crate) fn start(&mut self, grid: &Grid<'_>) {
        self.constants = grid.program.constants.clone();
        self.row = self.constants.add(0, true);
        self.stores.start();
    }
}

/// Destinations of an access's lanes.
struct Targets {
    /// Lanes that access device memory.
    global: u32,
    places: [u64; WARP],
}

/// True if the lanes access consecutive elements.
#[inline(always)]
fn is_consecutive(addresses: &[u64; WARP], width: u64) -> bool {
    let wanted = consecutive(addresses[0], width);
    addresses.iter().zip(&wanted).fold(0, |odd, (address, wanted)| odd | (address ^ wanted)) == 0
}

/// Addresses of consecutive accesses.
#[inline(always)]
fn consecutive(first: u64, width: u64) -> [u64; WARP] {
    let (mut addresses, mut next) = ([0; WARP], first);
    for address in &mut addresses {
        *address = next;
        next = next.wrapping_add(width);
    }
    addresses
}

impl WarpStep<'_, '_> {
    /// Executes the op at which the warp stands. Stores and loads that may hit the store buffer are
    /// redirected; others run as in [`WarpStep::execute`].
    #[inline(always)]
    pub(super) fn execute_access(&mut self, mask: u32) -> Result<(), FaultKind> {
        if !self.holding.stores.is_on() {
            return self.execute(mask);
        }
        let access = self.machine.access(self.w.pc);
        match access.kind {
            AccessKind::Store if mask != 0 => self.store(access, mask),
            AccessKind::Load if mask != 0 && !self.holding.stores.is_empty() => self.load(access, mask),
            _ => self.execute(mask),
        }
    }

    /// Executes a store into a record.
    #[inline(never)]
    fn store(&mut self, access: OpAccess, mask: u32) -> Result<(), FaultKind> {
        let op = self.w.grid.program.code[self.w.pc as usize];
        let addresses = self.addresses(&op);
        let (cycle, width) = (self.cycle(), u64::from(access.width));
        if mask == u32::MAX && is_consecutive(&addresses, width) {
            let all = addresses[0]..addresses[0].saturating_add(width * WARP as u64);
            if self.is_within_allocation(access, &op, all) {
                let first = self.holding.stores.add_consecutive(cycle, access.width, addresses[0]);
                return self.execute_at(&consecutive(first as u64, width), mask, op);
            }
        }
        if access.is_generic && lanes_of(mask).all(|lane| self.is_in_window(addresses[lane])) {
            return self.execute(mask);
        }
        let mut targets = Targets { global: mask, places: [0; WARP] };
        if !self.is_in_one_allocation(access, &op, &addresses) {
            match self.targets(access, &op, &addresses) {
                Some(found) if found.global != 0 => targets = found,
                _ => return self.execute(mask),
            }
        }
        let Targets { global, mut places } = targets;
        let first = self.holding.stores.add(cycle, global, access.width, &addresses) as u64;
        lanes_of(global).for_each(|lane| places[lane] = first + lane as u64 * width);
        self.execute_at(&places, mask, op)
    }

    /// Executes a load; lines in the store buffer are read from the SM's copies.
    #[inline(always)]
    fn load(&mut self, access: OpAccess, mask: u32) -> Result<(), FaultKind> {
        let op = self.w.grid.program.code[self.w.pc as usize];
        let addresses = self.addresses(&op);
        match self.holding.stores.may_meet(mask, access.width, &addresses) {
            true => self.load_own(access, mask, op, &addresses),
            false => self.execute(mask),
        }
    }

    #[cold]
    #[inline(never)]
    fn load_own(
        &mut self,
        access: OpAccess,
        mask: u32,
        op: Op,
        addresses: &[u64; WARP],
    ) -> Result<(), FaultKind> {
        let mut targets = Targets { global: mask, places: *addresses };
        if !self.is_in_one_allocation(access, &op, addresses) {
            let Some(found) = self.targets(access, &op, addresses) else { return self.execute(mask) };
            targets = found;
        }
        let (stores, mut is_own) = (&mut self.holding.stores, false);
        stores.apply();
        for lane in lanes_of(targets.global) {
            if let Some(copy) = stores.copy_of(addresses[lane]) {
                (targets.places[lane], is_own) = (copy as u64, true);
            }
        }
        if is_own { self.execute_at(&targets.places, mask, op) } else { self.execute(mask) }
    }

    /// Addresses of an op's lanes.
    #[inline(always)]
    fn addresses(&self, op: &Op) -> [u64; WARP] {
        // SAFETY: the binder notes an op's access only with a 64-bit row of addresses.
        let mut addresses = unsafe { self.w.read_row::<u64>(op.a) };
        addresses.iter_mut().for_each(|address| *address = address.wrapping_add(op.immediate));
        addresses
    }

    /// Core cycle of the warp's step.
    fn cycle(&self) -> u64 {
        self.w.cta.simulated.as_ref().map_or(0, |simulated| simulated.now.cycle)
    }

    /// Allocation of device memory that contains an address.
    #[inline(always)]
    fn allocation(&mut self, access: OpAccess, op: &Op, address: u64) -> Option<Range> {
        if access.is_generic && self.is_in_window(address) {
            return None;
        }
        let grid = self.w.grid;
        self.w.view.find(&grid.owner.memory, op.slot, address)
    }

    /// True if a range is aligned and lies in one allocation of device memory.
    #[inline(always)]
    fn is_within_allocation(&mut self, access: OpAccess, op: &Op, all: std::ops::Range<u64>) -> bool {
        let is_aligned = all.start & (u64::from(access.width) - 1) == 0;
        is_aligned && self.allocation(access, op, all.start).is_some_and(|range| all.end <= range.end)
    }

    /// True if all lanes' accesses are aligned and lie in one allocation of device memory.
    fn is_in_one_allocation(&mut self, access: OpAccess, op: &Op, addresses: &[u64; WARP]) -> bool {
        let (mask, width) = (self.w.mask, u64::from(access.width));
        let some = addresses[mask.trailing_zeros() as usize % WARP];
        let Some(range) = self.allocation(access, op, some) else { return false };
        let last = range.end.wrapping_sub(width);
        // The top bit marks a lane before or after the allocation or misaligned: all addresses are below
        // 2^62.
        let wrong = |lane: usize| {
            let misaligned = (addresses[lane] & (width - 1)).wrapping_neg();
            addresses[lane].wrapping_sub(range.start) | last.wrapping_sub(addresses[lane]) | misaligned
        };
        match mask {
            u32::MAX => (0..WARP).fold(0, |any, lane| any | wrong(lane)) >> 63 == 0,
            _ => lanes_of(mask).all(|lane| wrong(lane) >> 63 == 0),
        }
    }

    /// True if a generic address belongs to shared memory, local memory or code.
    #[inline(always)]
    fn is_in_window(&self, address: u64) -> bool {
        self.w.grid.owner.memory.is_in_window(address)
    }

    /// Destinations of an op's lanes; `None` if a lane's access is invalid.
    #[cold]
    #[inline(never)]
    fn targets(&mut self, access: OpAccess, op: &Op, addresses: &[u64; WARP]) -> Option<Targets> {
        let mut targets = Targets { global: 0, places: [0; WARP] };
        for lane in lanes_of(self.w.mask) {
            let address = addresses[lane];
            if access.is_generic && self.is_in_window(address) {
                let place =
                    resolve_aligned::<Generic>(&mut self.w, op.slot, lane, address, access.width.into());
                targets.places[lane] = place.ok()? as u64;
                continue;
            }
            let whole = resolve_aligned::<Global>(&mut self.w, op.slot, lane, address, access.width.into());
            // A load may start in an allocation and end after it.
            let overhangs = access.kind == AccessKind::Load
                && matches!(whole, Err(FaultKind::IllegalAddress { .. }))
                && Global::resolve(&mut self.w, op.slot, lane as u32, address, access.element.into())
                    .is_some();
            if whole.is_err() && !overhangs {
                return None;
            }
            targets.global |= 1 << lane;
            targets.places[lane] = address;
        }
        Some(targets)
    }

    /// Executes `op` in place of the op at which the warp stands.
    #[inline(always)]
    pub(super) fn execute_op(&mut self, mask: u32, op: &Op) -> Result<(), FaultKind> {
        let pc = self.w.pc;
        self.count(mask);
        if mask == 0 {
            self.w.pc = pc + 1;
            return Ok(());
        }
        // SAFETY: the program was bound in this process, and a fragment of the warp is in place.
        match unsafe { (op.run)(&mut self.w, op) } {
            Flow::Next => self.w.pc = pc + 1,
            Flow::Jump => {}
            Flow::Stop => self.stopped()?,
        }
        Ok(())
    }

    /// Executes an op whose lanes access these host addresses.
    #[inline(always)]
    fn execute_at(&mut self, places: &[u64; WARP], mask: u32, op: Op) -> Result<(), FaultKind> {
        let WarpStep { w, holding, .. } = self;
        holding.constants.set_wide(holding.row, places);
        let constants = std::mem::replace(&mut w.constants, holding.constants.base());
        let range = w.view.replace(op.slot, Range::ALL);
        let done = self.execute_op(mask, &Op { a: self.holding.row, immediate: 0, ..op });
        self.w.constants = constants;
        self.w.view.replace(op.slot, range);
        done
    }

    /// Queues a deferred op before the warp's next store, with its effect visible to the SM's loads.
    pub(super) fn put_in_line(&mut self, number: u32) -> Result<(), FaultKind> {
        for at in 0..self.pending.len() {
            let earlier = self.pending[at];
            if earlier == number {
                break;
            }
            if self.deferred.is_before(earlier, number) {
                self.put_one_in_line(earlier)?;
            }
        }
        self.put_one_in_line(number)
    }

    fn put_one_in_line(&mut self, number: u32) -> Result<(), FaultKind> {
        if !self.deferred.take_place_in_line(number) {
            return Ok(());
        }
        let cycle = self.cycle();
        let stores = &mut self.holding.stores;
        stores.apply();
        stores.add_due(cycle, Due { warp: self.owner, number });
        self.deferred.try_out(number, &mut self.w, stores)
    }
}

impl SteppedCluster {
    /// Executes a queued deferred op that is due.
    pub(crate) fn perform_due(
        &mut self,
        engine: &mut super::Engine<'_>,
        Due { warp, number }: Due,
    ) -> Result<(), Box<Fault>> {
        self.with_warp(engine, warp.warp as usize, |step, _| step.carry_out(number))
    }
}
