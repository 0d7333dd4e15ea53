//! Record of the memory that a program's calls have requested, including freed memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::allocator::AllocationKind;

/// Sizes of allocations per kind, in the order of their numbers, except registered memory and allocations
/// of kernels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    kinds: BTreeMap<AllocationKind, Vec<Alike>>,
}

/// A run of allocations of equal size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Alike {
    size: u64,
    count: u64,
}

/// An allocation that differs between two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherRequest {
    /// Owner.
    pub kind: AllocationKind,
    /// Number among the allocations of the kind, from 1.
    pub number: u64,
    /// Bytes in the first and the second run; `None` if missing.
    pub sizes: [Option<u64>; 2],
}

impl Requests {
    pub(super) fn add(&mut self, kind: AllocationKind, size: u64) {
        if kind.is_of_kernels() || kind == AllocationKind::Registered {
            return;
        }
        let sizes = self.kinds.entry(kind).or_default();
        match sizes.last_mut().filter(|last| last.size == size) {
            Some(last) => last.count += 1,
            None => sizes.push(Alike { size, count: 1 }),
        }
    }

    /// First allocation of some kind that differs in another run.
    pub fn first_difference(&self, other: &Requests) -> Option<OtherRequest> {
        self.differences(other).next()
    }

    /// [`Requests::first_difference`] for another run that may be incomplete.
    pub fn first_difference_so_far(&self, other: &Requests) -> Option<OtherRequest> {
        self.differences(other).find(|difference| difference.sizes[1].is_some())
    }

    /// First difference of each kind.
    fn differences<'a>(&'a self, other: &'a Requests) -> impl Iterator<Item = OtherRequest> + 'a {
        let kinds: BTreeSet<AllocationKind> = self.kinds.keys().chain(other.kinds.keys()).copied().collect();
        kinds.into_iter().filter_map(|kind| {
            let (mut sizes, mut others) = (self.sizes(kind), other.sizes(kind));
            let both = (1..).map(move |number| (number, [sizes.next(), others.next()]));
            let (number, sizes) = both
                .take_while(|(_, sizes)| sizes.iter().any(Option::is_some))
                .find(|(_, [one, other])| one != other)?;
            Some(OtherRequest { kind, number, sizes })
        })
    }

    fn sizes(&self, kind: AllocationKind) -> impl Iterator<Item = u64> + '_ {
        let alike = self.kinds.get(&kind).into_iter().flatten();
        alike.flat_map(|alike| (0..alike.count).map(|_| alike.size))
    }
}

impl fmt::Display for OtherRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OtherRequest { kind, number, sizes } = self;
        let [was, is] =
            sizes.map(|size| size.map_or("not made".to_owned(), |size| format!("of {size} bytes")));
        write!(f, "{kind:?} allocation {number} was {was}, now {is}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AllocationKind::{Device, Heap, Host, Registered};

    fn requests(sizes: &[(AllocationKind, u64)]) -> Requests {
        let mut requests = Requests::default();
        sizes.iter().for_each(|(kind, size)| requests.add(*kind, *size));
        requests
    }

    #[test]
    fn first_size_difference_names_kind_and_number() {
        let one = requests(&[(Device, 8), (Host, 3), (Device, 8), (Device, 8), (Device, 9)]);
        let other = requests(&[(Host, 3), (Device, 8), (Device, 8), (Device, 16), (Device, 9)]);
        let found = one.first_difference(&other).unwrap();
        assert_eq!(found, OtherRequest { kind: Device, number: 3, sizes: [Some(8), Some(16)] });
        assert_eq!(found.to_string(), "Device allocation 3 was of 8 bytes, now of 16 bytes");
        assert_eq!(one.first_difference(&one.clone()), None);
    }

    #[test]
    fn extra_allocation_differs_at_once_missing_at_the_end() {
        let (few, more) = (requests(&[(Device, 8)]), requests(&[(Device, 8), (Device, 8), (Host, 1)]));
        let sizes =
            |one: &Requests, other| one.first_difference(other).map(|found| (found.number, found.sizes));
        assert_eq!(sizes(&few, &more), Some((2, [None, Some(8)])));
        assert_eq!(sizes(&more, &few), Some((2, [Some(8), None])));
        assert_eq!(more.first_difference_so_far(&few), None);
        assert!(few.first_difference_so_far(&more).is_some());
    }

    #[test]
    fn kernel_and_registered_memory_are_no_requests() {
        assert_eq!(requests(&[(Heap, 8), (Registered, 8)]), Requests::default());
    }

    #[test]
    fn equal_allocations_share_one_entry() {
        assert_eq!(requests(&[(Device, 8); 1000]).kinds.get(&Device).map(Vec::len), Some(1));
    }
}
