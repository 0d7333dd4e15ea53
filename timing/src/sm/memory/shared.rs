//! Shared memory: 32 banks of 4 B, which also execute `SHFL`.

use warp_stream::{AccessKind, LaneMask, WARP_SIZE};

use super::banks;
use crate::fidelity::Banks;
use crate::gpu_file::{Document, SpecificationError};

/// Word size of a bank in bytes.
const WORD_BYTES: u64 = 4;

crate::specification! {
    /// Shared memory of an SM.
    pub struct SharedSpec in "shared" {
        /// Banks of 4 B each.
        banks: u32 ["banks"],
        /// First pass to result at the write-back latch.
        latency: u32 ["core cycles"],
        /// First pass of a shuffle (`SHFL`) to result at the write-back latch.
        shuffle_latency: u32 ["core cycles"],
        /// Interval between atomic operations on one word.
        atomic_interval: u32 ["core cycles"],
        /// Selectable sizes, smallest first. The rest of the unified memory is L1 data cache.
        sizes: Vec<u32> ["B"],
    }
}

impl SharedSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("shared", name, reason));
        if !(1..=banks::MAXIMUM_BANKS).contains(&self.banks) {
            return wrong("banks", "must be 1 to 32");
        }
        if self.atomic_interval == 0 {
            return wrong("atomic_interval", "must be at least 1");
        }
        if self.sizes.is_empty() || !self.sizes.is_sorted() {
            return wrong("sizes", "must be a list of at least one size, in ascending order");
        }
        Ok(())
    }

    /// The smallest size in bytes of at least `bytes`, or else the largest.
    pub fn size_for(&self, bytes: u32) -> u32 {
        let size = self.sizes.iter().find(|&&size| size >= bytes);
        size.or(self.sizes.last()).copied().unwrap_or_default()
    }

    /// Passes of an access. Wide accesses are split into halves or quarters of the warp, each with
    /// at most one word per bank in the absence of conflicts. Source: CUDA C++ programming guide,
    /// compute capability 5.x and later.
    pub fn passes(
        &self,
        kind: AccessKind,
        active: LaneMask,
        addresses: &[u64; WARP_SIZE],
        width: u8,
    ) -> Passes {
        let words_per_lane = u64::from(width).div_ceil(WORD_BYTES).clamp(1, 8);
        let lanes_per_part = WARP_SIZE / words_per_lane.next_power_of_two() as usize;
        let mut result = Passes::default();
        let mut words = [0; WARP_SIZE];
        for part in (0..WARP_SIZE).step_by(lanes_per_part) {
            let mut count = 0;
            for lane in (part..part + lanes_per_part).filter(|lane| active >> lane & 1 != 0) {
                for word in 0..words_per_lane {
                    words[count] = (addresses[lane] / WORD_BYTES).wrapping_add(word);
                    count += 1;
                }
            }
            if count == 0 {
                continue;
            }
            let words = &mut words[..count];
            let passes = match kind {
                AccessKind::Load | AccessKind::Store => banks::passes(words, self.banks),
                AccessKind::Atomic | AccessKind::Reduction => {
                    1 + (banks::serial_passes(words, self.banks) - 1) * self.atomic_interval
                }
            };
            result = result.and(Passes::of_a_part(passes));
        }
        result
    }
}

/// Passes of an access through the data stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passes {
    /// Total passes.
    pub passes: u32,
    /// Passes beyond the minimum for the access width.
    pub conflicts: u32,
}

impl Passes {
    /// One pass per part of the warp, without conflicts.
    pub fn of_parts(parts: u32) -> Passes {
        Passes { passes: parts, conflicts: 0 }
    }

    /// Passes of one part. All but the first are conflicts.
    pub fn of_a_part(passes: u32) -> Passes {
        Passes { passes, conflicts: passes.saturating_sub(1) }
    }

