//! What is put off: an op on memory that takes effect when its request has reached the place where it is done. It keeps
//! copies of the rows that it reads, so that the warp may write them meanwhile.
//!
//! A thread sees its own accesses in order: an access of the warp to the same bytes carries out what has been put off
//! before it, and so does a barrier or fence.

mod saved;

use warp_stream::{MachineInstruction, MemorySpace, OperationClass, Registers, WarpSlot};

use super::address::Reached;
use super::{Step, WARP};
use crate::engine::access::{Global, lanes_of, resolve_aligned};
use crate::engine::frame::Row;
use crate::engine::held::HeldStores;
use crate::engine::lane::Bits;
use crate::engine::machine::Deferral;
use crate::engine::op::{Flow, Op};
use crate::engine::running::{Running, Stop};
use crate::engine::view::Range;
use crate::fault::FaultKind;
pub(crate) use saved::SavedDeferred;

/// Rows kept: address, two sources and four results, of double words each.
const ROWS: usize = 2 * 7;
/// Offsets of the first kept row of an address, of sources, and of results.
const ADDRESS: u32 = 0;
const SOURCES: u32 = u64::ROW;
const RESULTS: u32 = 3 * u64::ROW;

/// An op that has been put off.
#[derive(Debug)]
struct Pending {
    /// Operands name kept rows.
    op: Op,
    pc: u32,
    lanes: u32,
    rows: Box<[Row; ROWS]>,
    /// Where results go: offsets of rows in the frame.
    results: [u32; 4],
    deferral: Deferral,
    /// Frame, and the function whose activation it was.
    frame: (u32, u32),
    owner: WarpSlot,
    /// Machine registers of the results.
    destination: Registers,
    space: MemorySpace,
    addresses: [u64; WARP],
    width: u8,
    extent: (u64, u64),
    /// It has taken effect before its time.
    done: bool,
    /// Takes effect when the SM's stores are published.
    in_line: bool,
    /// Its number is in use.
    live: bool,
}

impl Pending {
    /// Does an instruction name the machine registers of the results?
    fn is_in_registers_of(&self, next: &MachineInstruction) -> bool {
        let end = |registers: Registers| u32::from(registers.first) + u32::from(registers.count);
        let own = self.destination;
        next.sources.iter().chain([&next.destination]).any(|other| {
            other.count != 0 && u32::from(other.first) < end(own) && u32::from(own.first) < end(*other)
        })
    }

    /// Does it access some of these bytes?
    fn meets(&self, (start, end): (u64, u64), reached: &Reached<'_>) -> bool {
        let (own_start, own_end) = self.extent;
        self.space == reached.space && own_start < end && start < own_end && self.reached().overlaps(reached)
    }

    fn reached(&self) -> Reached<'_> {
        Reached { space: self.space, lanes: self.lanes, addresses: &self.addresses, width: self.width }
    }
}

/// All that the warps of an SM have put off, by number. Storage is used again.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    pending: Vec<Pending>,
    free: Vec<u32>,
}

impl Deferred {
    /// The warp that has put this off.
    pub(crate) fn owner(&self, number: u32) -> Option<WarpSlot> {
        self.pending.get(number as usize).filter(|pending| pending.live).map(|pending| pending.owner)
    }

    fn get(&self, number: u32) -> &Pending {
        &self.pending[number as usize]
    }

    /// Forgets a number.
    pub(super) fn release(&mut self, number: u32) {
        if std::mem::replace(&mut self.pending[number as usize].live, false) {
            self.free.push(number);
        }
    }

