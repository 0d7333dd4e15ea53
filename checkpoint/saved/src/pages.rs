//! Non-zero pages of a saved device's memory, for comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use voltsim_checkpoint::image::PAGE;

/// Pages by address; absent pages are zero.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    pages: BTreeMap<u64, Vec<u8>>,
}

impl Pages {
    /// Adds the contents of whole pages.
    pub(crate) fn add(&mut self, address: u64, bytes: &[u8]) {
        let addresses = (address..).step_by(PAGE);
        self.pages.extend(addresses.zip(bytes.chunks(PAGE).map(<[u8]>::to_vec)));
    }

    /// Differing bytes of a range: address, value here, value there.
    pub(crate) fn differences<'a>(
        &'a self,
        other: &'a Pages,
        range: Range<u64>,
    ) -> impl Iterator<Item = (u64, u8, u8)> + 'a {
        let from = range.start / PAGE as u64 * PAGE as u64;
        let pages = |all: &'a Pages| all.pages.range(from..range.end).map(|(address, _)| *address);
        let addresses: BTreeSet<u64> = pages(self).chain(pages(other)).collect();
        let differing = addresses.into_iter().filter(|page| self.pages.get(page) != other.pages.get(page));
        let bytes = differing.flat_map(move |page| {
            let byte = move |all: &Pages, at: usize| {
                all.pages.get(&page).and_then(|bytes| bytes.get(at)).copied().unwrap_or(0)
            };
            (0..PAGE).map(move |at| (page + at as u64, byte(self, at), byte(other, at)))
        });
        bytes.filter(move |(address, here, there)| range.contains(address) && here != there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_page_equals_zeros() {
        let (mut one, none) = (Pages::default(), Pages::default());
        let mut page = vec![0; PAGE];
        page[5] = 7;
        one.add(0x2000, &page);
        let found: Vec<_> = none.differences(&one, 0x1000..0x4000).collect();
        assert_eq!(found, [(0x2005, 0, 7)]);
        assert_eq!(one.differences(&none, 0x2006..0x3000).count(), 0);
        assert_eq!(one.differences(&one, 0..0x4000).count(), 0);
    }
}
