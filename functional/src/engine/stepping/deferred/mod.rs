//! Deferred ops: memory ops that take effect when their request has reached the memory side. A deferred op
//! keeps copies of its operand rows, so that the warp may overwrite them.
//!
//! A thread sees its own accesses in order. An access of the warp to the same bytes executes the deferred
//! op first, and so does a barrier or fence.

mod saved;

use warp_stream::{MachineInstruction, MemorySpace, OperationClass, Registers, WarpSlot};

use super::address::Reached;
use super::{WARP, WarpStep};
use crate::engine::address_translation::{Global, lanes_of, resolve_aligned};
use crate::engine::frame::Row;
use crate::engine::held::HeldStores;
use crate::engine::lane::Bits;
use crate::engine::machine::Deferral;
use crate::engine::op::{Flow, Op};
use crate::engine::view::Range;
use crate::engine::warp_context::{Stop, WarpContext};
use crate::fault::FaultKind;
pub(crate) use saved::SavedDeferred;

/// Saved rows: an address, two sources and four results of 64 bits.
const ROWS: usize = 2 * 7;
/// Offsets of the first saved row of address, sources, and results.
const ADDRESS: u32 = 0;
const SOURCES: u32 = u64::ROW;
const RESULTS: u32 = 3 * u64::ROW;

/// A deferred op.
#[derive(Debug)]
struct Pending {
    /// The op, with operands that name saved rows.
    op: Op,
    pc: u32,
    lanes: u32,
    rows: Box<[Row; ROWS]>,
    /// Frame offsets of the result rows.
    results: [u32; 4],
    deferral: Deferral,
    /// Frame, and the function that it belongs to.
    frame: (u32, u32),
    owner: WarpSlot,
    /// Machine registers of the results.
    destination: Registers,
    space: MemorySpace,
    addresses: [u64; WARP],
    width: u8,
    extent: (u64, u64),
    /// True if the op took effect early.
    done: bool,
    /// True if the op takes effect when the SM's stores are published.
    in_line: bool,
    /// True if the number is in use.
    live: bool,
}

impl Pending {
    /// True if an instruction uses the machine registers of the results.
    fn is_in_registers_of(&self, next: &MachineInstruction) -> bool {
        let end = |registers: Registers| u32::from(registers.first) + u32::from(registers.count);
        let own = self.destination;
        next.sources.iter().chain([&next.destination]).any(|other| {
            other.count != 0 && u32::from(other.first) < end(own) && u32::from(own.first) < end(*other)
        })
    }

    /// True if the op accesses some of these bytes.
    fn meets(&self, (start, end): (u64, u64), reached: &Reached<'_>) -> bool {
        let (own_start, own_end) = self.extent;
        self.space == reached.space && own_start < end && start < own_end && self.reached().overlaps(reached)
    }

    fn reached(&self) -> Reached<'_> {
        Reached { space: self.space, lanes: self.lanes, addresses: &self.addresses, width: self.width }
    }
}

/// Deferred ops of an SM's warps, by number, with storage that is reused.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    pending: Vec<Pending>,
    free: Vec<u32>,
}

impl Deferred {
    /// Warp that deferred this op.
    pub(crate) fn owner(&self, number: u32) -> Option<WarpSlot> {
        self.pending.get(number as usize).filter(|pending| pending.live).map(|pending| pending.owner)
    }

    fn get(&self, number: u32) -> &Pending {
        &self.pending[number as usize]
    }

    /// Frees a number.
    pub(super) fn release(&mut self, number: u32) {
        if std::mem::replace(&mut self.pending[number as usize].live, false) {
            self.free.push(number);
        }
    }

    /// Defers the op at which the warp stands.
    #[inline(never)]
    pub(super) fn put_off(
        &mut self,
        w: &WarpContext<'_>,
        owner: WarpSlot,
        (deferral, wide_address): (Deferral, bool),
        destination: Registers,
        reached: &Reached<'_>,
    ) -> u32 {
        let op = w.grid.program.code[w.pc as usize];
        let number = self.free.pop().unwrap_or_else(|| {
            self.pending.push(Pending::empty(op));
            self.pending.len() as u32 - 1
        });
        let pending = &mut self.pending[number as usize];
        let frame = w.divergence.frame;
        pending.op = op;
        pending.pc = w.pc;
        pending.lanes = w.mask;
        pending.deferral = deferral;
        pending.frame = (frame, w.divergence.frames.get(frame).function);
        pending.owner = owner;
        pending.destination = destination;
        (pending.space, pending.addresses, pending.width) =
            (reached.space, *reached.addresses, reached.width);
        pending.extent = reached.extent();
        (pending.done, pending.in_line, pending.live) = (false, false, true);
        pending.keep_operands(w, wide_address);
        number
    }

