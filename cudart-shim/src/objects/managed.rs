//! Advice and prefetches for managed memory.
//!
//! Host and device share memory here. Advice therefore affects only the answers of
//! `cuMemRangeGetAttribute` and `cuMemGetLocationInfo`.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, In, MemoryLocation, Out};
use crate::objects::context::check_device;
use crate::objects::device::DeviceObjects;
use crate::objects::shared::Shared;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

/// Granularity of advice and prefetches in bytes.
const PAGE: u64 = 4096;

/// `cudaCpuDeviceId`, `CU_DEVICE_CPU`.
const CPU: c_int = -1;
/// `cudaInvalidDeviceId`, `CU_DEVICE_INVALID`.
const NO_DEVICE: c_int = -2;

/// `CU_MEM_LOCATION_TYPE_…`: none, device; the other types are parts of the host.
const LOCATION_NONE: c_int = 0;
const LOCATION_DEVICE: c_int = 1;
const LOCATION_HOST: c_int = 2;
const LOCATION_LAST: c_int = 4;

/// Location of untouched memory.
const NOWHERE: MemoryLocation = MemoryLocation { kind: LOCATION_NONE, id: NO_DEVICE };

/// A preferred or accessing location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(MemoryLocation);

impl Place {
    /// From a device ordinal, or the ordinal of the host.
    pub(crate) fn from_ordinal(ordinal: c_int) -> Result<Self> {
        let kind = if ordinal == CPU { LOCATION_HOST } else { LOCATION_DEVICE };
        Self::from_location(MemoryLocation { kind, id: if ordinal == CPU { 0 } else { ordinal } })
    }

    /// From a location, either a device or a part of the host.
    pub(crate) fn from_location(location: MemoryLocation) -> Result<Self> {
        match location.kind {
            LOCATION_DEVICE => check_device(location.id)?,
            LOCATION_HOST..=LOCATION_LAST => {}
            _ => return Err(Error::InvalidValue),
        }
        Ok(Self(location))
    }

    fn ordinal(self) -> c_int {
        if self.0.kind == LOCATION_DEVICE { self.0.id } else { CPU }
    }
}

/// Advice for a range of pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    read_mostly: bool,
    preferred: Option<Place>,
    accessed_by: Vec<Place>,
    prefetched: Option<Place>,
}

/// Ranges with advice: start, end and advice.
pub(crate) type Ranges = BTreeMap<u64, (u64, Said)>;

/// Splits the range that contains an address.
fn part(ranges: &mut Ranges, at: u64) {
    let Some((_, (end, said))) = ranges.range_mut(..at).next_back() else { return };
    if *end > at {
        let rest = (std::mem::replace(end, at), said.clone());
        ranges.insert(at, rest);
    }
}

fn change(ranges: &mut Ranges, start: u64, end: u64, change: impl Fn(&mut Said)) {
    part(ranges, start);
    part(ranges, end);
    let mut gaps = Vec::new();
    let mut at = start;
    for (&from, (to, said)) in ranges.range_mut(start..end) {
        gaps.push((at, from));
        at = *to;
        change(said);
    }
    gaps.push((at, end));
    for (from, to) in gaps.into_iter().filter(|(from, to)| from < to) {
        let mut said = Said::default();
        change(&mut said);
        ranges.insert(from, (to, said));
    }
}

/// The advice for each part of a range.
fn parts(ranges: &Ranges, start: u64, end: u64) -> Vec<Said> {
    let mut found = Vec::new();
    let before = ranges.range(..=start).next_back().map_or(start, |(from, _)| *from);
    let mut at = start;
    for (&from, (to, said)) in ranges.range(before..end).filter(|(_, (to, _))| *to > start) {
        if from > at {
            found.push(Said::default());
        }
        found.push(said.clone());
        at = *to;
    }
    if at < end {
        found.push(Said::default());
    }
    found
}

fn pages(address: u64, count: usize) -> (u64, u64) {
    (address / PAGE * PAGE, (address + count as u64).next_multiple_of(PAGE))
}

/// Removes the advice for a freed allocation.
pub(crate) fn forget(shared: &'static Shared, address: u64, size: u64) {
    let ranges = &mut *shared.managed.lock();
    let (start, end) = pages(address, size as usize);
    if ranges.range(..end).next_back().is_some_and(|(_, (to, _))| *to > start) {
        part(ranges, start);
        part(ranges, end);
        ranges.retain(|from, _| !(start..end).contains(from));
    }
}

/// `CUmem_advise`.
mod advice {
    pub(crate) const SET_READ_MOSTLY: i32 = 1;
    pub(crate) const UNSET_READ_MOSTLY: i32 = 2;
    pub(crate) const SET_PREFERRED_LOCATION: i32 = 3;
    pub(crate) const UNSET_PREFERRED_LOCATION: i32 = 4;
    pub(crate) const SET_ACCESSED_BY: i32 = 5;
    pub(crate) const UNSET_ACCESSED_BY: i32 = 6;
}

