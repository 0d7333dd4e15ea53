//! A channel (or pseudo-channel): queues, scheduling, and timing constraints.

mod check;
mod hang_report;
mod passing;
mod scheduling;

use serde::{Deserialize, Serialize};

use super::bank::{Access, Bank, Direction, bits};
use super::counts::{BankActivity, ChannelCounts};
use super::refresh::Refresh;
use super::{
    Cell, Checker, Command, CommandKind, DramCounters, DramSpec, Queues, RefreshMode, Timing, Violation,
};
use crate::policy::dram_scheduler::{Issued, SchedulerState, Turn};

/// Sectors of a line that arrive at a channel together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incoming {
    /// Position of the line's first sector.
    pub cell: Cell,
    /// Set for writes.
    pub write: bool,
    /// Slice of the channel.
    pub slice: u8,
    /// Requesting SM, or [`NO_SOURCE`](crate::policy::dram_scheduler::NO_SOURCE).
    pub source: u16,
    /// Slot of the slice for reads.
    pub slot: u32,
    /// Mask of sectors.
    pub sectors: u8,
}

/// A completed read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// Cycle of the end of data.
    pub cycle: u64,
    /// Slice of the channel.
    pub slice: u8,
    /// Slot of the slice.
    pub slot: u32,
    /// Mask of sectors.
    pub sectors: u8,
}

/// Earliest column commands of a bank group, or of all banks: read, write.
type Columns = [u64; 2];

/// A channel.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Channel {
    banks: Vec<Bank>,
    groups: Vec<Columns>,
    columns: Columns,
    activate_at: u64,
    /// Cycles of the last four activations, oldest first.
    activations: [u64; 4],
    /// By queue: number of accesses, mask of banks with accesses, mask of banks with row hits.
    #[serde(skip)]
    queued: [u32; 2],
    #[serde(skip)]
    occupied: [u64; 2],
    #[serde(skip)]
    open: [u64; 2],
    /// Set during a write drain.
    draining: bool,
    scheduling: SchedulerState,
    refresh: Refresh,
    /// Command slot of this pseudo-channel.
    slot: u32,
    age: u64,
    /// Cycle of the next event.
    next: u64,
    /// End of the counted occupancy, and cycle of the last command.
    counted: u64,
    commanded: u64,
    /// End of the cycles counted as busy, or later.
    busy_to: u64,
    /// Next free cycle of a channel without commands, times its efficiency in per cent.
    passing: u64,
    counters: DramCounters,
    /// Activity by bank.
    activity: Vec<BankActivity>,
    /// Protocol checker of debug builds, no part of the model.
    #[serde(skip)]
    checker: Option<Box<Checker>>,
}

/// Earliest command for a bank's access.
#[derive(Clone, Copy)]
struct Candidate {
    /// First permitted cycle.
    from: u64,
    age: u64,
    bank: u8,
}

/// Result of a search among the banks' accesses.
#[derive(Clone, Copy)]
struct Found {
    /// Bank of the oldest permitted access.
    ready: Option<u8>,
    /// First cycle at which another access is permitted.
    later: u64,
}

/// Searches the banks' accesses at a cycle, preferred banks first.
#[inline(always)]
fn find<C: Iterator<Item = Candidate>>(
    preferred: u64,
    banks: u64,
    candidates: impl Fn(u64) -> C,
    cycle: u64,
) -> Found {
    let first = find_oldest(candidates(banks & preferred), cycle);
    if first.ready.is_some() || banks & !preferred == 0 {
        return first;
    }
    let others = find_oldest(candidates(banks & !preferred), cycle);
    Found { ready: others.ready, later: first.later.min(others.later) }
}

#[inline(always)]
fn find_oldest(candidates: impl Iterator<Item = Candidate>, cycle: u64) -> Found {
    let (mut oldest, mut ready, mut later) = (u64::MAX, None, u64::MAX);
    for Candidate { from, age, bank } in candidates {
        if from > cycle {
            later = later.min(from);
        } else if age < oldest {
            (oldest, ready) = (age, Some(bank));
        }
    }
    Found { ready, later }
}

impl Channel {
    /// An idle channel; `slot` numbers the pseudo-channels of a channel.
    pub fn new(spec: &DramSpec, timing: &Timing, slot: u32) -> Channel {
        Channel {
            banks: (0..spec.banks).map(|number| Bank::new(spec, number as u8)).collect(),
            groups: vec![Columns::default(); spec.bank_groups as usize],
            columns: Columns::default(),
            activate_at: 0,
            activations: [0; 4],
            queued: [0; 2],
            occupied: [0; 2],
            open: [0; 2],
            draining: false,
            scheduling: SchedulerState::default(),
            refresh: Refresh::new(timing.refresh_interval),
            slot,
            age: 0,
            next: u64::MAX,
            counted: 0,
            commanded: 0,
            busy_to: 0,
            passing: 0,
            counters: DramCounters::default(),
            activity: vec![BankActivity::default(); spec.banks as usize],
            checker: cfg!(debug_assertions).then(|| Box::new(Checker::new(spec))),
        }
    }

