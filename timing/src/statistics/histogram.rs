//! Latency histograms: count, sum, and count per range.

/// Ranges: below 32 cycles, then two per power of two, then the rest.
pub const RANGES: usize = 14;

/// Latency counts by range.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Histogram {
    ranges: [u64; RANGES],
    sum: u64,
}

impl Histogram {
    /// Counts a latency.
    #[inline]
    pub fn add_one(&mut self, latency: u64) {
        self.ranges[range(latency)] += 1;
        self.sum += latency;
    }

    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.ranges.iter().sum()
    }

    /// Count, sum, and count per range.
    pub fn values(&self) -> impl Iterator<Item = u64> {
        [self.count(), self.sum].into_iter().chain(self.ranges)
    }

    /// Sets sum and ranges to values in the order of [`Histogram::values`].
    pub fn set(&mut self, mut values: impl Iterator<Item = u64>) {
        // The count follows from the ranges.
        let _ = values.next();
        self.sum = values.next().unwrap_or(0);
        self.ranges.iter_mut().zip(values).for_each(|(range, value)| *range = value);
    }

    /// Adds another histogram.
    pub fn add(&mut self, other: &Histogram) {
        self.ranges.iter_mut().zip(other.ranges).for_each(|(own, other)| *own += other);
        self.sum += other.sum;
    }
}

/// Range of a latency.
#[inline]
fn range(latency: u64) -> usize {
    let power = (latency | 1).ilog2() as usize;
    match power.checked_sub(5) {
        None => 0,
        Some(above) => (1 + 2 * above + (latency >> (power - 1) & 1) as usize).min(RANGES - 1),
    }
}

/// Declares a latency histogram of a unit, with the names of its count and sum.
///
/// ```
/// use timing::statistics::Counters;
/// timing::latencies! {
///     /// Travel times to the example.
///     pub struct ExampleLatencies in "example" { ways: "ways", latency: "cycles" }
/// }
/// let mut latencies = ExampleLatencies::default();
/// latencies.add_one(47);
/// let mut told = Vec::new();
/// latencies.each(&mut |counter, value| told.push((counter.name, value)));
/// assert_eq!(told[..2], [("ways", 1), ("latency", 47)]);
/// assert_eq!(told[2..4], [("latency_below_32", 0), ("latency_below_48", 1)]);
/// ```
#[macro_export]
macro_rules! latencies {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident in $section:literal { $count:ident: $counted:literal, $sum:ident: $unit:literal }
    ) => {
        $crate::latencies! {
            @ranges $(#[doc = $about])* $name $section $count $counted $sum $unit
            ["_below_32" "Below 32."]
            ["_below_48" "From 32 to 47."]
            ["_below_64" "From 48 to 63."]
            ["_below_96" "From 64 to 95."]
            ["_below_128" "From 96 to 127."]
            ["_below_192" "From 128 to 191."]
            ["_below_256" "From 192 to 255."]
            ["_below_384" "From 256 to 383."]
            ["_below_512" "From 384 to 511."]
            ["_below_768" "From 512 to 767."]
            ["_below_1024" "From 768 to 1,023."]
            ["_below_1536" "From 1,024 to 1,535."]
            ["_below_2048" "From 1,536 to 2,047."]
            ["_above" "From 2,048 on."]
        }
    };
    (
        @ranges $(#[doc = $about:literal])*
        $name:ident $section:literal $count:ident $counted:literal $sum:ident $unit:literal
        $([$range:literal $which:literal])*
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name($crate::statistics::Histogram);

        impl $name {
            /// Descriptions: count, sum, ranges.
            pub const COUNTERS: &'static [$crate::statistics::Counter] = &[
                $crate::statistics::Counter::sum(
                    $section,
                    stringify!($count),
                    $counted,
                    concat!($($about),*).trim_ascii(),
                ),
                $crate::statistics::Counter::sum(
                    $section,
                    stringify!($sum),
                    $unit,
                    concat!("Summed latency of `", stringify!($count), "`."),
                ),
                $($crate::statistics::Counter::part(
                    $section,
                    concat!(stringify!($sum), $range),
                    $counted,
                    concat!("`", stringify!($count), "` by latency in ", $unit, ". ", $which),
                ),)*
            ];

            /// Counts a latency.
            #[inline]
            pub fn add_one(&mut self, latency: u64) {
                self.0.add_one(latency);
            }

            /// Number of latencies.
            pub fn count(&self) -> u64 {
                self.0.count()
            }
        }

        impl $crate::statistics::Counters for $name {
            fn each(&self, tell: &mut dyn FnMut(&'static $crate::statistics::Counter, u64)) {
                Self::COUNTERS.iter().zip(self.0.values()).for_each(|(counter, value)| tell(counter, value));
            }

            fn add(&mut self, other: &Self) {
                self.0.add(&other.0);
            }

            fn restart(&mut self) {}

            fn load(&mut self, read: &mut dyn FnMut($crate::statistics::saved::Name) -> u64) {
                let names = Self::COUNTERS.iter().map($crate::statistics::saved::Name::of);
                self.0.set(names.map(read));
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_counts_in_the_range_that_contains_it() {
        let bounds = [32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048];
        for (number, bound) in bounds.into_iter().enumerate() {
            assert_eq!((range(bound - 1), range(bound)), (number, number + 1), "{bound}");
        }
        assert_eq!((range(0), range(u64::MAX)), (0, RANGES - 1));
    }

    #[test]
    fn range_counts_add_up_to_the_count() {
        let mut histogram = Histogram::default();
        [0, 31, 32, 700, 5000].into_iter().for_each(|latency| histogram.add_one(latency));
        let values: Vec<u64> = histogram.values().collect();
        assert_eq!(values[..2], [5, 5763]);
        assert_eq!(values[2..], [2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
    }
}
