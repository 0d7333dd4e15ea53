//! Test memory for images.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

use voltsim_checkpoint::image::{PAGE, ReadMemory, Region, Sink};

/// Pages by address. Missing pages are zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pages(pub BTreeMap<u64, Vec<u8>>);

impl ReadMemory for Pages {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        for (page, address) in bytes.chunks_mut(PAGE).zip((address..).step_by(PAGE)) {
            match self.0.get(&address) {
                Some(contents) => page.copy_from_slice(contents),
                None => page.fill(0),
            }
        }
        Ok(())
    }
}

impl Pages {
    /// Returns one region around all pages.
    pub fn regions(&self) -> Vec<Region> {
        let page = PAGE as u64;
        let touched: Vec<_> = self.0.keys().map(|&address| address..address + page).collect();
        let addresses = touched.first().map_or(page, |range| range.start)
            ..touched.last().map_or(2 * page, |range| range.end);
        vec![Region { addresses, touched }]
    }

    /// Returns the pages without zero pages.
    pub fn without_zeros(&self) -> Self {
        Self(
            self.0
                .iter()
                .filter(|(_, page)| page.iter().any(|&byte| byte != 0))
                .map(|(&a, p)| (a, p.clone()))
                .collect(),
        )
    }
}

/// Sink that stores the restored pages.
#[derive(Default)]
pub struct Kept {
    pages: Mutex<Pages>,
}

impl Kept {
    pub fn into_pages(self) -> Pages {
        self.pages.into_inner().unwrap()
    }
}

impl Sink for Kept {
    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        for (page, address) in bytes.chunks(PAGE).zip((address..).step_by(PAGE)) {
            assert_eq!(self.pages.lock().unwrap().0.insert(address, page.to_vec()), None, "once each");
        }
        Ok(())
    }
}

/// Returns an incompressible page.
pub fn noise(seed: u64) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut page);
    page
}

/// Returns a compressible page.
pub fn pattern(seed: u64) -> Vec<u8> {
    seed.to_le_bytes().repeat(PAGE / 8)
}

/// Returns consecutive pages from `first` on.
pub fn pages(first: u64, contents: impl IntoIterator<Item = Vec<u8>>) -> Pages {
    Pages((first..).step_by(PAGE).zip(contents).collect())
}