    /// Free entries of a queue.
    pub fn room(&self, spec: &DramSpec, write: bool) -> u32 {
        let queue = spec.queues.of(Direction::of(write));
        let most = match queue {
            Direction::Read => spec.read_queue,
            Direction::Write => spec.write_queue,
        };
        most.saturating_sub(self.queued[queue as usize])
    }

    /// Cycle of the next event; `u64::MAX` for none. An idle channel refreshes at its next use.
    pub fn next_event(&self) -> u64 {
        self.next
    }

    /// Tells whether all queues are empty.
    pub fn is_idle(&self) -> bool {
        self.queued == [0; 2]
    }

    /// Queued accesses by queue.
    pub fn queued(&self) -> [u32; 2] {
        self.queued
    }

    /// Counters of the channel.
    pub fn counters(&self) -> &DramCounters {
        &self.counters
    }

    /// Counts of the channel and its banks.
    pub fn counts(&self) -> ChannelCounts {
        ChannelCounts::new(&self.counters, self.activity.iter().map(|bank| bank.counts).collect())
    }

    /// Tells whether a bank has queued accesses.
    fn is_occupied(&self, bank: u8) -> bool {
        (self.occupied[0] | self.occupied[1]) >> bank & 1 != 0
    }

    /// The first violated timing rule, detected in debug builds only.
    pub fn violation(&self) -> Option<&Violation> {
        self.checker.as_ref()?.violation()
    }

    /// Accepts accesses, which must fit. Returns the reads served from the write queue.
    pub fn accept(
        &mut self,
        spec: &DramSpec,
        timing: &Timing,
        cycle: u64,
        incoming: Incoming,
    ) -> Option<Completed> {
        self.count_until(cycle);
        if self.is_idle() {
            self.catch_up(spec, timing, cycle);
        }
        let Incoming { cell, write, slice, source, slot, sectors } = incoming;
        let Cell { row, column, .. } = cell;
        let direction = Direction::of(write);
        let queue = spec.queues.of(direction);
        let bank = &mut self.banks[cell.bank as usize];
        let written = match direction {
            Direction::Read => bank.queues[Direction::Write as usize].sectors_of(row, column) & sectors,
            Direction::Write => 0,
        };
        let forwarded = (written != 0).then(|| {
            let count = written.count_ones();
            self.counters.forwarded += u64::from(count);
            (0..count).for_each(|_| self.counters.read_latencies.add_one(timing.read_data));
            Completed { cycle: cycle + timing.read_data, slice, slot, sectors: written }
        });
        let sectors = sectors & !written;
        if sectors == 0 {
            return forwarded;
        }
        let (age, accepted) = (self.age, cycle as u32);
        let access =
            Access { age, row, column, slice, source, sectors, slot, accepted, activated: false, direction };
        bank.queues[queue as usize].push(access, bank.open);
        self.age += u64::from(access.count());
        self.queued[queue as usize] += access.count();
        if !self.is_occupied(cell.bank) {
            let busy_since = &mut self.activity[usize::from(cell.bank)].busy_since;
            *busy_since = cycle.max(*busy_since);
        }
        self.queue_changed(cell.bank, queue);
        self.next = self.next.min(self.in_slot(spec, cycle));
        forwarded
    }

    /// Updates derived state after a change of a bank's row or accesses.
    fn bank_changed(&mut self, bank: u8) {
        self.queue_changed(bank, Direction::Read);
        self.queue_changed(bank, Direction::Write);
    }

    /// Updates derived state after a change of a bank's queue.
    fn queue_changed(&mut self, bank: u8, queue: Direction) {
        let of_bank = &self.banks[bank as usize].queues[queue as usize];
        let marked = |mask: u64, mark: bool| mask & !(1 << bank) | u64::from(mark) << bank;
        let (occupied, open) = (&mut self.occupied[queue as usize], &mut self.open[queue as usize]);
        *occupied = marked(*occupied, !of_bank.accesses.is_empty());
        *open = marked(*open, of_bank.hit.is_some());
    }

