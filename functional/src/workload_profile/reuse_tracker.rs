//! Reuse tracker: lines of global memory in the order of their last access. The order gives the content of
//! a fully associative LRU cache of any size.

use std::ops::AddAssign;

use rustc_hash::FxHashMap;
use warp_stream::{Past, Trace, UsedPage};

/// Bytes of a line, as a power of two.
const LINE: u32 = Past::LINE.trailing_zeros();
/// Minimum number of tracked lines: 32 MB.
const LINES: usize = 1 << 18;
/// Accesses per coarse time group, as a power of two.
const CROWD: u32 = 10;
/// Accesses after which times are renumbered.
const ACCESSES: u64 = 1 << 22;
/// Approximate lines of an L2: 4 MB. At a larger distance, data has left the L2, and written data no longer
/// merges with later writes.
const APART: u64 = (4 << 20) >> LINE;

/// Lines of an L1 (Volta's).
const L1_LINES: u32 = 1024;
/// Accesses per fine time group, among the most recent ones, as a power of two.
const GROUP: u32 = 5;

/// Reuse of accessed sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reuse {
    /// Sectors that are untracked, or accessed so long ago that no L2 holds them.
    pub(super) new: u64,
    /// Sectors among `new`, and those with a reuse distance above a CTA's share of an L1.
    pub(super) far: u64,
    /// Maximum number of writes by this launch to one line.
    pub(super) hottest: u64,
    /// Pages that no kernel has accessed before.
    pub(super) pages: u64,
}

impl AddAssign for Reuse {
    fn add_assign(&mut self, other: Reuse) {
        self.new += other.new;
        self.far += other.far;
        self.hottest = self.hottest.max(other.hottest);
        self.pages += other.pages;
    }
}

/// Accessing CTA.
#[derive(Clone, Copy, Debug)]
pub(super) struct By {
    /// Number of the CTA.
    pub(super) cta: u64,
    /// Co-resident CTAs per SM.
    pub(super) sharing: u32,
}

/// Kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Read followed by a write.
    Modify,
}

/// Tracked lines with the times of their last accesses.
#[derive(Debug, Default)]
pub struct ReuseTracker {
    lines: FxHashMap<u64, Touch>,
    now: u64,
    /// Number of lines last accessed in each coarse time group ([`CROWD`]).
    crowds: Vec<u32>,
    /// Number of launches.
    launches: u32,
    /// Number of lines last accessed in each fine time group ([`GROUP`]), among the most recent accesses.
    groups: Groups,
    /// Pages accessed by kernels, with time and CTAs.
    pages: FxHashMap<u64, PageTouch>,
    /// Most recently accessed page.
    last_page: Option<UsedPage>,
    /// Number of changes between pages.
    page_changes: u64,
}

/// Number of lines last accessed in each fine time group.
#[derive(Clone, Copy, Debug, Default)]
struct Groups([u32; (L1_LINES >> GROUP) as usize]);

impl Groups {
    /// State after one line per time until `now`.
    fn after(now: u64) -> Groups {
        let mut groups = Groups::default();
        for when in now.saturating_sub(L1_LINES.into()) + 1..=now {
            if Groups::has(now, when) {
                *groups.place(when) += 1;
            }
        }
        groups
    }

    /// True if the group of an earlier time is still tracked.
    fn has(now: u64, when: u64) -> bool {
        (now >> GROUP) - (when >> GROUP) < u64::from(L1_LINES >> GROUP)
    }

    fn place(&mut self, when: u64) -> &mut u32 {
        let groups = self.0.len();
        &mut self.0[(when >> GROUP) as usize % groups]
    }