    /// Keeps the op that the warp stands at.
    #[inline(never)]
    pub(super) fn put_off(
        &mut self,
        w: &Running<'_>,
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

    /// Does a machine instruction that touches these rows, of a fragment in this frame, need the results?
    fn is_needed(&self, number: u32, touched: &[u32], frame: u32) -> bool {
        let pending = self.get(number);
        let results = &pending.results[..pending.deferral.results.into()];
        !pending.done && pending.frame.0 == frame && results.iter().any(|row| touched.contains(row))
    }

    /// Has one to take effect before another, as they access the same bytes?
    pub(super) fn is_before(&self, earlier: u32, number: u32) -> bool {
        let (one, other) = (self.get(earlier), self.get(number));
        !one.done && !other.done && one.meets(other.extent, &other.reached())
    }

    /// An op is to take effect when the SM's stores are published; `false` if it is already, or has taken effect.
    pub(super) fn take_place_in_line(&mut self, number: u32) -> bool {
        let pending = &mut self.pending[number as usize];
        !pending.done && !std::mem::replace(&mut pending.in_line, true)
    }

    /// Executes an op on the SM's own copies of the lines that it accesses, so that the SM's loads see the memory as it will
    /// be. What the op answers is forgotten: the values of others may come before.
    pub(super) fn try_out(
        &mut self,
        number: u32,
        w: &mut Running<'_>,
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
        // SAFETY: the first two rows are those of the address.
        unsafe { rows.as_mut_ptr().cast::<[u64; WARP]>().write(places) };
        w.frame = rows.as_mut_ptr().cast();
        (w.mask, w.active, w.pc) = (lanes, lanes, pending.pc);
        // SAFETY: as in `carry_out`; the places are copies of values that may be accessed.
        let flow = unsafe { (op.run)(w, &op) };
        (w.frame, w.mask, w.active, w.pc) = place;
        w.view.replace(op.slot, range);
        match (flow, std::mem::replace(&mut w.stop, Stop::Yield)) {
            (Flow::Stop, Stop::Fault(kind)) => Err(kind),
            _ => Ok(()),
        }
    }

    /// Must `next`, which touches these rows, wait for this, and no scoreboard of registers could tell?
    pub(super) fn holds(&self, number: u32, next: &MachineInstruction, touched: &[u32], frame: u32) -> bool {
        let pending = self.get(number);
        match next.class {
            _ if pending.done => false,
            // An op in line takes effect before anything that follows in other SMs, and the SM's own loads see the effect.
            OperationClass::Barrier | OperationClass::Fence => {
                pending.space == MemorySpace::Global && !pending.in_line
            }
            // It may be a return, with which the frame goes.
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

    /// Copies the rows that the op reads, and has it read the copies and write kept rows.
    fn keep_operands(&mut self, w: &Running<'_>, wide_address: bool) {
        let Op { a, b, c, .. } = self.op;
        let Deferral { sources, wide, .. } = self.deferral;
        self.keep(w, a, ADDRESS, wide_address);
        for (number, source) in [b, c].into_iter().enumerate().take(sources.into()) {
            self.keep(w, source, SOURCES + number as u32 * u64::ROW, wide);
        }
        self.name_kept_rows();
    }

    /// Has the op, as the program has it, read and write kept rows.
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

    fn keep(&mut self, w: &Running<'_>, row: u32, at: u32, wide: bool) {
        let first = (at / u32::ROW) as usize;
        // SAFETY: the binder has given a row of this width; it starts where rows start.
        unsafe {
            self.rows[first] = w.row::<u32>(row).cast::<Row>().read();
            if wide {
                self.rows[first + 1] = w.row::<u32>(row + u32::ROW).cast::<Row>().read();
            }
        }
    }

    /// Writes the results of the lanes to the frame, if it is still there.
    fn answer(&self, w: &Running<'_>) {
        let (number, function) = self.frame;
        let frame = w.divergence.frames.find(number).filter(|frame| frame.function == function);
        let Some(frame) = frame else { return };
        for (number, &row) in self.results.iter().enumerate().take(self.deferral.results.into()) {
            let kept =
                self.rows.as_ptr().cast::<u8>().wrapping_add(RESULTS as usize + number * u64::ROW as usize);
            let row = frame.base.wrapping_add(row as usize);
            // SAFETY: rows of this width, in a frame of the function that the op is one of, and among the kept ones.
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
        // SAFETY: the caller's promise.
        unsafe { to.add(lane).write(from.add(lane).read()) };
    }
}

impl Step<'_, '_> {
    /// Executes what has been put off under this number, and before it what the warp has put off on the same bytes.
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

    /// Executes all that the warp has put off, but for what is in line.
    pub(super) fn carry_out_all(&mut self) -> Result<(), FaultKind> {
        for at in 0..self.pending.len() {
            if !self.deferred.get(self.pending[at]).in_line {
                self.carry_out(self.pending[at])?;
            }
        }
        Ok(())
    }

    /// Executes what the warp has put off and the machine instruction at this position needs. A model with a scoreboard
    /// does not issue it so early.
    pub(super) fn carry_out_needed(&mut self, position: u32) -> Result<(), FaultKind> {
        let (touched, frame) = (self.machine.touched(position), self.w.divergence.frame);
        for at in 0..self.pending.len() {
            if self.deferred.is_needed(self.pending[at], touched, frame) {
                self.carry_out_in_order(self.pending[at])?;
            }
        }
        Ok(())
    }

    /// Executes what the warp has put off on these bytes.
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
        // SAFETY: the op's operands are rows among the kept ones, as wide as the binder has said.
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
