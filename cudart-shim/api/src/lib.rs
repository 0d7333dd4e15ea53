//! The table of every function the shim exports, read from the text files beside this crate.
//!
//! `libcudart.tsv`, `libcuda.tsv`, `libnvidia-ml.tsv` and `libnvJitLink.tsv` hold one line per
//! function: name, exporting libraries, state and signature. The first two also hold the context
//! that the call needs. The build scripts of the front libraries make their trampolines from the
//! table ([`front`]), the core its function tables ([`core_tables`]), and `voltsim status api`
//! prints it.

pub mod attributes;
pub mod context;
pub mod core_tables;
pub mod errors;
pub mod front;
pub mod signature;

pub use context::Need;
pub use signature::{Class, Signature};

const RUNTIME_TABLE: &str = include_str!("../libcudart.tsv");
const DRIVER_TABLE: &str = include_str!("../libcuda.tsv");
const MANAGEMENT_TABLE: &str = include_str!("../libnvidia-ml.tsv");
const LINKER_TABLE: &str = include_str!("../libnvJitLink.tsv");

/// A library a CUDA program links against or opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Library {
    /// `libcudart.so.11.0`, of CUDA 11.8.
    Cudart11,
    /// `libcudart.so.12`, of CUDA 12.9.
    Cudart12,
    /// `libcudart.so.13`, of CUDA 13.5.
    Cudart13,
    /// `libcuda.so.1`, the driver.
    Cuda,
    /// `libnvidia-ml.so.1`, NVML.
    Nvml,
    /// `libnvJitLink.so.12`, of CUDA 12.9.
    NvJitLink12,
    /// `libnvJitLink.so.13`, of CUDA 13.5.
    NvJitLink13,
}

impl Library {
    /// All libraries; the position is the number that a front gives to the core.
    pub const ALL: [Library; 7] = [
        Library::Cudart11,
        Library::Cudart12,
        Library::Cudart13,
        Library::Cuda,
        Library::Nvml,
        Library::NvJitLink12,
        Library::NvJitLink13,
    ];

    /// `DT_SONAME` of the library.
    pub fn soname(self) -> &'static str {
        match self {
            Library::Cudart11 => "libcudart.so.11.0",
            Library::Cudart12 => "libcudart.so.12",
            Library::Cudart13 => "libcudart.so.13",
            Library::Cuda => "libcuda.so.1",
            Library::Nvml => "libnvidia-ml.so.1",
            Library::NvJitLink12 => "libnvJitLink.so.12",
            Library::NvJitLink13 => "libnvJitLink.so.13",
        }
    }

    /// Symbol version node of all functions; `None` for the driver's libraries.
    pub fn version_node(self) -> Option<&'static str> {
        match self {
            Library::Cuda | Library::Nvml => None,
            _ => Some(self.soname()),
        }
    }

    /// Cargo's name of the front library (`lib<this>.so`), installed as [`Library::soname`].
    pub fn crate_name(self) -> &'static str {
        match self {
            Library::Cudart11 => "voltsim_cudart_11",
            Library::Cudart12 => "voltsim_cudart_12",
            Library::Cudart13 => "voltsim_cudart_13",
            Library::Cuda => "voltsim_cuda",
            Library::Nvml => "voltsim_nvml",
            Library::NvJitLink12 => "voltsim_nvjitlink_12",
            Library::NvJitLink13 => "voltsim_nvjitlink_13",
        }
    }

    /// Number that a front gives to the core.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Hash of the exported names in table order. The core rejects a front with another hash.
    pub fn fingerprint(self) -> Result<u64, TableError> {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for function in exports(self)? {
            for byte in function.name.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
        Ok(hash)
    }
}

/// Implementation state of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Implemented by this body in the core.
    Done(&'static str),
    /// Exported; returns "not supported" and logs name and caller.
    Stub,
    /// As [`State::Stub`], and out of scope (graphics interoperation and the like); returns this
    /// error.
    Refused(&'static str),
}

impl State {
    /// `done`, `stub` or `refused`.
    pub fn label(self) -> &'static str {
        match self {
            State::Done(_) => "done",
            State::Stub => "stub",
            State::Refused(_) => "refused",
        }
    }
}

/// Default stream of the function that `cuGetProcAddress` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Legacy default stream.
    Legacy,
    /// Per-thread default stream (`_ptds`, `_ptsz`).
    PerThread,
}

/// A name under which `cuGetProcAddress` finds a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Name without a suffix such as `_v2`.
    pub name: &'static str,
    /// First CUDA version (1000 × major + 10 × minor) in which the name means this function.
    pub since: u32,
    /// Default stream of the variant.
    pub streams: Streams,
}

/// One line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Exported name.
    pub name: &'static str,
    /// Libraries that export the function with this signature and body.
    pub libraries: Vec<Library>,
    /// Names for `cuGetProcAddress`; empty in the runtime.
    pub lookups: Vec<Lookup>,
    /// Implementation state.
    pub state: State,
    /// C signature without the name, `cudaError_t (int *count)`; empty where no document gives it.
    pub signature: &'static str,
    /// Required context.
    pub need: Need,
    /// Evidence for `need`, a word that the table's head explains; empty for NVML and nvJitLink.
    pub source: &'static str,
}

/// A mistake in a table file.
#[derive(Debug, thiserror::Error)]
#[error("{table} line {line}: {message}")]
pub struct TableError {
    table: &'static str,
    line: usize,
    message: String,
}

