//! First difference in memory between two runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use warp_stream::kernel_name::signature;

use super::{ChecksumsError, ChecksumsReader, Launch, Name, Sum, Sums};

/// Most allocations reported per launch, or as moved.
const MOST: usize = 20;

/// Comparison of two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Launches after which memory was equal.
    pub launches: u64,
    /// First difference, line by line; empty if there is none.
    pub difference: Vec<String>,
    /// Allocations at different addresses, line by line: pointers to them differ between the runs.
    pub moved: Vec<String>,
}

/// Compares two runs at common launches. A resumed run has no checksums before its point. A
/// difference before the damaged place of a file counts.
pub fn first_difference(one: &Path, other: &Path) -> Result<Compared, ChecksumsError> {
    let [of_one, of_other] = [Contents::of(one), Contents::of(other)];
    let (of_one, of_other) = (of_one?, of_other?);
    let mut runs = [Run::open(one, &of_other)?, Run::open(other, &of_one)?];
    let mut search = Search::default();
    while search.difference.is_empty() && search.compare_next(&mut runs) {}
    let Search { launches, difference, moved, .. } = search;
    if difference.is_empty() {
        if let Some(error) = of_one.error.or(of_other.error) {
            return Err(error);
        }
        if launches == 0 {
            let files = [one, other].map(Path::to_owned);
            return Err(ChecksumsError::Apart {
                files,
                told: [told(&of_one.launches), told(&of_other.launches)],
            });
        }
    }
    let moved = moved.iter().map(|(name, [here, there])| {
        format!(
            "{name} is at {here:#x} in the first run and at {there:#x} in the second: pointers to it differ"
        )
    });
    Ok(Compared { launches, difference, moved: moved.take(MOST).collect() })
}

/// Launches of a file.
struct Contents {
    launches: BTreeSet<u64>,
    every: u64,
    /// Error that ended reading.
    error: Option<ChecksumsError>,
}

impl Contents {
    fn of(file: &Path) -> Result<Contents, ChecksumsError> {
        let mut reader = ChecksumsReader::open(file)?;
        let mut contents = Contents { launches: BTreeSet::new(), every: reader.every(), error: None };
        loop {
            match reader.next_launch() {
                Ok(Some(launch)) => contents.launches.insert(launch.number),
                Ok(None) => break,
                Err(error) => {
                    contents.error = Some(error);
                    break;
                }
            };
        }
        Ok(contents)
    }

    /// True if the launch is missing between existing ones.
    fn lacks(&self, launch: u64) -> bool {
        let is_after = |last: &u64| self.error.is_none() || launch < *last;
        launch.is_multiple_of(self.every)
            && !self.launches.contains(&launch)
            && self.launches.last().is_some_and(is_after)
    }
}

fn told(launches: &BTreeSet<u64>) -> String {
    match (launches.first(), launches.last()) {
        (Some(first), Some(last)) if first < last => format!("launches {first} to {last}"),
        (Some(only), _) => format!("launch {only}"),
        _ => "none".to_owned(),
    }
}

/// One of the compared runs.
struct Run<'o> {
    file: PathBuf,
    reader: ChecksumsReader,
    other: &'o Contents,
    /// True after the first common launch. Earlier launches precede the other run's point, if that
    /// was resumed: lower numbers, and higher ones of independent launches.
    has_met: bool,
}

/// Next launch of a run.
enum Next {
    /// Common launch.
    Common(Launch),
    /// Launch that the other run lacks.
    Alone(Launch),
    /// End of the file or unreadable rest.
    End,
}

impl Run<'_> {
    fn open<'o>(file: &Path, other: &'o Contents) -> Result<Run<'o>, ChecksumsError> {
        Ok(Run { file: file.to_owned(), reader: ChecksumsReader::open(file)?, other, has_met: false })
    }

    fn next(&mut self) -> Next {
        while let Ok(Some(launch)) = self.reader.next_launch() {
            if self.other.launches.contains(&launch.number) {
                self.has_met = true;
                return Next::Common(launch);
            }
            if self.has_met && self.other.lacks(launch.number) {
                return Next::Alone(launch);
            }
        }
        Next::End
    }
}

#[derive(Default)]
struct Search {
    launches: u64,
    /// Last launch after which memory was equal.
    same: Option<u64>,
    difference: Vec<String>,
    moved: BTreeMap<Name, [u64; 2]>,
}