    /// The first cycle from `cycle` on in this pseudo-channel's command slot.
    fn in_slot(&self, spec: &DramSpec, cycle: u64) -> u64 {
        let (parts, slot) = (u64::from(spec.pseudo_channels), u64::from(self.slot));
        if parts.is_power_of_two() {
            return cycle + (slot.wrapping_sub(cycle) & (parts - 1));
        }
        cycle + (slot + parts - cycle % parts) % parts
    }

    fn count_until(&mut self, cycle: u64) {
        let cycles = cycle.saturating_sub(self.counted);
        let [reads, writes] = self.queued.map(u64::from);
        self.counters.read_queue_occupancy += reads * cycles;
        self.counters.write_queue_occupancy += writes * cycles;
        let busy = cycle.saturating_sub(self.counted.max(self.busy_to));
        self.counters.busy_cycles += if reads + writes > 0 { busy } else { 0 };
        self.counted = self.counted.max(cycle);
    }

    /// Simulates a cycle. Returns a completed read, if any.
    pub fn step(&mut self, spec: &DramSpec, timing: &Timing, cycle: u64) -> Option<Completed> {
        self.count_until(cycle);
        if spec.refresh != RefreshMode::None && self.refresh.due <= cycle {
            self.refresh.pending = true;
        }
        let queue = self.served(spec);
        let waiting = self.waiting_in(spec, queue);
        let turn = Turn { cycle, limit: spec.scheduler.limit(&waiting) };
        let look = self.look(spec, &waiting, turn);
        let columns = look.columns() & !self.refreshing(spec);
        let (preferred, next_change) = (look.preferred(), look.next_change());
        // No access is ready before the bus is free.
        let bus_is_free = match spec.queues {
            Queues::Apart => self.columns[queue as usize] <= cycle,
            Queues::One => self.columns.iter().any(|free| *free <= cycle),
        };
        let found = bus_is_free.then(|| find(preferred, columns, |banks| self.columns(banks, queue), cycle));
        let ready = found.and_then(|found| found.ready);
        let mut commanded = ready.is_some();
        let completed = ready.and_then(|bank| self.column(spec, timing, bank, queue, turn));
        let mut later = u64::MAX;
        if spec.dual_command_bus || !commanded {
            later = self.refresh_step(spec, timing, cycle, &mut commanded);
            if later > cycle {
                let waiting = self.waiting_in(spec, queue);
                let look = self.look(spec, &waiting, turn);
                let banks = look.rows() & !self.refreshing(spec);
                let rows = find(look.preferred(), banks, |banks| self.rows(banks, queue), cycle);
                if let Some(bank) = rows.ready {
                    let place = look.row_of(bank);
                    self.change_row(spec, cycle, bank, queue, place);
                    commanded = true;
                }
                later = later.min(rows.later).min(next_change);
            }
        }
        if !commanded {
            let columns =
                found.unwrap_or_else(|| find(preferred, columns, |banks| self.columns(banks, queue), cycle));
            later = later.min(columns.later);
        }
        self.next = match (self.is_idle(), commanded) {
            (true, _) => u64::MAX,
            (false, true) => self.in_slot(spec, cycle + 1),
            (false, false) => self.in_slot(spec, later.max(cycle + 1)),
        };
        completed
    }

    /// The queue being served.
    fn served(&mut self, spec: &DramSpec) -> Direction {
        let [reads, writes] = self.queued;
        if spec.queues == Queues::One {
            return Direction::Read;
        }
        if !self.draining && writes >= spec.write_high {
            self.draining = true;
            self.counters.drains += 1;
        } else if self.draining && writes <= spec.write_low {
            self.draining = false;
        }
        if self.draining || reads == 0 { Direction::Write } else { Direction::Read }
    }

    /// Mask of banks with a pending refresh.
    fn refreshing(&self, spec: &DramSpec) -> u64 {
        match spec.refresh {
            _ if !self.refresh.pending => 0,
            RefreshMode::None => 0,
            RefreshMode::AllBank => u64::MAX,
            RefreshMode::PerBank => 1 << self.refresh.bank,
        }
    }

    /// Column commands for the banks' row hits.
    fn columns(&self, banks: u64, queue: Direction) -> impl Iterator<Item = Candidate> {
        bits(banks).map(move |bank| {
            let state = &self.banks[usize::from(bank)];
            let of_bank = &state.queues[queue as usize];
            let direction = of_bank.hit_direction as usize;
            let group = self.groups[usize::from(state.group)][direction];
            let from = state.column_at.max(group).max(self.columns[direction]);
            Candidate { from, age: of_bank.hit_age, bank }
        })
    }

