//! Replacement policies: which line of a set makes room. L1 and L2 share them.
//!
//! A policy sees a set through [`Lines`]: the lines in the order of their age, and one byte for
//! each line, the *mark*, that means whatever the policy wants. The cache reports events (`filled`,
//! `hit`, `evicted`); `victim` only looks, so a cache may ask for a victim and not evict it.
//!
//! A new policy is one file beside this one and one line in [`policies!`] below.

#[cfg(test)]
mod conformance;
mod fifo;
mod lines;
mod lru;
mod second_chance;
mod srrip;

pub use self::lines::{Lines, LinesMut};

/// Behaviour of a replacement policy. The defaults ignore the event.
trait Policy {
    /// A line has come into the set; the line is the youngest and its mark is 0.
    fn filled<L: LinesMut>(_lines: &mut L, _line: L::Line) {}

    /// A line was used.
    fn hit<L: LinesMut>(_lines: &mut L, _line: L::Line) {}

    /// The line to evict; nothing if no line may go.
    fn victim<L: Lines>(lines: &L) -> Option<L::Line>;

    /// A victim is about to leave the set.
    fn evicted<L: LinesMut>(_lines: &mut L, _victim: L::Line) {}
}

/// Declares the policies: doc, variant, name in GPU files, type.
macro_rules! policies {
    ($($(#[doc = $meaning:literal])* $variant:ident = $word:literal in $policy:ty,)*) => {
        $crate::choice! {
            /// Which line of a set makes room.
            pub enum Replacement {
                $($(#[doc = $meaning])* $variant = $word,)*
            }
        }

        impl Replacement {
            /// Every policy.
            pub const ALL: &'static [Replacement] = &[$(Replacement::$variant),*];

            /// A line has come into the set.
            #[inline(always)]
            pub fn filled<L: LinesMut>(self, lines: &mut L, line: L::Line) {
                match self {
                    $(Replacement::$variant => <$policy>::filled(lines, line),)*
                }
            }

            /// A line was used.
            #[inline(always)]
            pub fn hit<L: LinesMut>(self, lines: &mut L, line: L::Line) {
                match self {
                    $(Replacement::$variant => <$policy>::hit(lines, line),)*
                }
            }

            /// The line to evict; nothing if no line may go. The set stays as it is.
            #[inline(always)]
            pub fn victim<L: Lines>(self, lines: &L) -> Option<L::Line> {
                match self {
                    $(Replacement::$variant => <$policy>::victim(lines),)*
                }
            }

            /// A victim is about to leave the set.
            #[inline(always)]
            pub fn evicted<L: LinesMut>(self, lines: &mut L, victim: L::Line) {
                match self {
                    $(Replacement::$variant => <$policy>::evicted(lines, victim),)*
                }
            }
        }
    };
}

policies! {
    /// The least recently used line.
    Lru = "lru" in lru::Lru,
    /// The line that came first.
    Fifo = "fifo" in fifo::Fifo,
    /// The line that came first, unless a use since the last look gives it another round.
    SecondChance = "second-chance" in second_chance::SecondChance,
    /// The line whose next use is predicted to be furthest away.
    Srrip = "srrip" in srrip::Srrip,
}
