//! Energy of a launch from its counts, and of any first part of the launch.

use super::counters::{Part, TERMS, Term};
use super::{Power, PowerSpec};
use crate::statistics::Counter;

/// Units of an execution that decide on the static energy of active SMs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mix {
    Memory,
    Integer,
    Fp32,
    Fp64,
    Special,
    Texture,
    Tensor,
    Mixed,
}

/// Share of a launch's thread instructions from which on a unit belongs to its mix, as 1 in this
/// many.
const PART_OF_MIX: u64 = 100;

/// Places of counters in a list of values.
pub(crate) struct Places {
    /// Events of each counter of [`EventEnergies`](super::EventEnergies), in the order of its terms.
    events: Vec<Vec<usize>>,
    times: Times,
}

/// Energies of a GPU over a list of values.
pub(crate) struct Ledger<'p> {
    power: &'p Power,
    places: &'p Places,
}

/// Places of the counters that energies over time need.
struct Times {
    nanoseconds: usize,
    sm_cycles: usize,
    active_cycles: usize,
    warp_instructions: usize,
    thread_instructions: usize,
    /// Thread instructions of units, with the mix that each stands for.
    units: Vec<(Mix, usize)>,
}

/// Thread instructions that decide on the mix.
const UNITS: [(Mix, &str); 13] = [
    (Mix::Integer, "thread_instructions.integer"),
    (Mix::Integer, "thread_instructions.move"),
    (Mix::Integer, "thread_instructions.integer_multiply"),
    (Mix::Fp32, "thread_instructions.fp32"),
    (Mix::Fp32, "thread_instructions.half"),
    (Mix::Fp32, "thread_instructions.fp32_compare"),
    (Mix::Fp64, "thread_instructions.fp64"),
    (Mix::Fp64, "thread_instructions.fp64_compare"),
    (Mix::Special, "thread_instructions.special_function"),
    (Mix::Texture, "thread_instructions.texture"),
    (Mix::Texture, "thread_instructions.surface"),
    (Mix::Tensor, "thread_instructions.tensor"),
    (Mix::Tensor, "thread_instructions.tensor_integer"),
];

impl Places {
    /// Places in the order of `counters`; `None` if a counter is missing.
    pub(crate) fn of(counters: &[&'static Counter]) -> Option<Places> {
        let place = |name: &str| {
            let (section, name) = name.split_once('.')?;
            counters.iter().position(|counter| counter.section == section && counter.name == name)
        };
        let of_terms = |terms: &[Term]| terms.iter().map(|term| place(term.events)).collect();
        let units = UNITS.iter().map(|(mix, name)| Some((*mix, place(name)?)));
        Some(Places {
            events: TERMS.iter().map(|(_, terms)| of_terms(terms)).collect::<Option<_>>()?,
            times: Times {
                nanoseconds: place("gpu.nanoseconds")?,
                sm_cycles: place("gpu.sm_cycles")?,
                active_cycles: place("sm.active_cycles")?,
                warp_instructions: place("sm.warp_instructions")?,
                thread_instructions: place("sm.thread_instructions")?,
                units: units.collect::<Option<_>>()?,
            },
        })
    }
}

impl<'p> Ledger<'p> {
    /// A ledger for values at places.
    pub(crate) fn new(power: &'p Power, places: &'p Places) -> Ledger<'p> {
        Ledger { power, places }
    }

    /// Energies of the first part of a launch: `until` holds the counts up to its end, `whole`
    /// those of the launch. In the order of [`PowerCounters`](super::PowerCounters), in pJ.
    pub(crate) fn energies(&self, until: &[u64], whole: &[u64]) -> Vec<u64> {
        let events: Vec<u64> = TERMS
            .iter()
            .zip(&self.places.events)
            .map(|((_, terms), places)| self.of_events(terms, places, until))
            .collect();
        let over_time = self.over_time(until, whole);
        let sum = |part: Part| -> u64 {
            let parts = TERMS.iter().zip(&events).filter(|((own, _), _)| *own == part);
            parts.map(|(_, energy)| *energy).sum()
        };
        let (core, l1) = (sum(Part::Core), sum(Part::L1));
        let energy = core + l1 + sum(Part::MemorySide) + over_time.iter().sum::<u64>();
        [energy, core, l1].into_iter().chain(over_time).chain(events).collect()
    }

