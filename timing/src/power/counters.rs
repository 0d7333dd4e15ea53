//! Counters of energy, and the events that each of them adds up.

use super::PowerSpec;
use crate::statistics::Counter;

/// Events of a kind, with their energy.
pub(super) struct Term {
    /// Counter of the events, as `section.name`.
    pub(super) events: &'static str,
    /// Energy of an event in fJ.
    pub(super) energy: fn(&PowerSpec) -> u32,
}

/// Part of the chip whose energies a sum holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// SMs beside their caches.
    Core,
    /// Memories of SMs.
    L1,
    /// The memory side.
    MemorySide,
}

/// Declares energies of events: `name in part = [section.counter * key of PowerSpec, …]`.
macro_rules! energies {
    ($($(#[doc = $meaning:literal])* $name:ident in $part:ident =
       [$($section:ident . $counter:ident * $key:ident),+ $(,)?];)*) => {
        crate::counters! {
            /// Energies of events.
            pub struct EventEnergies in "power" {
                $($(#[doc = $meaning])* $name: "pJ" = "",)*
            }
        }

        /// Part and terms of each counter of [`EventEnergies`].
        pub(super) const TERMS: &[(Part, &[Term])] = &[$((Part::$part, &[$(Term {
            events: concat!(stringify!($section), ".", stringify!($counter)),
            energy: |spec| spec.$key,
        }),+])),*];
    };
}

energies! {
    /// Energy of instruction fetches.
    fetches in Core = [front_end.fetches * fetch, front_end.misses * fetch_miss];
    /// Energy of decoding and issue, and of the pipeline's registers.
    issue in Core = [sm.warp_instructions * instruction];
    /// Energy of the register file.
    registers in Core = [operands.reads * register_read, operands.writes * register_write];
    /// Energy of integer units.
    integer in Core = [
        thread_instructions.integer * integer, thread_instructions.move * integer,
        thread_instructions.integer_extremum * integer, thread_instructions.population_count * integer,
        thread_instructions.bit_search * integer, thread_instructions.vote * integer,
        thread_instructions.shuffle * integer,
        thread_instructions.integer_multiply * integer_multiply,
        thread_instructions.dot_product * integer_multiply,
    ];
    /// Energy of single-precision and half-precision units, and of conversions.
    fp32 in Core = [
        thread_instructions.fp32 * fp32, thread_instructions.half * fp32,
        thread_instructions.fp32_compare * fp32_compare, thread_instructions.conversion * fp32_compare,
        thread_instructions.wide_conversion * fp32_compare,
    ];
    /// Energy of double-precision units.
    fp64 in Core = [thread_instructions.fp64 * fp64, thread_instructions.fp64_compare * fp64];
    /// Energy of special function units.
    special_function in Core = [thread_instructions.special_function * special_function];
    /// Energy of tensor cores.
    tensor in Core = [thread_instructions.tensor * tensor, thread_instructions.tensor_integer * tensor];
    /// Energy of texture units beside their sectors.
    texture in Core = [thread_instructions.texture * texture, thread_instructions.surface * texture];
    /// Energy of L1 data caches.
    l1_data in L1 = [
        l1.global_load_sector_hits * l1_read_hit,
        l1.global_load_sectors_merged * l1_read_hit,
        l1.global_load_sector_misses * l1_read_miss,
        l1.local_load_sector_hits * l1_read_hit,
        l1.local_load_sectors_merged * l1_read_hit,
        l1.local_load_sector_misses * l1_read_miss,
        l1.load_sectors_bypassed * l1_read_miss,
        l1.global_store_sectors * l1_write,
        l1.local_store_sectors * l1_write,
        l1.texture_load_sectors * texture_sector,
        l1.texture_store_sectors * texture_sector,
    ];
    /// Energy of shared memory.
    shared_memory in L1 = [shared.passes * shared_pass];
    /// Energy of constant caches.
    constant_cache in L1 = [constant.requests * constant_request];
    /// Energy of the crossbar.
    interconnect in MemorySide = [crossbar.request_flits * flit, crossbar.reply_flits * flit];
    /// Energy of L2 slices.
    l2 in MemorySide = [
        l2.read_hits * l2_read_hit, l2.misses * l2_miss, l2.sectors_written * l2_write,
        l2.sectors_atomic * l2_write, l2.sectors_reduction * l2_write,
    ];
    /// Energy of DRAM accesses, with the memory controllers.
    dram in MemorySide = [dram.reads * dram_read, dram.writes * dram_write, dram.activates * dram_row];
}

crate::counters! {
    /// Energy of a launch: sums, energies over time, and energies of events.
    pub struct PowerCounters in "power" {
        /// Energy of the whole card.
        energy: "pJ" = "",
        /// Energy of SMs beside their caches: fetches, issue, registers, execution units.
        core: "pJ" = "",
        /// Energy of L1 data caches, shared memory and constant caches.
        l1: "pJ" = "",
        /// Static energy of SMs with CTAs, by active lanes.
        active_static: "pJ" = "",
        /// Energy of SMs without CTAs.
        idle: "pJ" = "",
        /// Energy of the card beside its units.
        constant: "pJ" = "",
    } with {
        /// Energies of events.
        events: EventEnergies,
    }
}

/// Counters of the events that an energy adds up, as `section.name`; none for energies over time
/// and for other counters.
pub(crate) fn events_of(counter: &Counter) -> impl Iterator<Item = &'static str> {
    let is_energy = counter.section == "power";
    let sum = move |part: Part| match counter.name {
        "energy" => true,
        "core" => part == Part::Core,
        "l1" => part == Part::L1,
        _ => false,
    };
    let own = EventEnergies::COUNTERS.iter().zip(TERMS);
    let chosen =
        own.filter(move |(event, (part, _))| is_energy && (event.name == counter.name || sum(*part)));
    chosen.flat_map(|(_, (_, terms))| terms.iter().map(|term| term.events))
}
