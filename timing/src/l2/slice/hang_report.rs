//! Locations of a slice's requests, for the hang report.

use std::collections::BTreeMap;

use super::{DramAccess, Slice, Stalled, Work};
use crate::hang_report::{Located, MissingSector, Place, SectorRead};

impl Slice {
    /// Summary of waiting requests.
    pub fn waiting(&self) -> String {
        let stall = match self.stalled {
            None => String::new(),
            Some(Stalled { cause, since, .. }) => format!(", the first for {cause} since L2 cycle {since}"),
        };
        format!(
            "slice {}: {} requests queued{stall}, {} requests wait for {} sectors from DRAM, {} DRAM accesses wait for room",
            self.exit.slice,
            self.input.len(),
            self.waiting.count(),
            self.outstanding,
            self.missed
        )
    }

    /// Location of each request; `in_channel` finds the read of a sector (slot and sector) outside
    /// the slice.
    pub fn locate(&self, in_channel: impl Fn(u32, u8) -> SectorRead) -> Vec<Located> {
        let slice = self.exit.slice;
        let stall = self.stalled.map(|stalled| stalled.cause);
        let queued = self.input.iter().enumerate().map(|(before, arrival)| Located {
            reply: arrival.request.message.reply(),
            place: Place::SliceQueue { slice, before, stall },
        });
        let mut waiting: BTreeMap<u32, (Work, Vec<MissingSector>)> = BTreeMap::new();
        self.waiting.each(|number, work, slot, sector| {
            let sector = sector as u8;
            let read = self.read_here(slot, sector).unwrap_or_else(|| in_channel(slot, sector));
            waiting.entry(number).or_insert((*work, Vec::new())).1.push(MissingSector { sector, read });
        });
        let waiting = waiting
            .into_values()
            .map(|(work, missing)| Located { reply: work.reply, place: Place::Sectors { slice, missing } });
        queued.chain(waiting).collect()
    }

    /// Location of a sector's read if it has not left the slice or is back.
    fn read_here(&self, slot: u32, sector: u8) -> Option<SectorRead> {
        let is_one = |sectors: u8| sectors >> sector & 1 != 0;
        if let Some(fill) = self.fills.iter().find(|fill| fill.slot == slot && is_one(fill.sectors)) {
            return Some(SectorRead::Coming { cycle: fill.cycle });
        }
        let is_read = |access: &DramAccess| !access.write && access.slot == slot && is_one(access.sectors);
        let place = self.misses.iter().position(is_read)?;
        let ahead: u32 = self.misses.range(..place).map(|access| access.sectors.count_ones()).sum();
        let before = ahead + (self.misses[place].sectors & ((1 << sector) - 1)).count_ones();
        Some(SectorRead::MissQueue { before: before as usize })
    }
}
