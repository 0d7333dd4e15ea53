//! Addresses of driver functions by name and version, for both APIs; export tables.

use crate::abi::error::{Error, Result};
use crate::abi::{In, Out, Text};
use crate::api::entry::api;
use crate::api::export_table;
use crate::api::tables::{LOOKUPS, Lookup, driver_function};
use std::ffi::{c_int, c_void};

/// Flags of `cuGetProcAddress`: 1 selects the legacy default stream, 2 the thread's own.
const PER_THREAD_STREAM: u64 = 2;
const KNOWN_FLAGS: u64 = 3;

/// Result of a lookup, `CUdriverProcAddressQueryResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The function.
    Function(*const c_void),
    /// No function of this name.
    UnknownName,
    /// The name is newer than the version asked for.
    VersionTooOld,
}

impl Found {
    /// Value of `CUdriverProcAddressQueryResult`.
    pub(crate) fn status(self) -> c_int {
        match self {
            Self::Function(_) => 0,
            Self::UnknownName => 1,
            Self::VersionTooOld => 2,
        }
    }
}

/// Function that a program built for CUDA `version` means by `name`: the newest variant up to that
/// version, with per-thread streams if requested and available.
pub(crate) fn look_up(name: &str, version: u32, per_thread: bool) -> Found {
    let start = LOOKUPS.partition_point(|lookup| lookup.name < name);
    let named = LOOKUPS.get(start..).unwrap_or_default().iter().take_while(|lookup| lookup.name == name);
    let newest = |wanted: bool| {
        let fits = |lookup: &&Lookup| lookup.per_thread == wanted && lookup.since <= version;
        named.clone().filter(fits).max_by_key(|lookup| lookup.since)
    };
    let best = per_thread.then(|| newest(true)).flatten().or_else(|| newest(false));
    match best.and_then(|lookup| driver_function(lookup.slot)) {
        Some(function) => Found::Function(function),
        None if named.clone().next().is_some() => Found::VersionTooOld,
        None => Found::UnknownName,
    }
}

fn get(symbol: Text, result: Out<*const c_void>, version: c_int, flags: u64) -> Result<Found> {
    result.check()?;
    if flags & !KNOWN_FLAGS != 0 {
        return Err(Error::InvalidValue);
    }
    let version = u32::try_from(version).map_err(|_| Error::InvalidValue)?;
    let name = symbol.get()?.to_str().map_err(|_| Error::InvalidValue)?;
    let found = if name.is_empty() {
        Found::UnknownName
    } else {
        look_up(name, version, flags & PER_THREAD_STREAM != 0)
    };
    let function = if let Found::Function(function) = found { function } else { std::ptr::null() };
    result.set(function)?;
    Ok(found)
}

/// A private table of the vendor; null for unknown ones.
pub(crate) fn export_table(table: Out<*const c_void>, id: In<[u8; 16]>) -> Result<()> {
    table.check()?;
    let found = export_table::find(&id.get()?);
    table.set(found.unwrap_or(std::ptr::null()))?;
    found.map(|_| ())
}

api! { Driver;
    /// The function of this name and version; an error without one.
    fn cuGetProcAddress(symbol: Text, pfn: Out<*const c_void>, cudaVersion: c_int, flags: u64) {
        match get(symbol, pfn, cudaVersion, flags)? {
            Found::Function(_) => Ok(()),
            _ => Err(Error::SymbolNotFound),
        }
    }

    /// The function of this name and version, with the lookup's result.
    fn cuGetProcAddress_v2(
        symbol: Text, pfn: Out<*const c_void>, cudaVersion: c_int, flags: u64, status: Out<c_int>,
    ) {
        let found = get(symbol, pfn, cudaVersion, flags)?;
        let reported = status.set_if_wanted(found.status());
        match found {
            Found::Function(_) => Ok(()),
            _ if reported => Ok(()),
            _ => Err(Error::SymbolNotFound),
        }
    }

    /// A private table of the vendor.
    fn cuGetExportTable(ppExportTable: Out<*const c_void>, id: In<[u8; 16]>) { export_table(ppExportTable, id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(name: &str) -> Option<*const c_void> {
        let slot = api_table::driver().unwrap().iter().position(|function| function.name == name)?;
        driver_function(u16::try_from(slot).unwrap())
    }

    fn found(name: &str, version: u32, per_thread: bool) -> Option<*const c_void> {
        match look_up(name, version, per_thread) {
            Found::Function(function) => Some(function),
            _ => None,
        }
    }

    #[test]
    fn name_means_the_versions_newest_variant() {
        for (name, version, symbol) in [
            ("cuCtxCreate", 3020, "cuCtxCreate_v2"),
            ("cuCtxCreate", 11030, "cuCtxCreate_v2"),
            ("cuCtxCreate", 11040, "cuCtxCreate_v3"),
            ("cuCtxCreate", 13050, "cuCtxCreate_v4"),
            ("cuGetProcAddress", 12000, "cuGetProcAddress_v2"),
            ("cuMemAlloc", 12090, "cuMemAlloc_v2"),
        ] {
            assert_eq!(found(name, version, false), address(symbol), "{name} {version}");
        }
    }

    #[test]
    fn per_thread_flag_selects_the_suffixed_variant() {
        assert_eq!(found("cuMemcpyAsync", 12000, true), address("cuMemcpyAsync_ptsz"));
        assert_eq!(found("cuMemcpyHtoD", 12000, true), address("cuMemcpyHtoD_v2_ptds"));
        assert_eq!(found("cuInit", 12000, true), address("cuInit"));
    }

    #[test]
    fn too_new_name_differs_from_an_unknown_one() {
        assert_eq!(look_up("cuLibraryLoadData", 11000, false), Found::VersionTooOld);
        assert_eq!(look_up("cuNothing", 13000, false), Found::UnknownName);
    }
}
