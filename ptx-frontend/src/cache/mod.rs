//! Cache of decoded functions on disk, keyed by the hash of their text.
//!
//! A function's typed form follows from its text, the module's architecture, and the module's declarations
//! of the names that it uses. Text and architecture form the key. The declarations are stored with the
//! function and compared on load. Lines are stored relative to the function's first line. An entry is
//! validated like a text before use ([`is_sound`], [`crate::validate`]).

mod sound;

pub use sound::is_sound;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use voltsim_checkpoint::codec::{decode, encode};
use voltsim_checkpoint::frame::Schema;
use voltsim_checkpoint::{CacheCounts, CacheKey, DiskCache};

use crate::ir::{Function, Prototype, TextPosition};
use crate::isa::Architecture;
use crate::resolve::{Global, Surroundings};
use crate::validate;

/// Minimum body length in bytes: shorter functions parse as fast as they load.
const SHORTEST: usize = 2048;

/// Maximum size of a decoded function in bytes.
const LARGEST: usize = 1 << 28;

/// A folder of decoded functions, shared by modules, threads and processes.
#[derive(Debug)]
pub struct FunctionCache {
    disk: DiskCache,
}

/// Text of a function.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FunctionText<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_kernel: bool,
    pub(crate) header: &'a str,
    pub(crate) body: &'a str,
    /// Position of the header.
    pub(crate) place: TextPosition,
    pub(crate) architecture: Architecture,
    /// True if the module's functions follow the platform's calling convention.
    pub(crate) uses_abi: bool,
}

/// The module's declaration of a name, and its prototype if it is a function.
type Said = (Option<Global>, Option<Prototype>);

#[derive(Serialize)]
struct Stored<'a> {
    function: &'a Function,
    said: Vec<Said>,
}

#[derive(Deserialize)]
struct Loaded {
    function: Function,
    said: Vec<Said>,
}

impl FunctionCache {
    /// A cache in `folder` of about `capacity` bytes; no file is touched yet.
    pub fn new(folder: PathBuf, capacity: u64) -> FunctionCache {
        let schema = Schema::of(concat!("decoded function ", env!("FRONT_END_SOURCE_HASH")));
        FunctionCache { disk: DiskCache::new(folder, schema, capacity) }
    }

    /// Number of hits and misses.
    pub fn counts(&self) -> CacheCounts {
        self.disk.counts()
    }

    /// First problem with the cache, for a log.
    pub fn problem(&self) -> Option<String> {
        self.disk.problem()
    }

    /// Loads the function with this text, if cached with equal declarations.
    pub(crate) fn load(&self, text: FunctionText<'_>, module: &dyn Surroundings) -> Option<Function> {
        let value = self.disk.get(&text.key()?)?;
        let Loaded { mut function, said } = decode::<LARGEST, Loaded>(&value).ok()?;
        let is_meant = function.name == text.name && function.is_kernel == text.is_kernel;
        if !is_meant || !is_sound(&function) || said != what_is_said(&function, module) {
            return None;
        }
        if !validate::function(&function, module).is_empty() {
            return None;
        }
        shift_lines(&mut function, |line| line.saturating_add(text.place.line - 1));
        Some(function)
    }

    /// Stores a function.
    pub(crate) fn store(&self, text: FunctionText<'_>, function: &Function, module: &dyn Surroundings) {
        let Some(key) = text.key() else { return };
        let mut function = function.clone();
        shift_lines(&mut function, |line| line.saturating_sub(text.place.line - 1));
        let stored = Stored { said: what_is_said(&function, module), function: &function };
        if let Ok(value) = encode(&stored) {
            self.disk.put(&key, &value);
        }
    }
}

impl FunctionText<'_> {
    fn key(&self) -> Option<CacheKey> {
        let kind = if self.is_kernel { b"entry".as_slice() } else { b"func" };
        let architecture = format!("{:?} {}", self.architecture, self.uses_abi);
        let column = self.place.column.to_le_bytes();
        let parts =
            [kind, architecture.as_bytes(), self.header.as_bytes(), self.body.as_bytes(), column.as_slice()];
        (self.body.len() >= SHORTEST && self.place.line > 0).then(|| CacheKey::of(&parts))
    }
}

fn what_is_said(function: &Function, module: &dyn Surroundings) -> Vec<Said> {
    let names = function.externals.iter().map(|external| external.name.as_str());
    names
        .map(|name| (module.lookup(name), module.prototype(name).map(|prototype| (*prototype).clone())))
        .collect()
}

fn shift_lines(function: &mut Function, shifted: impl Fn(u32) -> u32) {
    for instruction in &mut function.instructions {
        instruction.place.line = shifted(instruction.place.line);
    }
}