    /// True if a machine instruction that touches these rows of `frame` needs the results.
    fn is_needed(&self, number: u32, touched: &[u32], frame: u32) -> bool {
        let pending = self.get(number);
        let results = &pending.results[..pending.deferral.results.into()];
        !pending.done && pending.frame.0 == frame && results.iter().any(|row| touched.contains(row))
    }

    /// True if one op must precede another because both access the same bytes.
    pub(super) fn is_before(&self, earlier: u32, number: u32) -> bool {
        let (one, other) = (self.get(earlier), self.get(number));
        !one.done && !other.done && one.meets(other.extent, &other.reached())
    }

    /// Makes an op take effect when the SM's stores are published; `false` if it is already so or has taken
    /// effect.
    pub(super) fn take_place_in_line(&mut self, number: u32) -> bool {
        let pending = &mut self.pending[number as usize];
        !pending.done && !std::mem::replace(&mut pending.in_line, true)
    }

    /// Executes an op on the SM's own copies of lines, so that the SM's loads see its effect. The result is
    /// discarded, because values of other SMs may come first.
    pub(super) fn try_out(
        &mut self,
        number: u32,
        w: &mut WarpContext<'_>,
        stores: &mut HeldStores,
    ) -> Result<(), FaultKind> {
        let pending = &mut self.pending[number as usize];
        if pending.deferral.sources == 0 {
            return Ok(());
        }
        let (mut lanes, mut places) = (0, [0; WARP]);
        for lane in lanes_of(pending.lanes) {
            let (address, width) = (pending.addresses[lane], u32::from(pending.width));
            if resolve_aligned::<Global>(w, pending.op.slot, lane, address, width).is_ok() {
                lanes |= 1 << lane;
                stores.own_copy(address);
            }
        }
        for lane in lanes_of(lanes) {
            places[lane] = stores.own_copy(pending.addresses[lane]) as u64;
        }
        if lanes == 0 {
            return Ok(());
        }
        let mut rows = pending.rows.clone();
        let op = Op { immediate: 0, ..pending.op };
        let place = (w.frame, w.mask, w.active, w.pc);
        let range = w.view.replace(op.slot, Range::ALL);
        // SAFETY: the first two rows hold the address.
        unsafe { rows.as_mut_ptr().cast::<[u64; WARP]>().write(places) };
        w.frame = rows.as_mut_ptr().cast();
        (w.mask, w.active, w.pc) = (lanes, lanes, pending.pc);
        // SAFETY: as in `carry_out`; the pointers are to copies of accessible values.
        let flow = unsafe { (op.run)(w, &op) };
        (w.frame, w.mask, w.active, w.pc) = place;
        w.view.replace(op.slot, range);
        match (flow, std::mem::replace(&mut w.stop, Stop::Yield)) {
            (Flow::Stop, Stop::Fault(kind)) => Err(kind),
            _ => Ok(()),
        }
    }

    /// True if `next`, which touches these rows, must wait for this op although no register scoreboard
    /// shows it.
    pub(super) fn holds(&self, number: u32, next: &MachineInstruction, touched: &[u32], frame: u32) -> bool {
        let pending = self.get(number);
        match next.class {
            _ if pending.done => false,
            // A queued op takes effect before anything that follows in other SMs, and the SM's own loads
            // see the effect.
            OperationClass::Barrier | OperationClass::Fence => {
                pending.space == MemorySpace::Global && !pending.in_line
            }
            // The branch may be a return, which drops the frame.
            OperationClass::Branch if frame != 0 && pending.deferral.results != 0 => !pending.in_line,
            _ => self.is_needed(number, touched, frame) && !pending.is_in_registers_of(next),
        }
    }
}

impl Pending {
    fn empty(op: Op) -> Pending {
        Pending {
            op,
            pc: 0,
            lanes: 0,
            rows: Box::new([Row([0; WARP]); ROWS]),
            results: [0; 4],
            deferral: Deferral { in_shared: false, sources: 0, results: 0, wide: false },
            frame: (0, 0),
            owner: WarpSlot { cta: 0, warp: 0 },
            destination: Registers::NONE,
            space: MemorySpace::Global,
            addresses: [0; WARP],
            width: 0,
            extent: (0, 0),
            done: true,
            in_line: false,
            live: false,
        }
    }

    /// Copies the op's operand rows, and redirects the op to saved rows.
    fn keep_operands(&mut self, w: &WarpContext<'_>, wide_address: bool) {
        let Op { a, b, c, .. } = self.op;
        let Deferral { sources, wide, .. } = self.deferral;
        self.keep(w, a, ADDRESS, wide_address);
        for (number, source) in [b, c].into_iter().enumerate().take(sources.into()) {
            self.keep(w, source, SOURCES + number as u32 * u64::ROW, wide);
        }
        self.name_kept_rows();
    }

