//! The what-ifs: one thing of the GPU made ideal each.

use timing::fidelity::{Arithmetic, Banks, Coalescer, Dram, FidelitySpec, FrontEnd, Interconnect, L1, L2};
use timing::specification::GpuSpec;

/// Fidelities that an L2 or a crossbar without limits needs beside it.
const QUEUES: &[&str] =
    &["fidelity.interconnect=analytical", "fidelity.l2=analytical", "fidelity.dram=analytical"];

/// Registers of an SM that never limit its CTAs: 128 warps of 32 threads with 256 registers.
const REGISTERS: u32 = 1 << 20;

/// One thing made ideal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WhatIf {
    /// Name in the table.
    pub(super) name: &'static str,
    /// Changes of the run that the what-if is compared with.
    pub(super) base: &'static [&'static str],
    /// Changes beside those of the base.
    pub(super) changes: Vec<String>,
    /// The remedy for a program where the what-if has a gain.
    pub(super) advice: &'static str,
}

/// The what-ifs of a GPU; a unit that is ideal already has none.
pub(super) fn all(spec: &GpuSpec) -> Vec<WhatIf> {
    let own = &spec.fidelity;
    let candidates = of_memory(own).into_iter().chain(of_sm(spec));
    candidates.filter(|(is_wanted, _)| *is_wanted).map(|(_, what_if)| what_if).collect()
}

fn plain(name: &'static str, change: &str, advice: &'static str) -> WhatIf {
    WhatIf { name, base: &[], changes: vec![change.to_owned()], advice }
}

/// The what-ifs of caches, DRAM and crossbar, and whether the GPU lacks them.
fn of_memory(own: &FidelitySpec) -> [(bool, WhatIf); 4] {
    let queued = |name, change, advice| WhatIf { base: QUEUES, ..plain(name, change, advice) };
    [
        (
            own.l1 != L1::Ideal,
            plain(
                "every load hits L1",
                "fidelity.l1=ideal",
                "reuse data within a CTA: smaller tiles, shared memory, neighbouring threads on one line",
            ),
        ),
        (
            own.l2 != L2::Ideal,
            queued(
                "every request hits L2",
                "fidelity.l2=ideal",
                "let CTAs that run together touch the same data, so that L2 keeps it",
            ),
        ),
        (
            own.dram != Dram::Ideal && own.l2 != L2::Ideal,
            plain(
                "unlimited DRAM bandwidth",
                "fidelity.dram=ideal",
                "move fewer bytes: narrower types, fused kernels, data that is kept instead of read again",
            ),
        ),
        (
            own.interconnect != Interconnect::Ideal,
            queued(
                "unlimited crossbar",
                "fidelity.interconnect=ideal",
                "send fewer and fuller requests from the SMs: wider and aligned accesses",
            ),
        ),
    ]
}

/// The what-ifs of the SM, and whether the GPU lacks them.
fn of_sm(spec: &GpuSpec) -> [(bool, WhatIf); 6] {
    let own = &spec.fidelity;
    let width = format!("issue.width={}", 2 * spec.issue.width);
    let registers = format!("cta.registers={REGISTERS}");
    [
        (
            own.coalescer != Coalescer::Ideal,
            plain(
                "perfect coalescing",
                "fidelity.coalescer=ideal",
                "let neighbouring threads access neighbouring addresses: arrays of fields, transposed indices",
            ),
        ),
        (
            own.banks != Banks::Ideal,
            plain(
                "no bank conflicts",
                "fidelity.banks=ideal",
                "pad or swizzle arrays in shared memory, so that the lanes of a warp use different banks",
            ),
        ),
        (
            spec.cta.registers < REGISTERS,
            plain(
                "unlimited registers",
                &registers,
                "use fewer registers: launch bounds, -maxrregcount, shorter lives of values",
            ),
        ),
        (
            own.arithmetic != Arithmetic::Ideal,
            plain(
                "no arithmetic limits",
                "fidelity.arithmetic=ideal",
                "use fewer or cheaper instructions of the busy unit: float instead of double, intrinsics",
            ),
        ),
        (true, plain("double issue", &width, "issue fewer instructions: wider accesses, unrolled loops")),
        (
            own.front_end != FrontEnd::Ideal,
            plain(
                "no instruction fetch",
                "fidelity.front_end=ideal",
                "execute less code: shorter loops, fewer copies of a function, more work for each launch",
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(changes: &[&str]) -> GpuSpec {
        GpuSpec::changed("tiny", changes.iter().copied()).expect("a GPU")
    }

    #[test]
    fn every_what_if_is_a_valid_change() {
        for mode in timing::fidelity::MODES {
            for what_if in all(&spec(mode.changes)) {
                let own = what_if.changes.iter().map(String::as_str);
                let changes = mode.changes.iter().chain(what_if.base).copied().chain(own);
                let changed = GpuSpec::changed("tiny", changes);
                assert!(changed.is_ok(), "{} in {}: {changed:?}", what_if.name, mode.name);
            }
        }
    }

    #[test]
    fn unit_that_is_ideal_has_no_what_if() {
        let has = |changes: &[&str], name| all(&spec(changes)).iter().any(|it| it.name == name);
        assert!(has(&[], "no instruction fetch") && has(&[], "unlimited DRAM bandwidth"));
        assert!(!has(&["fidelity.front_end=ideal"], "no instruction fetch"));
        assert!(!has(&["fidelity.dram=ideal"], "unlimited DRAM bandwidth"));
    }
}
