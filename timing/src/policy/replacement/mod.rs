//! Replacement policies of caches: selection of the line to evict. L1 and L2 share them.
//!
//! A policy sees a set through [`Lines`]: the lines in age order, and one byte per line, the
//! *mark*, for the policy's use. The cache reports events (`filled`, `hit`, `evicted`). `victim`
//! does not change the set, so a cache may ask for a victim and not evict it.
//!
//! A new policy is one file beside this one and one line in `policies!` below.

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
    /// A line was filled; it is the youngest and its mark is 0.
    fn filled<L: LinesMut>(_lines: &mut L, _line: L::Line) {}

    /// A line was used.
    fn hit<L: LinesMut>(_lines: &mut L, _line: L::Line) {}

    /// The line to evict; `None` if no line may be evicted.
    fn victim<L: Lines>(lines: &L) -> Option<L::Line>;

    /// A victim is about to be evicted.
    fn evicted<L: LinesMut>(_lines: &mut L, _victim: L::Line) {}
}

/// Declares the policies: doc, variant, name in GPU files, type.
macro_rules! policies {
    ($($(#[doc = $meaning:literal])* $variant:ident = $word:literal in $policy:ty,)*) => {
        $crate::choice! {
            /// Replacement policy: selection of the line to evict.
            pub enum Replacement {
                $($(#[doc = $meaning])* $variant = $word,)*
            }
        }

        impl Replacement {
            /// Every policy.
            pub const ALL: &'static [Replacement] = &[$(Replacement::$variant),*];

            /// Reports a fill.
            #[inline(always)]
            pub fn filled<L: LinesMut>(self, lines: &mut L, line: L::Line) {
                match self {
                    $(Replacement::$variant => <$policy>::filled(lines, line),)*
                }
            }

            /// Reports a use.
            #[inline(always)]
            pub fn hit<L: LinesMut>(self, lines: &mut L, line: L::Line) {
                match self {
                    $(Replacement::$variant => <$policy>::hit(lines, line),)*
                }
            }

            /// The line to evict; `None` if no line may be evicted. The set does not change.
            #[inline(always)]
            pub fn victim<L: Lines>(self, lines: &L) -> Option<L::Line> {
                match self {
                    $(Replacement::$variant => <$policy>::victim(lines),)*
                }
            }

            /// Reports the eviction of a victim.
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
    /// Evicts the least recently used line.
    Lru = "lru" in lru::Lru,
    /// Evicts the line filled first.
    Fifo = "fifo" in fifo::Fifo,
    /// Evicts the line filled first, except that a use grants it another round.
    SecondChance = "second-chance" in second_chance::SecondChance,
    /// The line whose next use is predicted to be furthest away.
    Srrip = "srrip" in srrip::Srrip,
}
