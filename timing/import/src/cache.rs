//! Caches of option files: `S:4:128:64,L:T:m:L:L,A:512:8,16:0,32`.
//!
//! Fields: kind, sets, line bytes, ways; replacement, writes, allocation, write allocation, set
//! index; MSHRs and merges; miss queue with a result FIFO; data port's width. Older files omit the
//! kind. GPGPU-Sim 3.1 omits the set index; 3.0 puts policies after the geometry:
//! `64:128:8:L:B:m,A:32:8,8`.

use super::ImportError;
use super::options::Options;

/// A cache as its option describes it.
pub(super) struct Cache {
    /// Lines have sectors.
    pub sectored: bool,
    /// Sets.
    pub sets: u32,
    /// Associativity.
    pub ways: u32,
    /// Replacement: `L` for LRU, `F` for FIFO.
    pub replacement: char,
    /// Writes: `R` read-only, `B` write-back, `T` write-through, `E` evicting, `L` write-back for
    /// local and evicting for global memory.
    pub writes: char,
    /// Allocation: `m` on a miss, `f` on a fill, `s` streaming.
    pub allocation: char,
    /// Write misses: `N` no allocation, `W` and `F` fetch on write, `L` lazy fetch on read.
    pub write_allocation: char,
    /// Set index: `L` linear, `H` Fermi's hash, `P` IPOLY, `X` exclusive or.
    pub index: char,
    /// MSHRs.
    pub mshrs: u32,
    /// Requests that an MSHR may merge.
    pub merges: u32,
    /// Requests that may wait to leave.
    pub miss_queue: u32,
    /// Width of the data port in bytes.
    pub port: Option<u32>,
}

impl Cache {
    /// Line size of the model's caches.
    pub const LINE: u32 = 128;

    /// Reads the cache of an option.
    pub fn read(options: &mut Options, name: &str) -> Result<Option<Cache>, ImportError> {
        match Cache::read_with_line(options, name)? {
            Some((_, line)) if line != Cache::LINE => {
                Err(options.error(name, "the line must be 128 B; write the same size with such lines"))
            }
            found => Ok(found.map(|(cache, _)| cache)),
        }
    }

    /// Reads the cache of an option with its line size.
    pub fn read_with_line(options: &mut Options, name: &str) -> Result<Option<(Cache, u32)>, ImportError> {
        let Some(text) = options.text(name)? else { return Ok(None) };
        let shape = "must have the form kind:sets:line:ways,L:B:m:L:L,A:mshrs:merges,queue";
        parse(&text).map(Some).ok_or_else(|| options.error(name, shape))
    }

    /// The cache with the same size and ways in lines of the model; `None` if the sets would be no
    /// whole number.
    pub fn in_own_lines(self, line: u32) -> Option<Cache> {
        let bytes = self.sets.checked_mul(line)?;
        bytes.is_multiple_of(Cache::LINE).then_some(Cache { sets: bytes / Cache::LINE, ..self })
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        u64::from(self.sets) * u64::from(self.ways) * u64::from(Cache::LINE)
    }
}

/// Fields of a cache's text, whose order depends on the version.
struct Parts<'a> {
    sectored: bool,
    geometry: [&'a str; 3],
    policies: Vec<&'a str>,
    mshrs: Vec<&'a str>,
    queues: Vec<&'a str>,
    port: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn read(text: &'a str) -> Option<Parts<'a>> {
        let mut parts = text.split(',').map(|part| part.split(':').collect::<Vec<_>>());
        let mut geometry = parts.next()?;
        let kind = geometry.first().copied().filter(|kind| ["S", "N"].contains(kind));
        if kind.is_some() {
            geometry.remove(0);
        }
        let policies = match geometry.len() {
            3 => parts.next()?,
            // Version 3.0 puts policies after the geometry.
            6 => geometry.split_off(3),
            _ => return None,
        };
        let (mshrs, queues) = (parts.next()?, parts.next()?);
        let port = parts.next().and_then(|port| port.first().copied());
        let geometry = [geometry[0], geometry[1], geometry[2]];
        Some(Parts { sectored: kind == Some("S"), geometry, policies, mshrs, queues, port })
    }
}

/// Parses a cache and its line size.
fn parse(text: &str) -> Option<(Cache, u32)> {
    let Parts { sectored, geometry: [sets, line, ways], policies, mshrs, queues, port } = Parts::read(text)?;
    let (&replacement, &writes, &allocation) = (policies.first()?, policies.get(1)?, policies.get(2)?);
    if policies.len() > 5 {
        return None;
    }
    let write_allocation = policies.get(3).copied().unwrap_or("W");
    let index = policies.get(4).copied().unwrap_or("L");
    let [_, entries, merges, ..] = mshrs.as_slice() else { return None };
    let port = port.map(str::parse).transpose().ok()?;
    let cache = Cache {
        sectored,
        sets: sets.parse().ok()?,
        ways: ways.parse().ok()?,
        replacement: letter(replacement)?,
        writes: letter(writes)?,
        allocation: letter(allocation)?,
        write_allocation: letter(write_allocation)?,
        index: letter(index)?,
        mshrs: entries.parse().ok()?,
        merges: merges.parse().ok()?,
        miss_queue: queues.first()?.parse().ok()?,
        port,
    };
    // Reject sets and ways whose product overflows.
    cache.sets.checked_mul(cache.ways)?;
    Some((cache, line.parse().ok()?))
}

fn letter(text: &str) -> Option<char> {
    let mut letters = text.chars();
    letters.next().filter(|_| letters.next().is_none())
}
