//! Check of a restored L1 data cache, and its derived state.

use super::{ALL_SECTORS, Entry, L1, L1Spec, MOST_ENTRIES, NONE};
use crate::restore::{MOST_COUNTED, Once, Validity, countable, ensure};

/// Sectors that are on their way from L2 and have not been found there, as a mask for each entry.
#[derive(Debug)]
pub struct Expected(Vec<u8>);

impl Expected {
    /// Sectors for an entry are found.
    pub(crate) fn find(&mut self, entry: u32, sectors: u8) -> Validity {
        let expected = self.0.get_mut(entry as usize).ok_or("sectors come for no line of L1")?;
        ensure(sectors & !*expected == 0, "sectors come that L1 does not expect")?;
        *expected &= !sectors;
        Ok(())
    }

    /// All were found.
    pub(crate) fn all_found(&self) -> Validity {
        ensure(self.0.iter().all(|expected| *expected == 0), "sectors that L1 expects do not come")
    }
}

impl L1 {
    /// Makes one that was read ready to run at a core cycle. `waits` is told of each access that
    /// waits for a line.
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
        ensure(self.sets.len() == spec.sets as usize, "L1 has another number of sets")?;
        ensure((1..=spec.ways(spec.size)).contains(&self.ways), "L1 has another size")?;
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
            ensure(self.table.find(entry.line, &self.entries).is_none(), "L1 has a line twice")?;
            self.table.insert(entry.line, number);
            expected.0[number as usize] = entry.pending;
        }
        waiters.all()?;
        self.check_sets(&mut free)?;
        let misses = expected.0.iter().filter(|pending| **pending != 0).count();
        ensure(misses == self.misses as usize, "another number of lines is on its way to L1")?;
        let counted = now.checked_sub(self.counted).and_then(|cycles| cycles.checked_mul(misses as u64));
        ensure(
            counted.is_some_and(|count| count < MOST_COUNTED),
            "lines are on their way to L1 for too long",
        )?;
        Ok(expected)
    }

    fn check_entry(&self, spec: &L1Spec, entry: &Entry) -> Validity {
        let Entry { line, valid, pending, untranslated, resident, set, .. } = *entry;
        ensure(spec.set_hash.set(line, spec.sets) == set, "a line of L1 is in another set")?;
        ensure(pending != 0 || !untranslated, "a line of L1 waits for a translation of no request")?;
        let sectors = (valid | pending) & !ALL_SECTORS == 0 && valid & pending == 0;
        ensure(sectors && (resident || valid == 0), "a line of L1 has no such sectors")
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
            ensure(comes, "an access waits for sectors that do not come")?;
            waits(record.access)?;
            (last, waiter, count) = (waiter, record.next, count + 1);
        }
        ensure(
            (last, count) == (entry.last_waiter, entry.waiters),
            "another number of accesses waits for a line",
        )
    }

    /// Each line with a place is in the list of its set; `reached` has places without a line.
    fn check_sets(&self, reached: &mut Once) -> Validity {
        for (number, set) in (0..).zip(&self.sets) {
            let (mut line, mut previous, mut count) = (set.first, NONE, 0);
            while line != NONE {
                reached.reach(line)?;
                let entry = self.entries[line];
                let own = entry.set == number && entry.resident && entry.previous == previous;
                ensure(own, "a set of L1 has another's line")?;
                (previous, line, count) = (line, entry.next, count + 1);
            }
            ensure((previous, count) == (set.last, set.lines), "a set of L1 has another number of lines")?;
        }
        let lost = |number: u32| !reached.has(number) && self.entries[number].resident;
        ensure(!(0..self.entries.capacity()).any(lost), "a line of L1 is in no set")
    }
}