    /// Row commands for the banks' oldest accesses.
    fn rows(&self, banks: u64, queue: Direction) -> impl Iterator<Item = Candidate> {
        let common = self.activate_at.max(self.activations[0]);
        bits(banks).map(move |bank| {
            let state = &self.banks[usize::from(bank)];
            let from = match state.open {
                None => state.activate_at.max(common),
                Some(_) => state.precharge_at,
            };
            Candidate { from, age: state.queues[queue as usize].oldest_age, bank }
        })
    }

    fn command(&mut self, cycle: u64, kind: CommandKind, bank: u8, row: u64) {
        self.commanded = cycle;
        if let Some(checker) = &mut self.checker {
            checker.observe(cycle, Command { kind, bank, row });
        }
    }

    fn column(
        &mut self,
        spec: &DramSpec,
        timing: &Timing,
        bank: u8,
        queue: Direction,
        turn: Turn,
    ) -> Option<Completed> {
        let cycle = turn.cycle;
        let place = self.look(spec, &self.waiting_in(spec, queue), turn).column_of(bank);
        let state = &mut self.banks[bank as usize];
        let of_bank = &mut state.queues[queue as usize];
        let oldest = place.or(of_bank.hit) == Some(0);
        let access = of_bank.remove_hit(state.open, place)?;
        let Access { direction, source, .. } = access;
        let issued = Issued { cycle, bank, oldest, source, line: (access.row, access.column) };
        self.scheduling.issued(spec.scheduler, &spec.scheduling, issued);
        self.queued[queue as usize] -= 1;
        self.counters.bus_cycles += timing.burst;
        let counters = &mut self.counters;
        let (count, hits, misses, kind, before_precharge) = match direction {
            Direction::Read => (
                &mut counters.reads,
                &mut counters.read_row_hits,
                &mut counters.read_row_misses,
                CommandKind::Read,
                u64::from(spec.rtp),
            ),
            Direction::Write => (
                &mut counters.writes,
                &mut counters.write_row_hits,
                &mut counters.write_row_misses,
                CommandKind::Write,
                timing.write_to_precharge,
            ),
        };
        *count += 1;
        *(if access.activated { misses } else { hits }) += 1;
        state.precharge_at = state.precharge_at.max(cycle + before_precharge);
        self.queue_changed(bank, queue);
        self.count_access(timing, cycle, bank, direction, !access.activated);
        self.keep_apart(spec, timing, cycle, bank, direction);
        self.command(cycle, kind, bank, access.row);
        let Access { slice, slot, sectors, accepted, .. } = access;
        let done = cycle + timing.read_data;
        (direction == Direction::Read).then(|| {
            let latency = u64::from((done as u32).wrapping_sub(accepted));
            self.counters.read_latencies.add_one(latency);
            Completed { cycle: done, slice, slot, sectors }
        })
    }

    /// Counts an access that left its queue, with its data on the bus at once: busy cycles cover it.
    fn count_access(&mut self, timing: &Timing, cycle: u64, bank: u8, direction: Direction, row_hit: bool) {
        let (is_idle, is_occupied, end) = (self.is_idle(), self.is_occupied(bank), cycle + timing.burst);
        let BankActivity { counts, busy_since } = &mut self.activity[usize::from(bank)];
        *(match direction {
            Direction::Read => &mut counts.reads,
            Direction::Write => &mut counts.writes,
        }) += 1;
        counts.row_hits += u64::from(row_hit);
        if !is_occupied {
            counts.busy_cycles += end.saturating_sub(*busy_since);
            *busy_since = end;
        }
        if is_idle {
            self.counters.busy_cycles += end - cycle.max(self.busy_to.min(end));
            self.busy_to = end;
        }
    }

    /// Applies the minimum distances after a column command.
    fn keep_apart(&mut self, spec: &DramSpec, timing: &Timing, cycle: u64, bank: u8, direction: Direction) {
        let other = match direction {
            Direction::Read => timing.read_to_write,
            Direction::Write => timing.write_to_read,
        };
        let (same, opposite) = (direction as usize, 1 - direction as usize);
        self.columns[same] = cycle + u64::from(spec.ccd_s);
        self.columns[opposite] = self.columns[opposite].max(cycle + other);
        self.groups[usize::from(self.banks[usize::from(bank)].group)][same] = cycle + u64::from(spec.ccd_l);
    }