impl Search {
    /// Compares the next launch; `false` at the end.
    fn compare_next(&mut self, [one, other]: &mut [Run<'_>; 2]) -> bool {
        let (launch, launch_b) = match (one.next(), other.next()) {
            (Next::Common(launch), Next::Common(launch_b)) => (launch, launch_b),
            (Next::Alone(launch), _) => return self.found(alone(&launch, &other.file)),
            (_, Next::Alone(launch)) => return self.found(alone(&launch, &one.file)),
            (_, _) => return false,
        };
        if launch != launch_b {
            let [one, other] = [launch, launch_b]
                .map(|Launch { number, kernel }| format!("launch {number} of {}", signature(&kernel)));
            return self.found(vec![format!("the first run continues with {one}, the second with {other}")]);
        }
        let (memory, memory_b) = (one.reader.memory(), other.reader.memory());
        let names: BTreeSet<&Name> = memory.keys().chain(memory_b.keys()).collect();
        let differing = |name: &&Name| of_allocation(name, memory, memory_b);
        let differences: Vec<String> = names.iter().filter_map(differing).collect();
        for name in names {
            if let (Some(here), Some(there)) = (memory.get(name), memory_b.get(name))
                && here.address != there.address
            {
                self.moved.entry(*name).or_insert([here.address, there.address]);
            }
        }
        if differences.is_empty() {
            (self.launches, self.same) = (self.launches + 1, Some(launch.number));
            return true;
        }
        let Launch { number, kernel } = launch;
        let before = self.same.map_or_else(
            || "this is the first common launch".to_owned(),
            |same| format!("memory was equal after launch {same}"),
        );
        let more = differences.len().saturating_sub(MOST);
        let kernel = signature(&kernel);
        let mut lines = vec![format!("memory differs after launch {number} of {kernel}; {before}")];
        lines.extend(differences.into_iter().take(MOST));
        if more > 0 {
            lines.push(format!("and {more} more allocations"));
        }
        self.found(lines)
    }

    fn found(&mut self, lines: Vec<String>) -> bool {
        self.difference = lines;
        true
    }
}

fn alone(launch: &Launch, lacking: &Path) -> Vec<String> {
    vec![format!("{} has no launch {} of {}", lacking.display(), launch.number, signature(&launch.kernel))]
}

/// Difference of an allocation.
fn of_allocation(name: &Name, memory: &Sums, memory_b: &Sums) -> Option<String> {
    let described = |sum: &Sum| format!("{} bytes at {:#x}", sum.size, sum.address);
    match (memory.get(name), memory_b.get(name)) {
        (Some(sum), Some(sum_b)) if sum.size != sum_b.size => {
            Some(format!("{name}: {} in the first, {} in the second", described(sum), described(sum_b)))
        }
        (Some(sum), Some(sum_b)) if sum.digest != sum_b.digest => {
            let also = match sum.address == sum_b.address {
                true => String::new(),
                false => format!(" ({:#x} in the second)", sum_b.address),
            };
            Some(format!("{name}, {}{also}: contents differ", described(sum)))
        }
        (Some(_), Some(_)) | (None, None) => None,
        (Some(sum), None) => Some(format!("{name}, {}: in the first run only", described(sum))),
        (None, Some(sum)) => Some(format!("{name}, {}: in the second run only", described(sum))),
    }
}

#[cfg(test)]
mod tests {
    use functional::memory::AllocationKind;
    use tempfile::TempDir;

    use super::super::ChecksumsWriter;
    use super::*;
    use crate::step::Digest;