/// Every function of the three runtime libraries.
pub fn runtime() -> Result<Vec<Function>, TableError> {
    parse("libcudart.tsv", RUNTIME_TABLE, Some(Need::of_runtime), |versions| {
        let libraries = versions
            .split(',')
            .map(|version| match version {
                "11" => Ok(Library::Cudart11),
                "12" => Ok(Library::Cudart12),
                "13" => Ok(Library::Cudart13),
                _ => Err(format!("unknown runtime version `{version}`")),
            })
            .collect::<Result<_, _>>()?;
        Ok((libraries, Vec::new()))
    })
}

/// Every function of the driver.
pub fn driver() -> Result<Vec<Function>, TableError> {
    parse("libcuda.tsv", DRIVER_TABLE, Some(Need::of_driver), |lookups| {
        let lookups = lookups.split(',').map(parse_lookup).collect::<Result<_, _>>()?;
        Ok((vec![Library::Cuda], lookups))
    })
}

/// Every function of NVML.
pub fn management() -> Result<Vec<Function>, TableError> {
    parse("libnvidia-ml.tsv", MANAGEMENT_TABLE, None, |library| match library {
        "nvml" => Ok((vec![Library::Nvml], Vec::new())),
        _ => Err(format!("unknown library `{library}`")),
    })
}

/// Every function of the two versions of nvJitLink.
pub fn linker() -> Result<Vec<Function>, TableError> {
    parse("libnvJitLink.tsv", LINKER_TABLE, None, |versions| {
        let libraries = versions
            .split(',')
            .map(|version| match version {
                "12" => Ok(Library::NvJitLink12),
                "13" => Ok(Library::NvJitLink13),
                _ => Err(format!("unknown nvJitLink version `{version}`")),
            })
            .collect::<Result<_, _>>()?;
        Ok((libraries, Vec::new()))
    })
}

/// Exports of a library, in the order of its function table.
pub fn exports(library: Library) -> Result<Vec<Function>, TableError> {
    let mut functions = match library {
        Library::Cuda => driver()?,
        Library::Nvml => management()?,
        Library::NvJitLink12 | Library::NvJitLink13 => linker()?,
        _ => runtime()?,
    };
    functions.retain(|function| function.libraries.contains(&library));
    Ok(functions)
}

fn parse_lookup(text: &'static str) -> Result<Lookup, String> {
    let malformed = || format!("`{text}` is not NAME@VERSION[/ptds|/ptsz]");
    let (name, version) = text.split_once('@').ok_or_else(malformed)?;
    let (version, streams) = match version.split_once('/') {
        Some((version, "ptds" | "ptsz")) => (version, Streams::PerThread),
        Some(_) => return Err(malformed()),
        None => (version, Streams::Legacy),
    };
    let since = version.parse().map_err(|_| malformed())?;
    Ok(Lookup { name, since, streams })
}

type Exporters = (Vec<Library>, Vec<Lookup>);

fn parse(
    table: &'static str,
    text: &'static str,
    need_of: Option<fn(&str) -> Option<Need>>,
    exporters: impl Fn(&'static str) -> Result<Exporters, String>,
) -> Result<Vec<Function>, TableError> {
    let mut functions = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let error = |message| TableError { table, line: index + 1, message };
        let fields: Vec<&'static str> = line.split('\t').collect();
        let (name, exported_by, state, signature, context) = match (&fields[..], need_of) {
            ([name, exported_by, state, signature, need, source], Some(need_of)) => {
                (*name, *exported_by, *state, *signature, Some((need_of(need), *source)))
            }
            ([name, exported_by, state, signature], None) => (*name, *exported_by, *state, *signature, None),
            (_, need_of) => {
                let wanted = if need_of.is_some() { 6 } else { 4 };
                return Err(error(format!("{} fields instead of {wanted}", fields.len())));
            }
        };
        let (need, source) = match context {
            None => (Need::Nothing, ""),
            Some((Some(need), source)) if context::SOURCES.contains(&source) => (need, source),
            Some((need, source)) => {
                let what = if need.is_some() {
                    format!("unknown source `{source}`")
                } else {
                    "unknown context".to_owned()
                };
                return Err(error(what));
            }
        };
        let state = match state.split_once(':').unwrap_or((state, "")) {
            ("done", "") => State::Done(name),
            ("done", body) => State::Done(body),
            ("stub", "") => State::Stub,
            ("refused", "") => State::Refused("NotSupported"),
            ("refused", error) => State::Refused(error),
            _ => return Err(error(format!("unknown state `{state}`"))),
        };
        let (libraries, lookups) = exporters(exported_by).map_err(error)?;
        functions.push(Function { name, libraries, lookups, state, signature, need, source });
    }
    Ok(functions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_export_as_many_functions_as_originals() {
        let count = |library| exports(library).map(|functions| functions.len()).unwrap_or(0);
        assert_eq!(count(Library::Cudart11), 395);
        assert_eq!(count(Library::Cudart12), 435);
        assert_eq!(count(Library::Cudart13), 458);
        assert!(count(Library::Cuda) > 700);
        assert!(count(Library::Nvml) > 400);
        assert_eq!(count(Library::NvJitLink12), 144);
        assert_eq!(count(Library::NvJitLink13), 166);
    }

    #[test]
    fn no_library_exports_a_name_twice() {
        for library in Library::ALL {
            let functions = exports(library).unwrap_or_default();
            let mut names: Vec<_> = functions.iter().map(|function| function.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), functions.len(), "{}", library.soname());
        }
    }

    #[test]
    fn driver_lookups_are_unique_by_name_and_version() {
        let functions = driver().unwrap_or_default();
        let mut keys: Vec<_> = functions
            .iter()
            .flat_map(|function| &function.lookups)
            .map(|lookup| (lookup.name, lookup.since, lookup.streams == Streams::PerThread))
            .collect();
        let total = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), total);
    }
}