    /// Opens or closes a bank's row for a queued access.
    fn change_row(&mut self, spec: &DramSpec, cycle: u64, bank: u8, queue: Direction, place: usize) {
        let state = &mut self.banks[bank as usize];
        if state.open.is_some() {
            self.precharge(spec, cycle, bank);
            return;
        }
        let Some(access) = state.queues[queue as usize].accesses.get_mut(place) else { return };
        access.activated = true;
        let row = access.row;
        state.set_open(Some(row));
        state.column_at = cycle + u64::from(spec.rcd);
        state.precharge_at = cycle + u64::from(spec.ras);
        state.activate_at = cycle + u64::from(spec.rc);
        self.bank_changed(bank);
        self.activate_at = cycle + u64::from(spec.rrd);
        self.activations.rotate_left(1);
        self.activations[3] = cycle + u64::from(spec.faw);
        self.counters.activates += 1;
        self.activity[usize::from(bank)].counts.activates += 1;
        self.command(cycle, CommandKind::Activate, bank, row);
    }

    fn precharge(&mut self, spec: &DramSpec, cycle: u64, bank: u8) {
        let state = &mut self.banks[bank as usize];
        state.set_open(None);
        state.activate_at = state.activate_at.max(cycle + u64::from(spec.rp));
        self.bank_changed(bank);
        self.counters.precharges += 1;
        self.command(cycle, CommandKind::Precharge, bank, 0);
    }

    /// The next row command of a pending refresh: first cycle and the bank to precharge.
    fn refresh_command(&self, spec: &DramSpec) -> (u64, Option<u8>) {
        let all = spec.refresh == RefreshMode::AllBank;
        let mine = |bank: &usize| all || *bank == usize::from(self.refresh.bank);
        let banks = (0..self.banks.len()).filter(mine);
        let open = banks.clone().filter(|bank| self.banks[*bank].open.is_some());
        match open.min_by_key(|bank| self.banks[*bank].precharge_at) {
            Some(bank) => (self.banks[bank].precharge_at, Some(bank as u8)),
            None => (banks.map(|bank| self.banks[bank].activate_at).max().unwrap_or(0), None),
        }
    }

    /// Advances a due refresh. Returns the cycle of its next step.
    fn refresh_step(&mut self, spec: &DramSpec, timing: &Timing, cycle: u64, commanded: &mut bool) -> u64 {
        if spec.refresh == RefreshMode::None {
            return u64::MAX;
        }
        if !self.refresh.pending {
            return self.refresh.due;
        }
        let (from, closes) = self.refresh_command(spec);
        if from <= cycle {
            *commanded = true;
            match closes {
                Some(bank) => self.precharge(spec, cycle, bank),
                None => self.refresh_now(spec, timing, cycle),
            }
        }
        from
    }

    fn refresh_now(&mut self, spec: &DramSpec, timing: &Timing, cycle: u64) {
        let ready = cycle + u64::from(spec.rfc);
        let (kind, bank) = match spec.refresh {
            RefreshMode::AllBank => {
                self.banks.iter_mut().for_each(|bank| bank.activate_at = ready);
                (CommandKind::RefreshAll, 0)
            }
            _ => {
                self.banks[self.refresh.bank as usize].activate_at = ready;
                (CommandKind::Refresh, self.refresh.bank)
            }
        };
        self.counters.refreshes += 1;
        self.refresh.done(timing.refresh_interval, spec.banks);
        self.command(cycle, kind, bank, 0);
    }

    /// Catches up on the refreshes of an idle period.
    fn catch_up(&mut self, spec: &DramSpec, timing: &Timing, cycle: u64) {
        if spec.refresh == RefreshMode::None {
            return;
        }
        self.rest(spec, timing, cycle);
        loop {
            self.refresh.pending |= self.refresh.due < cycle;
            let (from, closes) = self.refresh_command(spec);
            let at = self.in_slot(spec, from.max(self.refresh.due).max(self.commanded + 1));
            if !self.refresh.pending || at >= cycle {
                return;
            }
            match closes {
                Some(bank) => self.precharge(spec, at, bank),
                None => self.refresh_now(spec, timing, at),
            }
        }
    }

    /// After a long idle period, closes all rows and restarts the refresh schedule.
    fn rest(&mut self, spec: &DramSpec, timing: &Timing, cycle: u64) {
        let round = timing.refresh_interval.max(1) * u64::from(spec.banks);
        let rounds = (cycle.saturating_sub(self.refresh.due) / round).saturating_sub(2);
        if rounds < 2 {
            return;
        }
        for bank in 0..self.banks.len() {
            if self.banks[bank].open.is_some() {
                let at = self.in_slot(spec, self.banks[bank].precharge_at.max(self.commanded + 1));
                self.precharge(spec, at, bank as u8);
            }
        }
        self.counters.refreshes += rounds * u64::from(spec.banks);
        self.refresh.due += rounds * round;
        if let Some(checker) = &mut self.checker {
            checker.rested(self.refresh.due);
        }
    }
}
