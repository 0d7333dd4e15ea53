//! View of a cache set for replacement policies.

/// Lines of a set in age order. A line is youngest when it is filled or renewed.
pub trait Lines {
    /// Identifies a line of the set.
    type Line: Copy + PartialEq;

    /// The next younger line after `line`, or the oldest line for `None`.
    fn younger(&self, line: Option<Self::Line>) -> Option<Self::Line>;

    /// Tells whether the cache permits eviction of the line: for example, no sector is outstanding.
    fn may_go(&self, line: Self::Line) -> bool;

    /// The policy's byte for a line; 0 after a fill.
    fn mark(&self, line: Self::Line) -> u8;

    /// The oldest evictable line whose mark fits.
    #[inline(always)]
    fn oldest(&self, fits: impl Fn(u8) -> bool) -> Option<Self::Line> {
        let mut next = self.younger(None);
        while let Some(line) = next {
            if self.may_go(line) && fits(self.mark(line)) {
                return Some(line);
            }
            next = self.younger(Some(line));
        }
        None
    }
}

/// View of a set for changes of age and mark.
pub trait LinesMut: Lines {
    /// Sets the policy's byte for a line.
    fn set_mark(&mut self, line: Self::Line, mark: u8);

    /// Makes a line the youngest.
    fn renew(&mut self, line: Self::Line);
}
