//! Decoded functions on disk, by the hash of their text.
//!
//! A function's typed form follows from its text, the module's architecture, and what the module says about the names it
//! uses. Text and architecture are the key; what the module said is stored with the function and compared when it is read. Lines are stored relative to
//! the function's own first line. An entry is judged like a text before it is used ([`is_sound`], [`crate::validate`]).

mod sound;

pub use sound::is_sound;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use voltsim_checkpoint::codec::{decode, encode};
use voltsim_checkpoint::frame::Schema;
use voltsim_checkpoint::{CacheCounts, CacheKey, DiskCache};

use crate::ir::{Function, Place, Prototype};
use crate::isa::Architecture;
use crate::resolve::{Global, Surroundings};
use crate::validate;

/// Functions with shorter bodies, in bytes, are parsed as fast as they would be read.
const SHORTEST: usize = 2048;

/// Largest decoded function, bytes.
const LARGEST: usize = 1 << 28;

/// A folder of decoded functions, shared by modules, threads and processes.
#[derive(Debug)]
pub struct FunctionCache {
    disk: DiskCache,
}

/// Where a function's text stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FunctionText<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_kernel: bool,
    pub(crate) header: &'a str,
    pub(crate) body: &'a str,
    /// Where the header begins.
    pub(crate) place: Place,
    pub(crate) architecture: Architecture,
    /// The module's functions follow the platform's calling convention.
    pub(crate) uses_abi: bool,
}

/// What a module says about a name: what it is, and its parameters if it is a function.
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
    /// The cache in `folder`, of at most about `capacity` bytes. Touches no file yet.
    pub fn new(folder: PathBuf, capacity: u64) -> FunctionCache {
        let schema = Schema::of(concat!("decoded function ", env!("FRONT_END_SOURCE_HASH")));
        FunctionCache { disk: DiskCache::new(folder, schema, capacity) }
    }

    /// Hits and misses so far.
    pub fn counts(&self) -> CacheCounts {
        self.disk.counts()
    }

    /// The first thing that went wrong, for a log.
    pub fn problem(&self) -> Option<String> {
        self.disk.problem()
    }

    /// The function with this text, if it is there and this module says the same about the names it uses.
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

    /// Keeps a function for the next time.
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