    /// Redirects the program's op to saved rows.
    fn name_kept_rows(&mut self) {
        let Op { b, c, d, e, .. } = self.op;
        let Deferral { sources, results, .. } = self.deferral;
        self.results = [d, b, c, e];
        self.op.a = ADDRESS;
        self.op.d = RESULTS;
        if sources > 0 {
            (self.op.b, self.op.c) = (SOURCES, SOURCES + u64::ROW);
        } else if results > 1 {
            let result = |number: u32| RESULTS + number * u64::ROW;
            (self.op.b, self.op.c, self.op.e) = (result(1), result(2), result(3));
        }
    }

    fn keep(&mut self, w: &WarpContext<'_>, row: u32, at: u32, wide: bool) {
        let first = (at / u32::ROW) as usize;
        // SAFETY: the binder allocated a row of this width at this offset.
        unsafe {
            self.rows[first] = w.row::<u32>(row).cast::<Row>().read();
            if wide {
                self.rows[first + 1] = w.row::<u32>(row + u32::ROW).cast::<Row>().read();
            }
        }
    }

    /// Writes the lanes' results to the frame, if it still exists.
    fn answer(&self, w: &WarpContext<'_>) {
        let (number, function) = self.frame;
        let frame = w.divergence.frames.find(number).filter(|frame| frame.function == function);
        let Some(frame) = frame else { return };
        for (number, &row) in self.results.iter().enumerate().take(self.deferral.results.into()) {
            let kept =
                self.rows.as_ptr().cast::<u8>().wrapping_add(RESULTS as usize + number * u64::ROW as usize);
            let row = frame.base.wrapping_add(row as usize);
            // SAFETY: rows of this width, in a frame of the op's function and among the saved rows.
            unsafe {
                if self.deferral.wide {
                    copy_lanes::<u64>(kept.cast(), row.cast(), self.lanes);
                } else {
                    copy_lanes::<u32>(kept.cast(), row.cast(), self.lanes);
                }
            }
        }
    }
}

/// # Safety
/// Both are rows of this width.
unsafe fn copy_lanes<B: Bits>(from: *const B, to: *mut B, lanes: u32) {
    for lane in lanes_of(lanes) {
        // SAFETY: guaranteed by the caller.
        unsafe { to.add(lane).write(from.add(lane).read()) };
    }
}

impl WarpStep<'_, '_> {
    /// Executes deferred op `number`, after earlier deferred ops of the warp on the same bytes.
    pub(super) fn carry_out_in_order(&mut self, number: u32) -> Result<(), FaultKind> {
        for at in 0..self.pending.len() {
            let earlier = self.pending[at];
            if earlier == number {
                break;
            }
            if self.deferred.is_before(earlier, number) {
                self.carry_out(earlier)?;
            }
        }
        self.carry_out(number)
    }

    /// Executes all deferred ops of the warp, except queued ones.
    pub(super) fn carry_out_all(&mut self) -> Result<(), FaultKind> {
        for at in 0..self.pending.len() {
            if !self.deferred.get(self.pending[at]).in_line {
                self.carry_out(self.pending[at])?;
            }
        }
        Ok(())
    }

    /// Executes deferred ops that the machine instruction at `position` needs. A model with a scoreboard
    /// never issues it that early.
    pub(super) fn carry_out_needed(&mut self, position: u32) -> Result<(), FaultKind> {
        let (touched, frame) = (self.machine.touched(position), self.w.divergence.frame);
        for at in 0..self.pending.len() {
            if self.deferred.is_needed(self.pending[at], touched, frame) {
                self.carry_out_in_order(self.pending[at])?;
            }
        }
        Ok(())
    }

    /// Executes deferred ops of the warp on these bytes.
    pub(super) fn carry_out_overlapping(&mut self, reached: &Reached<'_>) -> Result<(), FaultKind> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let extent = reached.extent();
        for at in 0..self.pending.len() {
            let pending = self.deferred.get(self.pending[at]);
            if !pending.done && pending.meets(extent, reached) {
                match self.holding.stores.is_on() && pending.space == MemorySpace::Global {
                    true => self.put_in_line(self.pending[at])?,
                    false => self.carry_out_in_order(self.pending[at])?,
                }
            }
        }
        Ok(())
    }

    pub(super) fn carry_out(&mut self, number: u32) -> Result<(), FaultKind> {
        let pending = &mut self.deferred.pending[number as usize];
        if std::mem::replace(&mut pending.done, true) {
            return Ok(());
        }
        let w = &mut self.w;
        let place = (w.frame, w.mask, w.active, w.pc);
        w.frame = pending.rows.as_mut_ptr().cast();
        (w.mask, w.active, w.pc) = (pending.lanes, pending.lanes, pending.pc);
        // SAFETY: the op's operands are saved rows of the widths that the binder set.
        let flow = unsafe { (pending.op.run)(w, &pending.op) };
        if flow == Flow::Stop
            && let Stop::Fault(kind) = std::mem::replace(&mut w.stop, Stop::Yield)
        {
            return Err(kind);
        }
        (w.frame, w.mask, w.active, w.pc) = place;
        pending.answer(w);
        Ok(())
    }
}
