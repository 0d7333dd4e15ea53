//! What runs count. A unit declares its counters with [`counters!`], beside the code that counts; they are plain integers
//! in the unit's State, and the declaration makes everything that outputs need.

mod derived;
mod histogram;
mod ratio;

pub use derived::DERIVED;
pub use histogram::{Histogram, RANGES};
pub use ratio::{Counts, Ratio, value};

/// What values of a counter are beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// They add up.
    Sum,
    /// They add up; it is one of the parts of another count, and not shown to people where it is 0.
    Part,
    /// Each is the highest that something came to since a launch began, and so are several.
    Most,
}

/// What a counter means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Unit of the machine it belongs to.
    pub section: &'static str,
    /// Name within the section.
    pub name: &'static str,
    /// What is counted.
    pub meaning: &'static str,
    /// In what it is counted.
    pub unit: &'static str,
    /// The metric of Nsight Compute (or nvprof) that it equals; empty if there is none.
    pub metric: &'static str,
    /// What its values are beside each other.
    pub kind: Kind,
}

impl Counter {
    /// Of what adds up and equals no metric of a profiler.
    pub const fn sum(
        section: &'static str,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
    ) -> Counter {
        Counter { section, name, meaning, unit, metric: "", kind: Kind::Sum }
    }

    /// Of one of the parts of another count that equals no metric of a profiler.
    pub const fn part(
        section: &'static str,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
    ) -> Counter {
        Counter { kind: Kind::Part, ..Counter::sum(section, name, unit, meaning) }
    }
}

impl Kind {
    /// Two values of a counter, of launches one after the other, as one.
    pub fn joined(self, one: u64, other: u64) -> u64 {
        match self {
            Kind::Sum | Kind::Part => one + other,
            Kind::Most => one.max(other),
        }
    }

    /// What has come to a value since it was another one, when a launch began.
    pub fn since(self, before: u64, now: u64) -> u64 {
        match self {
            Kind::Sum | Kind::Part => now.saturating_sub(before),
            Kind::Most => now,
        }
    }
}

/// Counters of a unit.
pub trait Counters {
    /// Tells of all of them, in the order of their declaration.
    fn each(&self, tell: &mut dyn FnMut(&'static Counter, u64));

    /// Adds those of another unit of the kind.
    fn add(&mut self, other: &Self);
}

/// Declares counters of a unit: a structure of integers, each with its unit and the profiler's metric that it equals, and of other
/// counters, after `with`. Those with `most` before their unit are the highest that something came to.
///
/// ```
/// use timing::statistics::Counters;
/// timing::counters! {
///     /// A cache.
///     pub struct ExampleCounters in "example" {
///         /// Sectors that were there.
///         hits: "sectors" = "lts__t_sectors_lookup_hit.sum",
///         /// Cycles in which nothing happened.
///         idle: "cycles" = "",
///         /// Lines that were there at once.
///         lines: most "lines" = "",
///     }
/// }
/// let mut counters = ExampleCounters { hits: 1, idle: 2, lines: 7 };
/// counters.add(&ExampleCounters { hits: 1, idle: 0, lines: 5 });
/// assert_eq!((counters.hits, counters.lines), (2, 7));
/// ```
#[macro_export]
macro_rules! counters {
    (@kind) => {
        $crate::statistics::Kind::Sum
    };
    (@kind most) => {
        $crate::statistics::Kind::Most
    };
    (@add $own:expr, $other:expr;) => {
        $own += $other
    };
    (@add $own:expr, $other:expr; most) => {
        $own = $own.max($other)
    };
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident in $section:literal {
            $($(#[doc = $meaning:literal])* $field:ident: $($most:ident)? $unit:literal = $metric:literal,)*
        } $(with {
            $($(#[doc = $group_meaning:literal])* $group:ident: $type:ty,)*
        })?
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $($(#[doc = $meaning])* pub $field: u64,)*
            $($($(#[doc = $group_meaning])* pub $group: $type,)*)?
        }

        impl $name {
            /// What the integers mean.
            pub const COUNTERS: &'static [$crate::statistics::Counter] = &[
                $($crate::statistics::Counter {
                    section: $section,
                    name: stringify!($field),
                    meaning: concat!($($meaning),*).trim_ascii(),
                    unit: $unit,
                    metric: $metric,
                    kind: $crate::counters!(@kind $($most)?),
                },)*
            ];
        }

        impl $crate::statistics::Counters for $name {
            fn each(&self, tell: &mut dyn FnMut(&'static $crate::statistics::Counter, u64)) {
                let values = [$(self.$field,)*];
                for (counter, value) in Self::COUNTERS.iter().zip(values) {
                    tell(counter, value);
                }
                $($($crate::statistics::Counters::each(&self.$group, tell);)*)?
            }

            fn add(&mut self, other: &Self) {
                $($crate::counters!(@add self.$field, other.$field; $($most)?);)*
                $($($crate::statistics::Counters::add(&mut self.$group, &other.$group);)*)?
            }
        }
    };
}