    /// A launch: number, and the allocations of a device by number, address and contents.
    type Recorded<'a> = (u64, &'a [(u64, u64, &'a [u8])]);

    struct Files(TempDir);

    impl Files {
        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn write(&self, name: &str, every: u64, launches: &[Recorded<'_>]) -> PathBuf {
            let file = self.path(name);
            let mut writer = ChecksumsWriter::create(&file, &["./a.out".to_owned()], every).unwrap();
            for (launch, allocations) in launches {
                let sums = allocations.iter().map(|&(number, address, bytes)| {
                    let name = Name { device: 0, kind: AllocationKind::Device, number };
                    (name, Sum { address, size: bytes.len() as u64, digest: Digest::of(bytes) })
                });
                writer.add(*launch, "step", sums.collect()).unwrap();
            }
            writer.finish().unwrap();
            file
        }
    }

    fn files() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    const RUN: [Recorded<'_>; 3] = [
        (1, &[(1, 0x1000, b"a"), (2, 0x2000, b"b")]),
        (2, &[(1, 0x1000, b"a"), (2, 0x2000, b"c"), (3, 0x3000, b"d")]),
        (3, &[(2, 0x2000, b"c"), (3, 0x3000, b"e")]),
    ];

    #[test]
    fn first_differing_launch_and_allocations_are_named() {
        let files = files();
        let other: [Recorded<'_>; 3] =
            [RUN[0], (2, &[(1, 0x1000, b"a"), (2, 0x2000, b"x"), (3, 0x3000, b"d")]), RUN[2]];
        let [one, other] = [files.write("one", 1, &RUN), files.write("other", 1, &other)];
        let found = first_difference(&one, &other).unwrap();
        assert_eq!(found.launches, 1);
        assert_eq!(
            found.difference,
            [
                "memory differs after launch 2 of step; memory was equal after launch 1",
                "device 0, Device allocation 2, 1 bytes at 0x2000: contents differ",
            ]
        );
    }

    #[test]
    fn each_kind_of_allocation_is_compared() {
        let files = files();
        use AllocationKind::{
            Array, Device, Host, Imported, Managed, Mapped, MappedHost, Module, Registered,
        };
        for kind in [Array, Device, Host, Imported, Managed, Mapped, MappedHost, Module, Registered] {
            let [one, other] = [b"one", b"two"].map(|bytes| {
                let file = files.path(&format!("{kind:?} {bytes:?}"));
                let mut writer = ChecksumsWriter::create(&file, &["./a.out".to_owned()], 1).unwrap();
                let name = Name { device: 0, kind, number: 1 };
                let sum = Sum { address: 0x1000, size: 3, digest: Digest::of(bytes) };
                writer.add(1, "step", [(name, sum)].into()).unwrap();
                writer.finish().unwrap();
                file
            });
            let found = first_difference(&one, &other).unwrap().difference;
            assert!(found[1].starts_with(&format!("device 0, {kind:?} allocation 1, 3 bytes")), "{found:?}");
        }
    }

    #[test]
    fn resumed_run_compares_from_its_point() {
        let files = files();
        let [one, resumed] = [files.write("one", 1, &RUN), files.write("resumed", 1, &RUN[1..])];
        let same = Compared { launches: 2, ..Compared::default() };
        assert_eq!(first_difference(&one, &resumed).unwrap(), same);
        assert_eq!(first_difference(&resumed, &one).unwrap(), same);
    }

    #[test]
    fn higher_launch_numbers_may_precede_the_point() {
        let files = files();
        let run = [RUN[0], RUN[2], RUN[1]];
        let [one, resumed] = [files.write("one", 1, &run), files.write("resumed", 1, &run[2..])];
        let same = Compared { launches: 1, ..Compared::default() };
        assert_eq!(first_difference(&one, &resumed).unwrap(), same);
        assert_eq!(first_difference(&resumed, &one).unwrap(), same);
    }

    #[test]
    fn missing_launch_is_a_difference() {
        let files = files();
        let one = files.write("one", 1, &RUN);
        for (name, launches) in [("shorter", &RUN[..2]), ("gap", &[RUN[0], RUN[2]][..])] {
            let other = files.write(name, 1, launches);
            for (first, second) in [(&one, &other), (&other, &one)] {
                let found = first_difference(first, second).unwrap().difference.join("\n");
                assert!(found.contains(&format!("{name} has no launch")), "{found}");
            }
        }
    }

    #[test]
    fn different_intervals_compare_common_launches() {
        let files = files();
        let [one, other] = [files.write("one", 1, &RUN), files.write("other", 2, &[RUN[1]])];
        assert_eq!(first_difference(&one, &other).unwrap().launches, 1);
    }

    #[test]
    fn moved_allocation_is_reported_but_no_difference() {
        let files = files();
        let [one, other] = [
            files.write("one", 1, &RUN[..1]),
            files.write("other", 1, &[(1, &[(1, 0x5000, b"a"), (2, 0x2000, b"b")])]),
        ];
        let found = first_difference(&one, &other).unwrap();
        assert_eq!((found.launches, found.difference.len()), (1, 0));
        assert!(found.moved.len() == 1 && found.moved[0].contains("0x5000"), "{:?}", found.moved);
    }

    #[test]
    fn runs_without_common_launches_are_an_error() {
        let files = files();
        let [one, other] = [files.write("one", 2, &RUN[1..2]), files.write("other", 3, &RUN[2..])];
        assert!(matches!(first_difference(&one, &other), Err(ChecksumsError::Apart { .. })));
    }

    #[test]
    fn truncated_or_flipped_file_is_detected() {
        let files = files();
        let whole = files.write("whole", 1, &RUN);
        let bytes = std::fs::read(&whole).unwrap();
        let damaged = files.path("damaged");
        let error = |bytes: &[u8]| {
            std::fs::write(&damaged, bytes).unwrap();
            first_difference(&whole, &damaged).map_err(|error| error.to_string()).expect_err("damaged")
        };
        for length in 0..bytes.len() {
            let said = error(&bytes[..length]);
            assert!(said.contains("damaged"), "{length}: {said}");
        }
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            error(&flipped);
        }
    }

    #[test]
    fn difference_before_truncation_counts() {
        let files = files();
        let one = files.write("one", 1, &RUN);
        let other = files.write("other", 1, &[(1, &[(1, 0x1000, b"x"), (2, 0x2000, b"b")]), RUN[1]]);
        let bytes = std::fs::read(&other).unwrap();
        let end = bytes.windows(5).position(|word| word == b"\nend\t").unwrap();
        std::fs::write(&other, &bytes[..=end]).unwrap();
        assert_eq!(first_difference(&one, &other).unwrap().difference.len(), 2);
        let cut = files.write("cut", 1, &RUN);
        let bytes = std::fs::read(&cut).unwrap();
        std::fs::write(&cut, &bytes[..bytes.len() - 39]).unwrap();
        let error = first_difference(&one, &cut).unwrap_err();
        assert!(matches!(error, ChecksumsError::Unfinished { launch: Some(3), .. }), "{error}");
    }
}
