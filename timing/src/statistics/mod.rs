//! Statistics of runs. A unit declares its counters with [`counters!`](crate::counters!) beside the code
//! Counters are plain integers in the unit's state; the declaration generates everything that
//! outputs need.

mod derived;
mod histogram;
mod ratio;
pub mod saved;

pub use derived::DERIVED;
pub use histogram::{Histogram, RANGES};
pub use ratio::{Counts, Ratio, value};

/// Rule that combines values of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Values add up.
    Sum,
    /// Values add up; part of another counter, hidden in reports for people if 0.
    Part,
    /// Maximum since the launch began; the combination is the maximum too.
    Most,
}

/// Description of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Unit of the machine.
    pub section: &'static str,
    /// Name within the section.
    pub name: &'static str,
    /// Meaning, as `explain` shows it.
    pub meaning: &'static str,
    /// Unit of measurement.
    pub unit: &'static str,
    /// Equal metric of Nsight Compute (or nvprof); empty if there is none.
    pub metric: &'static str,
    /// Rule that combines values.
    pub kind: Kind,
}

impl Counter {
    /// A counter whose values add up and which equals no profiler metric.
    pub const fn sum(
        section: &'static str,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
    ) -> Counter {
        Counter { section, name, meaning, unit, metric: "", kind: Kind::Sum }
    }

    /// A part of another counter that equals no profiler metric.
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
    /// Combines the values of two consecutive launches.
    pub fn joined(self, one: u64, other: u64) -> u64 {
        match self {
            Kind::Sum | Kind::Part => one + other,
            Kind::Most => one.max(other),
        }
    }

    /// Value of a launch, from the values at its start and now.
    pub fn since(self, before: u64, now: u64) -> u64 {
        match self {
            Kind::Sum | Kind::Part => now.saturating_sub(before),
            Kind::Most => now,
        }
    }
}

/// Counters of a unit.
pub trait Counters {
    /// Calls `tell` for every counter, in the order of declaration.
    fn each(&self, tell: &mut dyn FnMut(&'static Counter, u64));

    /// Adds the counters of another unit of the same kind.
    fn add(&mut self, other: &Self);

    /// Restarts the counters that hold a maximum.
    fn restart(&mut self);

    /// Visits all values that a saved state holds.
    fn save(&self, write: &mut dyn FnMut(saved::Name, u64)) {
        self.each(&mut |counter, value| write(saved::Name::of(counter), value));
    }

    /// Sets all values from a saved state.
    fn load(&mut self, read: &mut dyn FnMut(saved::Name) -> u64);
}

/// Declares a unit's counters: a structure of integers, each with its unit and its equal profiler
/// metric. Structures after `with` are nested; counters marked `most` hold a maximum.
///
/// ```
/// use timing::statistics::Counters;
/// timing::counters! {
///     /// A cache.
///     pub struct ExampleCounters in "example" {
///         /// Sectors that hit.
///         hits: "sectors" = "lts__t_sectors_lookup_hit.sum",
///         /// Cycles without work.
///         idle: "cycles" = "",
///         /// Most lines resident at once.
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
    (@restart $own:expr;) => {};
    (@restart $own:expr; most) => {
        $own = 0
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
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[doc = $meaning])* pub $field: u64,)*
            $($($(#[doc = $group_meaning])* pub $group: $type,)*)?
        }

        impl $name {
            /// Descriptions of the counters.
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

        $crate::saved_counters!($name);

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

            fn restart(&mut self) {
                $($crate::counters!(@restart self.$field; $($most)?);)*
                $($($crate::statistics::Counters::restart(&mut self.$group);)*)?
            }

            fn save(&self, write: &mut dyn FnMut($crate::statistics::saved::Name, u64)) {
                let values = [$(self.$field,)*];
                for (counter, value) in Self::COUNTERS.iter().zip(values) {
                    write($crate::statistics::saved::Name::of(counter), value);
                }
                $($($crate::statistics::Counters::save(&self.$group, write);)*)?
            }

            fn load(&mut self, read: &mut dyn FnMut($crate::statistics::saved::Name) -> u64) {
                let fields = [$(&mut self.$field,)*];
                for (counter, field) in Self::COUNTERS.iter().zip(fields) {
                    *field = read($crate::statistics::saved::Name::of(counter));
                }
                $($($crate::statistics::Counters::load(&mut self.$group, read);)*)?
            }
        }
    };
}
