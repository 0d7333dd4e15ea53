//! Caches of option files: `S:4:128:64,L:T:m:L:L,A:512:8,16:0,32`.
//!
//! Kind, sets, bytes of a line, ways; replacement, writes, allocation, allocation by writes, set index; MSHRs with what
//! they merge; miss queue with a FIFO of results; width of the data port. Older files leave the kind out.

use super::ImportError;
use super::options::Options;

/// Letters and numbers of a cache.
pub(super) struct Cache {
    /// Lines have sectors.
    pub sectored: bool,
    /// Sets.
    pub sets: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Replacement: `L` for LRU, `F` for FIFO.
    pub replacement: char,
    /// Writes: `R` read-only, `B` back, `T` through, `E` evicting, `L` back where local and evicting where global.
    pub writes: char,
    /// Allocation: `m` on a miss, `f` on a fill, `s` streaming.
    pub allocation: char,
    /// What writes that miss do: `N` no allocation, `W` and `F` fetching, `L` lazily fetching on read.
    pub write_allocation: char,
    /// Set index: `L` linear, `H` Fermi's hash, `P` IPOLY, `X` exclusive or.
    pub index: char,
    /// MSHRs.
    pub mshrs: u32,
    /// Requests that an MSHR merges.
    pub merges: u32,
    /// Requests that wait to leave.
    pub miss_queue: u32,
    /// Bytes of the data port.
    pub port: Option<u32>,
}

impl Cache {
    /// Bytes of a line; caches with others are refused.
    pub const LINE: u32 = 128;

    /// The cache of an option.
    pub fn read(options: &mut Options, name: &str) -> Result<Option<Cache>, ImportError> {
        let Some(text) = options.text(name)? else { return Ok(None) };
        let shape = "a cache is kind:sets:line:ways,L:B:m:L:L,A:mshrs:merges,queue";
        let (cache, line) = parse(&text).ok_or_else(|| options.error(name, shape))?;
        if line != Cache::LINE {
            return Err(options.error(name, "our caches have lines of 128 B"));
        }
        Ok(Some(cache))
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        u64::from(self.sets) * u64::from(self.ways) * u64::from(Cache::LINE)
    }
}

/// The cache and the bytes of its lines.
fn parse(text: &str) -> Option<(Cache, u32)> {
    let mut parts = text.split(',').map(|part| part.split(':').collect::<Vec<_>>());
    let (geometry, policies, mshrs, queues) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let (sectored, geometry) = match geometry.as_slice() {
        ["S", rest @ ..] => (true, rest),
        ["N", rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let [sets, line, ways] = geometry else { return None };
    let [replacement, writes, allocation, write_allocation, index] = policies.as_slice() else { return None };
    let [_, entries, merges, ..] = mshrs.as_slice() else { return None };
    let port = match parts.next() {
        Some(port) => Some(port.first()?.parse().ok()?),
        None => None,
    };
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
    // Sets and ways for which there is no size.
    cache.sets.checked_mul(cache.ways)?;
    Some((cache, line.parse().ok()?))
}

fn letter(text: &str) -> Option<char> {
    let mut letters = text.chars();
    letters.next().filter(|_| letters.next().is_none())
}