    /// The passes of the access with ideal banks; atomic operations keep theirs.
    #[must_use]
    pub fn with(self, banks: Banks, kind: AccessKind) -> Passes {
        match (banks, kind) {
            (Banks::Ideal, AccessKind::Load | AccessKind::Store) => {
                Passes::of_parts(self.passes - self.conflicts)
            }
            _ => self,
        }
    }

    /// Adds the passes of another part.
    #[must_use]
    pub fn and(self, other: Passes) -> Passes {
        Passes { passes: self.passes + other.passes, conflicts: self.conflicts + other.conflicts }
    }

    /// Reclassifies conflicts if the access needs at least `needed` passes anyway.
    #[must_use]
    pub fn at_least(self, needed: u32) -> Passes {
        let passes = self.passes.max(needed);
        Passes { passes, conflicts: passes - needed.max(self.passes - self.conflicts) }
    }
}

crate::counters! {
    /// Shared memory.
    pub struct SharedCounters in "shared" {
        /// Loads.
        load_requests: "requests" = "smsp__inst_executed_op_shared_ld.sum",
        /// Stores.
        store_requests: "requests" = "smsp__inst_executed_op_shared_st.sum",
        /// Atomic operations.
        atomic_requests: "requests" = "smsp__inst_executed_op_shared_atom.sum",
        /// Active lanes of shared-memory instructions.
        lanes: "lanes" = "",
        /// Passes of shared-memory instructions.
        passes: "passes" = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
        /// Extra passes of loads through bank conflicts.
        load_conflicts: "passes" = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
        /// Extra passes of stores through bank conflicts.
        store_conflicts: "passes" = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
        /// Extra passes of atomic operations through bank and address conflicts.
        atomic_conflicts: "passes" = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
        /// Shuffles (`SHFL`).
        shuffles: "requests" = "smsp__inst_executed_op_shfl.sum",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> SharedSpec {
        SharedSpec { banks: 32, latency: 19, shuffle_latency: 23, atomic_interval: 2, sizes: vec![0, 8, 16] }
    }

    fn passes(kind: AccessKind, width: u8, address: impl Fn(u64) -> u64) -> u32 {
        spec().passes(kind, !0, &std::array::from_fn(|lane| address(lane as u64)), width).passes
    }

    #[test]
    fn stride_takes_gcd_of_stride_and_banks_passes() {
        for (stride, degree) in
            [(1, 1), (2, 2), (3, 1), (4, 4), (6, 2), (8, 8), (16, 16), (31, 1), (32, 32), (33, 1)]
        {
            assert_eq!(passes(AccessKind::Load, 4, |lane| 4 * stride * lane), degree, "stride {stride}");
        }
    }

    #[test]
    fn common_word_is_broadcast() {
        assert_eq!(passes(AccessKind::Load, 4, |_| 12), 1);
        assert_eq!(passes(AccessKind::Load, 1, |lane| lane), 1);
    }

    #[test]
    fn words_of_8_and_16_bytes_take_two_and_four_passes() {
        assert_eq!(passes(AccessKind::Load, 8, |lane| 8 * lane), 2);
        assert_eq!(passes(AccessKind::Store, 16, |lane| 16 * lane), 4);
        assert_eq!(passes(AccessKind::Store, 16, |lane| 32 * lane), 8);
    }

    #[test]
    fn atomics_on_one_word_are_serialised() {
        assert_eq!(passes(AccessKind::Atomic, 4, |lane| 4 * lane), 1);
        assert_eq!(passes(AccessKind::Atomic, 4, |_| 0), 63);
    }

    #[test]
    fn no_active_lane_takes_no_pass() {
        assert_eq!(spec().passes(AccessKind::Load, 0, &[0; 32], 4), Passes::default());
    }

    #[test]
    fn carve_out_is_the_smallest_sufficient_size() {
        assert_eq!([0, 1, 8, 9, 100].map(|bytes| spec().size_for(bytes)), [0, 8, 8, 16, 16]);
    }
}
