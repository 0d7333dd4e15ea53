//! Restoring and checking an L1 data cache.

use super::{ALL_SECTORS, Entry, L1, L1Spec, MOST_ENTRIES, NONE};
use crate::restore::{MOST_COUNTED, Once, Validity, countable, ensure};

/// Sectors expected from L2 and not yet found there, as a mask per entry.
#[derive(Debug)]
pub struct Expected(Vec<u8>);

impl Expected {
    /// Accounts for sectors on their way to an entry.
    pub(crate) fn find(&mut self, entry: u32, sectors: u8) -> Validity {
        let expected = self.0.get_mut(entry as usize).ok_or("sectors arrive for a missing L1 line")?;
        ensure(sectors & !*expected == 0, "unexpected sectors arrive in L1")?;
        *expected &= !sectors;
        Ok(())
    }

    /// Checks that nothing is missing.
    pub(crate) fn all_found(&self) -> Validity {
        ensure(self.0.iter().all(|expected| *expected == 0), "sectors expected by L1 never arrive")
    }
}

impl L1 {
    /// Restores a cache at a core cycle. Calls `waits` for each access that waits for a line.
    ///
    /// # Errors
    /// The state is invalid.
    pub fn restore(
        &mut self,
        spec: &L1Spec,
        now: u64,
        mut waits: impl FnMut(u32) -> Validity,
    ) -> Result<Expected, &'static str> {
        self.table.clear();
        countable(&self.counters)?;
        ensure(self.sets.len() == spec.sets as usize, "the number of L1 sets differs")?;
        ensure((1..=spec.ways(spec.size)).contains(&self.ways), "the size of L1 differs")?;
        ensure(self.entries.capacity() <= MOST_ENTRIES, "L1 has too many lines")?;
        let mut free = self.entries.places()?;
        let mut expected = Expected(Vec::new());
        let mut waiters = self.waiters.places()?;
        for number in 0..self.entries.capacity() {
            expected.0.push(0);
            if free.has(number) {
                continue;
            }
            let entry = self.entries[number];
            self.check_entry(spec, &entry)?;
            self.check_waiters(&entry, &mut waiters, &mut waits)?;
            ensure(self.table.find(entry.line, &self.entries).is_none(), "a line is twice in L1")?;
            self.table.insert(entry.line, number);
            expected.0[number as usize] = entry.pending;
        }
        waiters.all()?;
        self.check_sets(&mut free)?;
        let misses = expected.0.iter().filter(|pending| **pending != 0).count();
        ensure(misses == self.misses as usize, "the number of outstanding L1 lines differs")?;
        let counted = now.checked_sub(self.counted).and_then(|cycles| cycles.checked_mul(misses as u64));
        ensure(counted.is_some_and(|count| count < MOST_COUNTED), "an L1 line is outstanding for too long")?;
        Ok(expected)
    }

    fn check_entry(&self, spec: &L1Spec, entry: &Entry) -> Validity {
        let Entry { line, valid, pending, untranslated, resident, set, .. } = *entry;
        ensure(spec.set_hash.set(line, spec.sets) == set, "an L1 line is in a wrong set")?;
        ensure(pending != 0 || !untranslated, "an L1 line waits for a translation without a request")?;
        let sectors = (valid | pending) & !ALL_SECTORS == 0 && valid & pending == 0;
        ensure(sectors && (resident || valid == 0), "an L1 line has invalid sectors")
    }

    fn check_waiters(
        &self,
        entry: &Entry,
        waiters: &mut Once,
        waits: &mut impl FnMut(u32) -> Validity,
    ) -> Validity {
        let (mut waiter, mut last, mut count) = (entry.first_waiter, NONE, 0);
        while waiter != NONE {
            waiters.reach(waiter)?;
            let record = self.waiters[waiter];
            let comes = record.sectors != 0 && record.sectors & !entry.pending == 0;
            ensure(comes, "an access waits for sectors that are not outstanding")?;
            waits(record.access)?;
            (last, waiter, count) = (waiter, record.next, count + 1);
        }
        ensure(
            (last, count) == (entry.last_waiter, entry.waiters),
            "the number of accesses that wait for an L1 line differs",
        )
    }

    /// Checks that each resident line is in the list of its set. `reached` holds the entries
    /// without a line.
    fn check_sets(&self, reached: &mut Once) -> Validity {
        for (number, set) in (0..).zip(&self.sets) {
            let (mut line, mut previous, mut count) = (set.first, NONE, 0);
            while line != NONE {
                reached.reach(line)?;
                let entry = self.entries[line];
                let own = entry.set == number && entry.resident && entry.previous == previous;
                ensure(own, "an L1 set contains a line of another set")?;
                (previous, line, count) = (line, entry.next, count + 1);
            }
            ensure((previous, count) == (set.last, set.lines), "the number of lines in an L1 set differs")?;
        }
        let lost = |number: u32| !reached.has(number) && self.entries[number].resident;
        ensure(!(0..self.entries.capacity()).any(lost), "an L1 line is in no set")
    }
}