/// `CUmem_range_attribute`.
mod attribute {
    pub(crate) const READ_MOSTLY: i32 = 1;
    pub(crate) const PREFERRED_LOCATION: i32 = 2;
    pub(crate) const ACCESSED_BY: i32 = 3;
    pub(crate) const LAST_PREFETCH_LOCATION: i32 = 4;
    pub(crate) const PREFERRED_LOCATION_TYPE: i32 = 5;
    pub(crate) const PREFERRED_LOCATION_ID: i32 = 6;
    pub(crate) const LAST_PREFETCH_LOCATION_TYPE: i32 = 7;
    pub(crate) const LAST_PREFETCH_LOCATION_ID: i32 = 8;
}

/// The value on which all parts agree.
fn common<T: Copy + PartialEq>(parts: &[Said], of: impl Fn(&Said) -> Option<T>) -> Option<T> {
    let first = parts.first().and_then(&of)?;
    parts.iter().all(|part| of(part) == Some(first)).then_some(first)
}

/// The first `count` values of an attribute.
fn attribute_values(parts: &[Said], attribute: c_int, count: usize) -> Result<Vec<c_int>> {
    let preferred = common(parts, |part| part.preferred);
    let prefetched = common(parts, |part| part.prefetched);
    let ordinal = |place: Option<Place>| place.map_or(NO_DEVICE, Place::ordinal);
    let kind = |place: Option<Place>| place.map_or(LOCATION_NONE, |place| place.0.kind);
    let id = |place: Option<Place>| place.map_or(NO_DEVICE, |place| place.0.id);
    if attribute == attribute::ACCESSED_BY {
        let everywhere = |place: &&Place| parts.iter().all(|part| part.accessed_by.contains(place));
        let first = parts.first().map_or(&[][..], |part| &part.accessed_by);
        let mut values: Vec<_> = first.iter().filter(everywhere).map(|place| place.ordinal()).collect();
        values.resize(count, NO_DEVICE);
        return Ok(values);
    }
    if count != 1 {
        return Err(Error::InvalidValue);
    }
    Ok(vec![match attribute {
        attribute::READ_MOSTLY => parts.iter().all(|part| part.read_mostly).into(),
        attribute::PREFERRED_LOCATION => ordinal(preferred),
        attribute::LAST_PREFETCH_LOCATION => ordinal(prefetched),
        attribute::PREFERRED_LOCATION_TYPE => kind(preferred),
        attribute::PREFERRED_LOCATION_ID => id(preferred),
        attribute::LAST_PREFETCH_LOCATION_TYPE => kind(prefetched),
        attribute::LAST_PREFETCH_LOCATION_ID => id(prefetched),
        _ => return Err(Error::InvalidValue),
    }])
}

impl DeviceObjects {
    fn check_managed_range(&self, address: Address, count: usize) -> Result<(u64, u64)> {
        if count == 0 {
            return Err(Error::InvalidValue);
        }
        self.check_managed(address.0 as u64, count)?;
        Ok(pages(address.0 as u64, count))
    }

    /// `cudaMemAdvise`. Read-mostly advice and unsetting a preference need no location.
    pub(crate) fn advise(
        &self,
        address: Address,
        count: usize,
        advice: c_int,
        place: impl FnOnce() -> Result<Place>,
    ) -> Result<()> {
        let (start, end) = self.check_managed_range(address, count)?;
        let ranges = &mut *self.shared.managed.lock();
        match advice {
            advice::SET_READ_MOSTLY | advice::UNSET_READ_MOSTLY => {
                change(ranges, start, end, |said| said.read_mostly = advice == advice::SET_READ_MOSTLY);
            }
            advice::UNSET_PREFERRED_LOCATION => change(ranges, start, end, |said| said.preferred = None),
            advice::SET_PREFERRED_LOCATION => {
                let place = place()?;
                change(ranges, start, end, |said| said.preferred = Some(place));
            }
            advice::SET_ACCESSED_BY | advice::UNSET_ACCESSED_BY => {
                let place = place()?;
                change(ranges, start, end, |said| {
                    said.accessed_by.retain(|one| *one != place);
                    if advice == advice::SET_ACCESSED_BY {
                        said.accessed_by.push(place);
                        // Devices first, then the host, whose ordinal is -1.
                        said.accessed_by.sort_by_key(|one| one.ordinal() as u32);
                    }
                });
            }
            _ => return Err(Error::InvalidValue),
        }
        Ok(())
    }

    /// `cudaMemPrefetchAsync`.
    pub(crate) fn prefetch(&self, address: Address, count: usize, place: Place) -> Result<()> {
        let (start, end) = self.check_managed_range(address, count)?;
        change(&mut self.shared.managed.lock(), start, end, |said| said.prefetched = Some(place));
        Ok(())
    }