    /// Records an access at `now` to a line accessed at `before`, if ever. Returns the reuse distance in
    /// lines, at most [`L1_LINES`].
    fn access(&mut self, now: u64, before: Option<u64>) -> u32 {
        if now.is_multiple_of(1 << GROUP) {
            *self.place(now) = 0;
        }
        *self.place(now) += 1;
        let Some(before) = before.filter(|when| Groups::has(now, *when)) else { return L1_LINES };
        *self.place(before) -= 1;
        ((before >> GROUP) + 1..=now >> GROUP).map(|group| *self.place(group << GROUP)).sum()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Touch {
    when: u64,
    read: u8,
    written: u8,
    bytes: u128,
    read_away: [u16; 4],
    written_away: [u16; 4],
    /// Number of writes by a launch, and the launch.
    writes: (u32, u32),
}

#[derive(Clone, Copy, Debug, Default)]
struct PageTouch {
    when: u64,
    ctas: u64,
}

impl Touch {
    /// Ages the sectors by `lines` accessed lines.
    fn leave(&mut self, lines: u64) {
        let away = u16::try_from(lines.div_ceil(Trace::AWAY)).unwrap_or(u16::MAX);
        for known in self.read_away.iter_mut().chain(&mut self.written_away) {
            *known = away.max(*known);
        }
    }

    fn read(&mut self, sectors: u8) {
        self.read |= sectors;
        each(sectors, |sector| self.read_away[sector] = 0);
    }

    fn write(&mut self, sectors: u8, bytes: u128) {
        each(sectors, |sector| {
            if u64::from(self.written_away[sector]) * Trace::AWAY > APART {
                self.bytes &= !Trace::bytes_of(1 << sector);
            }
            self.written_away[sector] = 0;
        });
        self.written |= sectors;
        self.bytes |= bytes;
    }
}

fn each(sectors: u8, act: impl FnMut(usize)) {
    (0..4).filter(|sector| sectors >> sector & 1 != 0).for_each(act);
}

impl ReuseTracker {
    /// Records an access of a kernel's CTA.
    pub(super) fn access(&mut self, address: u64, bytes: u64, access: AccessKind, by: By) -> Reuse {
        let new_pages =
            Past::pages_of(address, bytes).filter(|page| self.use_page(*page, by.cta + 1)).count();
        Reuse { pages: new_pages as u64, ..self.touch_all(address, bytes, access, Some(by)) }
    }

    /// Records the end of a launch.
    pub(super) fn end_launch(&mut self) {
        self.launches = self.launches.wrapping_add(1);
    }

    /// Records a copy or fill.
    pub fn copy(&mut self, address: u64, bytes: u64, writes: bool) {
        self.touch_all(address, bytes, if writes { AccessKind::Write } else { AccessKind::Read }, None);
    }

    /// Records an access of CTAs below `ctas` to a page; returns whether it is the first by a kernel.
    fn use_page(&mut self, address: u64, ctas: u64) -> bool {
        if self.last_page.is_some_and(|last| last.address == address && ctas <= last.ctas) {
            return false;
        }
        self.page_changes += 1;
        let page = self.pages.entry(address).or_default();
        let is_new = page.when == 0;
        *page = PageTouch { when: self.page_changes, ctas: page.ctas.max(ctas) };
        self.last_page = Some(UsedPage { address, ctas: page.ctas });
        is_new
    }

    /// Records an access to bytes, in address order, by a kernel's CTA or a copy.
    fn touch_all(&mut self, address: u64, bytes: u64, access: AccessKind, by: Option<By>) -> Reuse {
        let mut found = Reuse::default();
        let end = address.saturating_add(bytes.max(1)) - 1;
        // Of an access beyond the capacity, only the last part is tracked.
        let first = (address >> LINE).max((end >> LINE).saturating_sub(LINES as u64));
        for line in first..=end >> LINE {
            let start = (line << LINE).max(address);
            let last = ((line << LINE) + (1 << LINE) - 1).min(end);
            let within = |address: u64| (address & ((1 << LINE) - 1)) as u32;
            let bytes = u128::MAX << within(start) & u128::MAX >> (127 - within(last));
            found += self.touch(line, bytes, access, by);
        }
        found
    }

    fn touch(&mut self, line: u64, bytes: u128, access: AccessKind, by: Option<By>) -> Reuse {
        self.begin_access();
        let crowd = (self.now >> CROWD) as usize;
        let touch = self.lines.entry(line).or_default();
        let before = (touch.when > 0).then_some(touch.when);
        let near = L1_LINES / by.map_or(1, |by| by.sharing.max(1));
        let is_far = self.groups.access(self.now, before) >= near;
        let mut is_gone = false;
        if touch.when > 0 {
            let before = (touch.when >> CROWD) as usize;
            if before < crowd {
                let since: u32 = self.crowds[before + 1..].iter().sum();
                touch.leave(since.into());
                is_gone = u64::from(since) > APART;
            }
            self.crowds[before] -= 1;
        }
        self.crowds[crowd] += 1;
        touch.when = self.now;
        let accessed = (0..4).filter(|sector| bytes & Trace::bytes_of(1 << sector) != 0);
        let sectors = accessed.fold(0, |sectors: u8, sector| sectors | 1 << sector);
        let new = if is_gone { sectors } else { sectors & !(touch.read | touch.written) };
        if access != AccessKind::Write {
            touch.read(sectors);
        }
        if access != AccessKind::Read {
            touch.write(sectors, bytes);
        }
        let by_kernel = access != AccessKind::Read && by.is_some();
        if by_kernel {
            let (writes, launch) = touch.writes;
            touch.writes = (if launch == self.launches { writes + 1 } else { 1 }, self.launches);
        }
        let hottest = if by_kernel { touch.writes.0.into() } else { 0 };
        if self.lines.len() >= 2 * LINES {
            self.forget();
        }
        let far = if is_far { sectors } else { new };
        Reuse { new: new.count_ones().into(), far: far.count_ones().into(), hottest, pages: 0 }
    }

    fn begin_access(&mut self) {
        if self.now == ACCESSES {
            self.renumber();
        }
        self.now += 1;
        self.crowds.resize((self.now >> CROWD) as usize + 1, 0);
    }

    /// Drops all but the most recent lines.
    fn forget(&mut self) {
        let mut times: Vec<u64> = self.lines.values().map(|touch| touch.when).collect();
        let (_, oldest, _) = times.select_nth_unstable(LINES);
        let oldest = *oldest;
        self.lines.retain(|_, touch| touch.when >= oldest);
        self.renumber();
    }

    /// Renumbers the times of accesses from 1, one line per time.
    fn renumber(&mut self) {
        let mut touches: Vec<&mut Touch> = self.lines.values_mut().collect();
        touches.sort_unstable_by_key(|touch| touch.when);
        self.crowds.clear();
        for (touch, when) in touches.iter_mut().zip(1..) {
            touch.when = when;
            self.crowds.resize((when >> CROWD) as usize + 1, 0);
            self.crowds[(when >> CROWD) as usize] += 1;
        }
        self.now = touches.len() as u64;
        self.groups = Groups::after(self.now);
    }

    /// Pages accessed by kernels, the most recent last.
    pub fn pages(&self) -> Vec<UsedPage> {
        let mut pages: Vec<(&u64, &PageTouch)> = self.pages.iter().collect();
        pages.sort_unstable_by_key(|(_, touch)| touch.when);
        pages.into_iter().map(|(address, touch)| UsedPage { address: *address, ctas: touch.ctas }).collect()
    }

    /// Tracked lines, the most recent last.
    pub fn last(&self) -> Vec<Trace> {
        let mut lines: Vec<(&u64, &Touch)> = self.lines.iter().collect();
        lines.sort_unstable_by_key(|(_, touch)| touch.when);
        let last = lines.split_off(lines.len().saturating_sub(LINES));
        let trace = |(line, touch): (&u64, &Touch)| {
            let Touch { when: _, read, written, bytes, read_away, written_away, writes: _ } = *touch;
            Trace { line: line << LINE, read, written, bytes, read_away, written_away }
        };
        last.into_iter().map(trace).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::AccessKind::{Modify, Read, Write};
    use super::*;

    const ALONE: By = By { cta: 0, sharing: 1 };

    fn line(line: u64, read: u8, written: u8) -> Trace {
        Trace { line, read, written, bytes: Trace::bytes_of(written), ..Trace::default() }
    }

    #[test]
    fn lines_are_ordered_by_last_access() {
        let mut reuse_tracker = ReuseTracker::default();
        reuse_tracker.access(0x1000, 4, Read, ALONE);
        reuse_tracker.access(0x20e0, 64, Write, ALONE);
        reuse_tracker.access(0x1060, 32, Write, ALONE);
        assert_eq!(reuse_tracker.last(), [line(0x2080, 0, 8), line(0x2100, 0, 1), line(0x1000, 1, 8)]);
    }

    #[test]
    fn sector_is_far_beyond_the_ctas_share_of_an_l1() {
        let between = |lines: u64, sharing| {
            let mut reuse_tracker = ReuseTracker::default();
            let by = By { cta: 0, sharing };
            assert_eq!(
                reuse_tracker.access(0x1000, 64, Read, by),
                Reuse { new: 2, far: 2, hottest: 0, pages: 1 }
            );
            // Repeated accesses to a line count once.
            for _ in 0..3 {
                reuse_tracker.access(0x100000, lines << LINE, Read, by);
            }
            reuse_tracker.access(0x1000, 64, Read, by).far
        };
        assert_eq!((between(100, 1), between(300, 1), between(1100, 1)), (0, 0, 2));
        assert_eq!((between(100, 8), between(200, 8)), (0, 2));
    }

    #[test]
    fn writes_per_line_and_launch_are_counted() {
        let mut reuse_tracker = ReuseTracker::default();
        let write = |reuse_tracker: &mut ReuseTracker, address| {
            reuse_tracker.access(address, 4, Modify, ALONE).hottest
        };
        assert_eq!(
            [0x1000, 0x1020, 0x2000, 0x1000].map(|address| write(&mut reuse_tracker, address)),
            [1, 2, 1, 3]
        );
        assert_eq!(reuse_tracker.access(0x1000, 4, Read, ALONE).hottest, 0);
        reuse_tracker.end_launch();
        reuse_tracker.copy(0x1000, 64, true);
        assert_eq!(write(&mut reuse_tracker, 0x1000), 1);
    }

    #[test]
    fn written_bytes_are_tracked_individually() {
        let mut reuse_tracker = ReuseTracker::default();
        reuse_tracker.access(0x1008, 4, Write, ALONE);
        reuse_tracker.access(0x1060, 1, Modify, ALONE);
        let bytes = 0xf << 8 | 1 << 0x60;
        assert_eq!(reuse_tracker.last(), [Trace { bytes, ..line(0x1000, 8, 9) }]);
    }

    #[test]
    fn first_access_makes_a_sector_new() {
        let mut reuse_tracker = ReuseTracker::default();
        assert_eq!(reuse_tracker.access(0x1000, 64, Read, ALONE).new, 2);
        assert_eq!(reuse_tracker.access(0x1020, 128, Write, ALONE).new, 3);
        assert_eq!(reuse_tracker.access(0x1000, 160, Read, ALONE).new, 0);
    }

    #[test]
    fn sector_is_new_again_beyond_an_l2() {
        let again = |bytes: u64| {
            let mut reuse_tracker = ReuseTracker::default();
            reuse_tracker.copy(0x1000, 128, true);
            reuse_tracker.copy(1 << 30, bytes, true);
            reuse_tracker.access(0x1000, 128, Read, ALONE).new
        };
        assert_eq!([again(1 << 20), again(3 << 20), again(5 << 20), again(30 << 20)], [0, 0, 4, 4]);
    }

    #[test]
    fn old_writes_of_a_reread_line_stay_far_away() {
        let mut reuse_tracker = ReuseTracker::default();
        reuse_tracker.access(0x1000, 128, Write, ALONE);
        reuse_tracker.access(1 << 30, 4 << 20, Read, ALONE);
        reuse_tracker.access(0x1000, 32, Read, ALONE);
        let found = *reuse_tracker.last().last().unwrap();
        // 4 MB have 32,768 lines, of which about a thousand may be indistinguishable from the line's own
        // time.
        let lines = u64::from(found.written_away[0]) * Trace::AWAY;
        assert!((31_000..=32_768).contains(&lines), "{lines}");
        assert_eq!((found.read_away[0], found.in_cache_of(48 << 10).written), (0, 0xf));
        assert_eq!((found.in_cache_of(16 << 10).written, found.in_cache_of(16 << 10).read), (0, 1));
    }

    #[test]
    fn repeated_accesses_to_few_lines_evict_none() {
        let mut reuse_tracker = ReuseTracker::default();
        reuse_tracker.access(0x1000, 128, Write, ALONE);
        for round in 0..100_000 {
            reuse_tracker.access(0x2000 + round % 64 * 128, 4, Read, ALONE);
        }
        reuse_tracker.access(0x1000, 4, Read, ALONE);
        assert_eq!(reuse_tracker.last().last().unwrap().written_away, [1; 4]);
    }

    #[test]
    fn renumbering_keeps_the_order() {
        let mut reuse_tracker = ReuseTracker::default();
        reuse_tracker.access(0x1000, 128, Write, ALONE);
        for round in 0..ACCESSES {
            reuse_tracker.access(0x2000 + round % 2 * 128, 4, Read, ALONE);
        }
        reuse_tracker.access(0x1000, 4, Read, ALONE);
        let lines: Vec<u64> = reuse_tracker.last().iter().map(|trace| trace.line).collect();
        assert_eq!(lines, [0x2000, 0x2080, 0x1000]);
        assert!(reuse_tracker.now < ACCESSES);
    }

    #[test]
    fn pages_record_the_last_cta_of_kernels() {
        let mut reuse_tracker = ReuseTracker::default();
        reuse_tracker.copy(0x20_0000, 64, true);
        reuse_tracker.access(0x3f_fffc, 8, Read, By { cta: 7, ..ALONE });
        reuse_tracker.copy(0x80_0000, 64, false);
        let page = |address, ctas| UsedPage { address, ctas };
        assert_eq!(reuse_tracker.pages(), [page(0x20_0000, 8), page(0x40_0000, 8)]);
        reuse_tracker.access(0x10, 4, Write, By { cta: 2, ..ALONE });
        reuse_tracker.access(0x20_0000, 4, Write, By { cta: 3, ..ALONE });
        assert_eq!(reuse_tracker.pages(), [page(0x40_0000, 8), page(0, 3), page(0x20_0000, 8)]);
    }

    #[test]
    fn first_kernel_access_makes_a_page_new() {
        let mut reuse_tracker = ReuseTracker::default();
        reuse_tracker.copy(0x20_0000, 64, true);
        let mut pages =
            |address, bytes, cta| reuse_tracker.access(address, bytes, Read, By { cta, ..ALONE }).pages;
        assert_eq!([pages(0x20_0000, 4, 0), pages(0x20_0008, 4, 3), pages(0x3f_fffc, 8, 3)], [1, 0, 1]);
        assert_eq!([pages(0x20_0000, 4, 9), pages(0x80_0000, 4, 0)], [0, 1]);
    }

    #[test]
    fn oldest_lines_are_dropped_beyond_capacity() {
        let mut reuse_tracker = ReuseTracker::default();
        reuse_tracker.access(0, 128, Read, ALONE);
        for part in 0..3_u64 {
            reuse_tracker.access(1 << 30 | part << 25, (LINES as u64) << LINE, Write, ALONE);
        }
        let last = reuse_tracker.last();
        assert_eq!(last.len(), LINES);
        assert!(last.iter().all(|trace| trace.line > 1 << 29));
        assert!(last.windows(2).all(|pair| pair[0].line < pair[1].line));
    }
}
