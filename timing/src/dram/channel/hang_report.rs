//! Queued accesses by bank, for hang reports.

use super::{Access, Channel, Direction, DramSpec, bits};
use crate::hang_report::{BankQueue, WaitingBank};

impl Channel {
    /// The bank queue of a sector's read, if it is in this channel.
    pub fn bank_queue(&self, spec: &DramSpec, slice: u8, slot: u32, sector: u8) -> Option<BankQueue> {
        self.banks.iter().zip(0..).find_map(|(bank, number)| {
            let reads = &bank.queues[Direction::Read as usize].accesses;
            let wanted = |access: &Access| {
                (access.slice, access.slot, access.direction) == (slice, slot, Direction::Read)
                    && access.sectors >> sector & 1 != 0
            };
            let place = reads.iter().position(wanted)?;
            let ahead = reads.range(..place).map(Access::count).sum::<u32>();
            let before = ahead + (reads[place].sectors & ((1 << sector) - 1)).count_ones();
            Some(BankQueue {
                bank: number,
                row: reads[place].row,
                before: before as usize,
                open: bank.open,
                refreshes: self.refreshes(spec, number),
                writes_first: self.draining,
            })
        })
    }

    /// Banks with accesses.
    pub fn waiting_banks(&self, spec: &DramSpec) -> Vec<WaitingBank> {
        let [reads, writes] = self.occupied;
        let waiting = |number: u8| {
            let bank = &self.banks[usize::from(number)];
            let accesses = bank.queues.iter().filter_map(|queue| queue.accesses.front());
            let oldest = accesses.min_by_key(|access| access.age)?;
            Some(WaitingBank {
                bank: number,
                queued: [Direction::Read, Direction::Write].map(|direction| {
                    let accesses = bank.queues.iter().flat_map(|queue| &queue.accesses);
                    let accesses = accesses.filter(|access| access.direction == direction);
                    accesses.map(Access::count).sum::<u32>() as usize
                }),
                row: oldest.row,
                open: bank.open,
                refreshes: self.refreshes(spec, number),
            })
        };
        bits(reads | writes).filter_map(waiting).collect()
    }

    fn refreshes(&self, spec: &DramSpec, bank: u8) -> bool {
        self.refreshing(spec) >> bank & 1 != 0
    }
}
