//! Numbered records: small, `Copy`, inserted and removed without allocation.

use std::hint::cold_path;

use serde::{Deserialize, Serialize};
use warp_stream::host_cache::{fetch, read_all};

use crate::restore::Once;

/// No record: end of a list.
pub const NONE: u32 = u32::MAX;

/// Distance in records of the prefetch into host caches.
const AHEAD: usize = 4;

/// Records by number. Numbers of removed records are reused.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { items: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Slab<T> {
    /// Adds a record and returns its number.
    pub fn insert(&mut self, item: T) -> u32 {
        if let Some(number) = self.free.pop() {
            if let Some(place) = self.free.len().checked_sub(AHEAD) {
                fetch(&self.items[self.free[place] as usize]);
            }
            self.items[number as usize] = item;
            return number;
        }
        cold_path();
        self.items.push(item);
        (self.items.len() - 1) as u32
    }

    /// Removes a record by the number from [`Slab::insert`].
    pub fn remove(&mut self, number: u32) -> T {
        self.free.push(number);
        self.items[number as usize]
    }

    /// Removes a record without reading it.
    #[inline]
    pub fn discard(&mut self, number: u32) {
        self.free.push(number);
    }

    /// Prefetches a record into host caches.
    #[inline]
    pub(crate) fn prefetch_host(&self, number: u32) {
        fetch(&self.items[number as usize]);
    }

    /// Prefetches all records into host caches.
    pub(crate) fn prefetch_host_all(&self) {
        read_all(&self.items);
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// Exclusive bound of the numbers issued.
    pub fn capacity(&self) -> u32 {
        self.items.len() as u32
    }

    /// True without records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        self.items.clear();
        self.free.clear();
    }

    /// Reachability map of a restored slab; free places count as reached.
    ///
    /// # Errors
    /// The slab is invalid.
    pub(crate) fn places(&self) -> Result<Once, &'static str> {
        let mut places = Once::new(self.items.len());
        self.free.iter().try_for_each(|number| places.reach(*number))?;
        Ok(places)
    }

    /// Numbers of existing records, in ascending order.
    pub fn numbers(&self) -> Vec<u32> {
        let mut there = vec![true; self.items.len()];
        for &number in &self.free {
            there[number as usize] = false;
        }
        (0..).zip(there).filter_map(|(number, there)| there.then_some(number)).collect()
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, number: u32) -> &T {
        &self.items[number as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.items[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_a_removed_record_is_reused() {
        let mut slab = Slab::default();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        assert_eq!(slab.remove(a), 'a');
        assert_eq!(slab.numbers(), [b]);
        assert_eq!(slab.insert('c'), a);
        assert_eq!((slab[a], slab[b], slab.len()), ('c', 'b', 2));
    }
}