    /// Energy of events at the GPU's voltage: proportional to the voltage's square.
    fn of_events(&self, terms: &[Term], places: &[usize], until: &[u64]) -> u64 {
        let Power { spec, voltage, .. } = self.power;
        let of_term =
            |(term, place): (&Term, &usize)| u128::from(until[*place]) * u128::from((term.energy)(spec));
        let femtojoules: u128 = terms.iter().zip(places).map(of_term).sum();
        let [at, of] = [*voltage, spec.voltage].map(|voltage| u128::from(voltage).pow(2));
        saturated(femtojoules.saturating_mul(at) / of / 1000)
    }

    /// Static energy of active SMs, energy of idle SMs, constant energy. A milliwatt is a picojoule
    /// in a nanosecond.
    fn over_time(&self, until: &[u64], whole: &[u64]) -> [u64; 3] {
        let Power { spec, sms, voltage, .. } = self.power;
        let times = &self.places.times;
        let of_whole = |place: usize| u128::from(whole[place]);
        let (nanoseconds, sm_cycles) = (of_whole(times.nanoseconds), of_whole(times.sm_cycles).max(1));
        let active = u128::from(until[times.active_cycles]);
        let idle = u128::from(until[times.sm_cycles].saturating_sub(until[times.active_cycles]));
        let [first, next] = lanes(spec, times.mix(whole)).map(u128::from);
        // Milliwatts of all SMs of the card, times warp instructions.
        let warps = of_whole(times.warp_instructions);
        let further_lanes = of_whole(times.thread_instructions).saturating_sub(warps);
        let weighted = first * warps + next * further_lanes;
        let per_sm = weighted * nanoseconds * u128::from(*sms) / (warps.max(1) * u128::from(spec.sms));
        let active = per_sm * active / sm_cycles * u128::from(*voltage) / u128::from(spec.voltage);
        let idle = u128::from(spec.idle_sm) * u128::from(*sms) * nanoseconds * idle / sm_cycles
            * u128::from(*voltage)
            / u128::from(spec.voltage);
        let constant = u128::from(spec.constant) * u128::from(until[times.nanoseconds]);
        [active, idle, constant].map(saturated)
    }
}

fn saturated(energy: u128) -> u64 {
    u64::try_from(energy).unwrap_or(u64::MAX)
}

impl Times {
    /// The units that a launch uses.
    fn mix(&self, whole: &[u64]) -> Mix {
        let all = whole[self.thread_instructions];
        let uses = |mix: Mix| {
            let of_mix = self.units.iter().filter(|(own, _)| *own == mix);
            let sum: u64 = of_mix.map(|(_, place)| whole[*place]).sum();
            sum > 0 && sum >= all / PART_OF_MIX
        };
        let special = [Mix::Fp64, Mix::Special, Mix::Texture, Mix::Tensor];
        let mut used = special.into_iter().filter(|mix| uses(*mix));
        match (used.next(), used.next()) {
            (Some(_), Some(_)) => Mix::Mixed,
            (Some(mix), None) => mix,
            (None, _) if uses(Mix::Fp32) => Mix::Fp32,
            (None, _) if uses(Mix::Integer) => Mix::Integer,
            (None, _) => Mix::Memory,
        }
    }
}

/// Static power of all SMs of the card for the first lane and for each further one, in mW.
fn lanes(spec: &PowerSpec, mix: Mix) -> [u32; 2] {
    match mix {
        Mix::Memory => [spec.first_lane_memory, 0],
        Mix::Integer => [spec.first_lane_integer, spec.next_lane_integer],
        Mix::Fp32 => [spec.first_lane_fp32, spec.next_lane_fp32],
        Mix::Fp64 => [spec.first_lane_fp64, spec.next_lane_fp64],
        Mix::Special => [spec.first_lane_special, spec.next_lane_special],
        Mix::Texture => [spec.first_lane_texture, spec.next_lane_texture],
        Mix::Tensor => [spec.first_lane_tensor, spec.next_lane_tensor],
        Mix::Mixed => [spec.first_lane_mixed, spec.next_lane_mixed],
    }
}
