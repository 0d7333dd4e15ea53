//! A set of a cache, as a replacement policy sees it.

/// The lines of one set in the order of their age. A line is young when it comes and when it is
/// renewed.
pub trait Lines {
    /// Names a line of the set.
    type Line: Copy + PartialEq;

    /// The line next in age after `line`, and the oldest line for `None`.
    fn younger(&self, line: Option<Self::Line>) -> Option<Self::Line>;

    /// The cache permits the line's eviction: no sector of the line is outstanding, for instance.
    fn may_go(&self, line: Self::Line) -> bool;

    /// The policy's byte for a line; 0 when the line comes.
    fn mark(&self, line: Self::Line) -> u8;

    /// The oldest line that may go and whose mark fits.
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

/// A set whose ages and marks a policy changes.
pub trait LinesMut: Lines {
    /// Sets the policy's byte for a line.
    fn set_mark(&mut self, line: Self::Line, mark: u8);

    /// Makes a line the youngest.
    fn renew(&mut self, line: Self::Line);
}