    /// The ranges of a batch, each checked.
    pub(crate) fn managed_ranges(
        &self,
        addresses: In<Address>,
        sizes: In<usize>,
        count: usize,
        flags: u64,
    ) -> Result<Vec<(Address, usize)>> {
        if count == 0 || flags != 0 {
            return Err(Error::InvalidValue);
        }
        let ranges: Vec<_> = addresses.list(count)?.into_iter().zip(sizes.list(count)?).collect();
        for (address, size) in &ranges {
            self.check_managed_range(*address, *size)?;
        }
        Ok(ranges)
    }

    /// `cudaMemRangeGetAttribute`.
    pub(crate) fn range_attribute(
        &self,
        data: Out<c_void>,
        size: usize,
        attribute: c_int,
        address: Address,
        count: usize,
    ) -> Result<()> {
        data.check()?;
        let (start, end) = self.check_managed_range(address, count)?;
        if size == 0 || !size.is_multiple_of(size_of::<c_int>()) {
            return Err(Error::InvalidValue);
        }
        let parts = parts(&self.shared.managed.lock(), start, end);
        let values = attribute_values(&parts, attribute, size / size_of::<c_int>())?;
        let target = data.pointer().cast::<c_int>();
        for (index, value) in values.into_iter().enumerate() {
            Out::new(target.wrapping_add(index)).set(value)?;
        }
        Ok(())
    }

    /// `cudaMemRangeGetAttributes`.
    pub(crate) fn range_attributes(
        &self,
        data: In<*mut c_void>,
        sizes: In<usize>,
        attributes: In<c_int>,
        attribute_count: usize,
        address: Address,
        count: usize,
    ) -> Result<()> {
        let data = data.list(attribute_count)?;
        let sizes = sizes.list(attribute_count)?;
        let attributes = attributes.list(attribute_count)?;
        if attribute_count == 0 {
            return Err(Error::InvalidValue);
        }
        data.into_iter().zip(sizes).zip(attributes).try_for_each(|((data, size), attribute)| {
            self.range_attribute(Out::new(data), size, attribute, address, count)
        })
    }

    /// `cudaMemGetLocationInfo`: the majority location of the sampled pages in each part of the
    /// range.
    pub(crate) fn location_info(
        &self,
        address: Address,
        size: usize,
        [summary, sampling]: [usize; 2],
        locations: Out<MemoryLocation>,
    ) -> Result<()> {
        locations.check()?;
        self.check_managed_range(address, size)?;
        if summary == 0 || summary > size || sampling > summary {
            return Err(Error::InvalidValue);
        }
        let step = if sampling == 0 { PAGE as usize } else { sampling };
        let ranges = self.shared.managed.lock();
        for (index, start) in (0..size).step_by(summary).enumerate() {
            let mut seen: Vec<(MemoryLocation, usize)> = Vec::new();
            for offset in (start..size.min(start + summary)).step_by(step) {
                let location = location_of(&ranges, (address.0 + offset) as u64);
                match seen.iter_mut().find(|(one, _)| *one == location) {
                    Some((_, times)) => *times += 1,
                    None => seen.push((location, 1)),
                }
            }
            let most =
                seen.into_iter().max_by_key(|(_, times)| *times).map_or(NOWHERE, |(location, _)| location);
            Out::new(locations.pointer().wrapping_add(index)).set(most)?;
        }
        Ok(())
    }
}

/// The location of a page: its last prefetch, else the host if the page was touched.
fn location_of(ranges: &Ranges, address: u64) -> MemoryLocation {
    let (start, end) = pages(address, 1);
    if let Some(place) = common(&parts(ranges, start, end), |part| part.prefetched) {
        return place.0;
    }
    let mut resident = 0_u8;
    // SAFETY: the page is part of a live allocation, and the result has room for one page.
    let answer = unsafe { libc::mincore(start as *mut _, PAGE as usize, &raw mut resident) };
    if answer == 0 && resident & 1 == 0 { NOWHERE } else { MemoryLocation { kind: LOCATION_HOST, id: 0 } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefetched(ranges: &Ranges, start: u64, end: u64) -> Option<Place> {
        common(&parts(ranges, start, end), |part| part.prefetched)
    }

    #[test]
    fn range_attribute_is_common_to_all_parts() {
        let mut ranges = Ranges::new();
        let host = Place(MemoryLocation { kind: LOCATION_HOST, id: 0 });
        change(&mut ranges, 100, 200, |said| said.prefetched = Some(host));
        assert_eq!(prefetched(&ranges, 100, 200), Some(host));
        assert_eq!(prefetched(&ranges, 120, 180), Some(host));
        assert_eq!(prefetched(&ranges, 99, 200), None);
        assert_eq!(prefetched(&ranges, 100, 201), None);
        assert_eq!(prefetched(&ranges, 300, 400), None);
    }

    #[test]
    fn advice_in_the_middle_keeps_both_sides() {
        let mut ranges = Ranges::new();
        change(&mut ranges, 0, 300, |said| said.read_mostly = true);
        change(&mut ranges, 100, 200, |said| said.read_mostly = false);
        let read_mostly: Vec<_> = parts(&ranges, 0, 300).iter().map(|part| part.read_mostly).collect();
        assert_eq!(read_mostly, [true, false, true]);
    }
}
