//! The whole GPU: specifications of all its units, and changes of single values.

use warp_stream::Moment;

use super::{CopySpec, LaunchSpec, TransferSpec};
use crate::crossbar::CrossbarSpec;
use crate::dram::{DramSpec, RefreshMode};
use crate::fidelity::FidelitySpec;
use crate::gpu_file::change::change_of;
pub use crate::gpu_file::files::{
    BUILT_IN, DEFAULT, about, built_in, capability, document, is_file, named, names, spelt, text, timed,
};
use crate::gpu_file::{Document, Key, SpecificationError, device_keys};
use crate::l2::L2Spec;
use crate::partition::PartitionSpec;
use crate::power::PowerSection;
use crate::sm::divergence::SmSpec;
use crate::sm::execution::{ExecutionSpec, LatencySpec};
use crate::sm::front_end::FrontEndSpec;
use crate::sm::issue::IssueSpec;
use crate::sm::memory::atomic::AtomicSpec;
use crate::sm::memory::coalescer::CoalescerSpec;
use crate::sm::memory::constant::ConstantSpec;
use crate::sm::memory::l1::L1Spec;
use crate::sm::memory::pipeline::MemoryPipelineSpec;
use crate::sm::memory::shared::SharedSpec;
use crate::sm::memory::texture::TextureSpec;
use crate::sm::memory::tlb::TlbSpec;
use crate::sm::occupancy::CtaSpec;
use crate::sm::operands::OperandSpec;
use crate::sm::result_bus::ResultBusSpec;

/// Longest epoch in core cycles: shorter than the start of a CTA or launch.
const LONGEST_EPOCH: u64 = 128;

/// Declares the units of a GPU.
macro_rules! gpu {
    ($($(#[doc = $about:literal])* $unit:ident: $spec:ty,)*) => {
        /// Specification of a GPU.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct GpuSpec {
            $($(#[doc = $about])* pub $unit: $spec,)*
        }

        impl GpuSpec {
            /// Reads the sections of all units; for a device profile, those of its base.
            ///
            /// # Errors
            /// A key that is unknown or missing, or whose value its unit rejects.
            pub(super) fn of_model(document: &Document) -> Result<GpuSpec, SpecificationError> {
                document.check_keys(&GpuSpec::keys())?;
                let gpu = GpuSpec { $($unit: <$spec>::read(document)?,)* };
                $(gpu.$unit.check(document)?;)*
                Ok(gpu)
            }

            /// Values of all units as text, by key. Equal values mean equal GPUs.
            pub fn values(&self) -> Vec<(String, String)> {
                [$(self.$unit.values(),)*].concat()
            }

            /// The keys of a GPU's file.
            pub fn keys() -> Vec<Key> {
                [$(<$spec>::keys(),)*].concat()
            }
        }
    };
}

gpu! {
    /// The chip.
    chip: ChipSpec,
    /// Clock domains.
    clocks: ClockSpec,
    /// Launches.
    launch: LaunchSpec,
    /// Copy engines.
    copy: CopySpec,
    /// Copies within the device, and fills.
    transfer: TransferSpec,
    /// SMs as a whole.
    sm: SmSpec,
    /// Front end of an SM.
    front_end: FrontEndSpec,
    /// Issue of an SM.
    issue: IssueSpec,
    /// Register file of an SM.
    operands: OperandSpec,
    /// Execution units of an SM.
    execution: ExecutionSpec,
    /// Latencies of instructions.
    latency: LatencySpec,
    /// Result bus of an SM.
    result_bus: ResultBusSpec,
    /// Resources of an SM for CTAs.
    cta: CtaSpec,
    /// Memory pipelines of an SM.
    memory_pipeline: MemoryPipelineSpec,
    /// Coalescer of an SM.
    coalescer: CoalescerSpec,
    /// Atomic operations on global memory, as they leave an SM.
    atomic: AtomicSpec,
    /// Shared memory of an SM.
    shared: SharedSpec,
    /// L1 data cache of an SM.
    l1: L1Spec,
    /// Constant caches of an SM.
    constant: ConstantSpec,
    /// Texture unit of an SM.
    texture: TextureSpec,
    /// L1 TLB of an SM.
    tlb: TlbSpec,
    /// Crossbar.
    crossbar: CrossbarSpec,
    /// Memory partitions.
    partition: PartitionSpec,
    /// L2 slices.
    l2: L2Spec,
    /// DRAM channels.
    dram: DramSpec,
    /// Fidelity of each unit.
    fidelity: FidelitySpec,
    /// Energies.
    power: PowerSection,
}

impl GpuSpec {
    /// Reads the `[timing]` half of a GPU's file.
    ///
    /// # Errors
    /// The file has no such half, a key is unknown or missing, or a unit rejects a value.
    pub fn read(document: &Document) -> Result<GpuSpec, SpecificationError> {
        match document.has_timing() {
            true => GpuSpec::of_model(document),
            false => Err(SpecificationError::NoTiming { file: document.file().to_owned() }),
        }
    }

    /// A GPU by its name or file ([`named`]), with values changed ([`change`]).
    ///
    /// # Errors
    /// The file or a change is invalid, or values contradict one another.
    pub fn changed<'a>(
        name: &str,
        changes: impl IntoIterator<Item = &'a str>,
    ) -> Result<GpuSpec, SpecificationError> {
        let mut document = named(name)?;
        changes.into_iter().try_for_each(|text| change(&mut document, text))?;
        GpuSpec::read(&document)
    }

    /// A built-in GPU by name.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn built_in(name: &str) -> Result<GpuSpec, SpecificationError> {
        GpuSpec::read(&built_in(name)?)
    }

    /// Core cycles that SMs and memory side simulate before they exchange messages. An epoch is at
    /// most the time that L2 knows of a reply before the reply reaches its SM. Longer epochs serve
    /// the host's caches; shorter ones share work among more cores.
    pub fn epoch(&self) -> u64 {
        (self.crossbar_cycles() + self.l2_cycles()).clamp(1, LONGEST_EPOCH)
    }

    /// Core cycles by which replies are simulated ahead, so that no reply arrives in the epoch that
    /// finds it.
    pub fn reply_lead(&self) -> u64 {
        self.epoch().saturating_sub(self.crossbar_cycles())
    }

    /// Minimum core cycles of a traversal of the crossbar.
    fn crossbar_cycles(&self) -> u64 {
        u64::from(self.crossbar.latency) * u64::from(self.clocks.core)
            / u64::from(self.clocks.crossbar.max(1))
    }

    /// Core cycles between a slice's decision to reply and the reply's departure.
    fn l2_cycles(&self) -> u64 {
        u64::from(self.l2.latency) * u64::from(self.clocks.core) / u64::from(self.clocks.l2.max(1))
    }

    /// Core cycles that one refresh keeps DRAM banks busy.
    pub fn refresh_cycles(&self) -> u64 {
        match self.dram.refresh {
            RefreshMode::None => 0,
            _ => u64::from(self.dram.rfc) * u64::from(self.clocks.core) / u64::from(self.clocks.dram.max(1)),
        }
    }

    /// Peak bandwidth of the DRAM's data buses, as in data sheets. Bytes per second.
    pub fn peak_dram_bandwidth(&self) -> u64 {
        let DramSpec { pseudo_channels, bus, burst, ccd_s, .. } = self.dram;
        let buses = u64::from(self.partition.channels) * u64::from(pseudo_channels);
        let bursts_per_second = u64::from(self.clocks.dram) * 1_000_000 / u64::from(ccd_s.max(1));
        buses * u64::from(bus) * u64::from(burst) * bursts_per_second
    }
}

/// Applies a change `section.key=value` of any key; the value may carry a unit (`l1.size=32KiB`) or
/// is in the key's unit.
///
/// # Errors
/// The text is malformed, the key unknown or the value unsuitable.
pub fn change(document: &mut Document, text: &str) -> Result<(), SpecificationError> {
    change_of(document, text, &[device_keys::KEYS, &GpuSpec::keys()].concat())
}

crate::specification! {
    /// The chip as a whole.
    pub struct ChipSpec in "chip" {
        /// Streaming multiprocessors.
        sms: u32 ["SMs"],
    }
}

impl ChipSpec {
    fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        match self.sms {
            0 => Err(document.wrong("chip", "sms", "must be at least 1")),
            _ => Ok(()),
        }
    }
}

crate::specification! {
    /// Frequencies of the clock domains.
    pub struct ClockSpec in "clocks" {
        /// SMs with their caches.
        core: u32 ["MHz"],
        /// Crossbar between SMs and L2 slices.
        crossbar: u32 ["MHz"],
        /// L2 slices.
        l2: u32 ["MHz"],
        /// DRAM: the command clock.
        dram: u32 ["MHz"],
    }
}

impl ClockSpec {
    fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let domains =
            [("core", self.core), ("crossbar", self.crossbar), ("l2", self.l2), ("dram", self.dram)];
        match domains.iter().find(|(_, frequency)| *frequency == 0) {
            Some((name, _)) => Err(document.wrong("clocks", name, "must be at least 1")),
            None => Ok(()),
        }
    }

    /// Moment at which a core cycle starts.
    pub fn moment(&self, cycle: u64) -> Moment {
        if let Some(thousand) = cycle.checked_mul(1000) {
            return Moment { cycle, nanoseconds: thousand / u64::from(self.core) };
        }
        let nanoseconds = u128::from(cycle) * 1000 / u128::from(self.core);
        Moment { cycle, nanoseconds: u64::try_from(nanoseconds).unwrap_or(u64::MAX) }
    }

    /// First core cycle that starts at or after a time.
    pub fn cycle_at(&self, nanoseconds: u64) -> u64 {
        let cycle = (u128::from(nanoseconds) * u128::from(self.core)).div_ceil(1000);
        u64::try_from(cycle).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gpu_with_timing_is_readable() {
        assert!(timed().count() > 10);
        for name in timed() {
            GpuSpec::built_in(name).unwrap();
        }
    }

    #[test]
    fn cycle_at_is_the_first_cycle_not_before_the_time() {
        let clocks = GpuSpec::built_in("titan-v").unwrap().clocks;
        for cycle in [0, 1, 2, 1199, 1200, 1 << 40, u64::MAX >> 12] {
            let nanoseconds = clocks.moment(cycle).nanoseconds;
            let at = clocks.cycle_at(nanoseconds);
            assert!(at <= cycle && clocks.moment(at).nanoseconds == nanoseconds, "{cycle}: {at}");
        }
    }

    #[test]
    fn change_replaces_a_value_in_the_unit_of_its_key() {
        let mut document = built_in("titan-v").unwrap();
        change(&mut document, "chip.sms=4").unwrap();
        assert_eq!(GpuSpec::read(&document).unwrap().chip.sms, 4);
    }

    #[test]
    fn change_of_an_unknown_key_is_an_error() {
        let mut document = built_in("titan-v").unwrap();
        assert!(change(&mut document, "chip.smz=4").is_err());
    }

    /// Error text of a TITAN V whose file sets a key to a value in the key's unit.
    fn refused(key: &str, value: &str) -> String {
        let (section, name) = key.split_once('.').unwrap();
        let unit = GpuSpec::keys().into_iter().find(|key| key.section == section && key.name == name);
        let unit = unit.unwrap().unit;
        let written = format!("{name} = {{ value = {value}, unit = \"{unit}\", source = \"mine\" }}");
        let text = format!("base = \"titan-v\"\n[timing.{section}]\n{written}\n");
        GpuSpec::read(&document("mine.toml", &text).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn impossible_geometry_names_the_offending_key() {
        for (key, value, rest) in [
            ("chip.sms", "0", ": must be at least 1"),
            (
                "chip.sms",
                "500",
                " with `crossbar.sms_per_port = 1`: the crossbar must have at most 128 ports",
            ),
            ("clocks.l2", "0", ": must be at least 1"),
            ("launch.drain", "20000000", ": must be at most 16,777,216 cycles"),
            ("copy.bandwidth", "0", ": must be at least 1"),
            ("transfer.lines", "0", ": must be at least 1"),
            ("transfer.rate", "0", ": must be at least 1"),
            ("front_end.width", "8", " with `front_end.buffer = 4`: the buffer must hold at least one fetch"),
            ("issue.width", "0", ": must be at least 1"),
            ("operands.banks", "9", ": must be 1 to 8"),
            ("execution.fp64", "0", ": must be at least 1"),
            ("latency.mov", "2", ": must be 3 to 48 cycles"),
            ("cta.warps", "63", ": must be a multiple of 4, at most 128"),
            ("shared.banks", "33", ": must be 1 to 32"),
            ("l1.sets", "7", " with `l1.size = 128`: the size must be a multiple of sets times 128 B"),
            ("l1.size", "1000", " with `l1.sets = 4`: the size must be a multiple of sets times 128 B"),
            (
                "l1.misses",
                "70000",
                " with `l1.size = 128`: resident and outstanding lines together must be fewer than 65,535",
            ),
            (
                "constant.latency",
                "85",
                " with `constant.l1_5_latency = 84`: a miss must take longer than a hit",
            ),
            (
                "constant.ways",
                "4294967295",
                " with `constant.size = 2`, `constant.line = 64`: the cache must hold a whole number of sets",
            ),
            ("tlb.page", "3000", ": must be a power of two of at least 128 B"),
            (
                "atomic.interval",
                "77",
                " with `atomic.interval_of_warp = 76`: the interval of a warp must be at least that of a lane",
            ),
            ("crossbar.latency", "0", ": must be at least 1"),
            (
                "partition.channels",
                "100",
                " with `partition.slices = 2`: all channels together must have at most 128 slices",
            ),
            ("l2.size", "1000", " with `l2.ways = 24`: the slice must hold a whole number of sets"),
            ("dram.rfc", "900000", ": must be at most 65,536 cycles"),
            ("dram.bus", "16", " with `dram.burst = 4`: bus width times burst must be 32 B"),
            ("dram.rc", "20", " with `dram.ras = 29`: `ras` must be at most `rc`"),
            (
                "dram.rfc",
                "1000",
                " with `dram.refi = 3315`, `dram.rp = 12`, `dram.ras = 29`, `dram.banks = 16`, \
                 `dram.refresh = \"per-bank\"`: refresh must leave time for accesses",
            ),
            (
                "partition.slices",
                "1",
                " with `dram.pseudo_channels = 2`: the pseudo-channels must divide the channel's slices evenly",
            ),
        ] {
            assert_eq!(refused(key, value), format!("mine.toml, line 3: `{key} = {value}`{rest}"));
        }
    }

    #[test]
    fn impossible_change_is_an_error_of_its_option() {
        let said = GpuSpec::changed("titan-v", ["chip.sms=500"]).unwrap_err().to_string();
        assert_eq!(
            said,
            "--set: `chip.sms = 500` with `crossbar.sms_per_port = 1`: the crossbar must have at most 128 ports"
        );
    }

    #[test]
    fn unknown_gpu_error_names_the_built_in_gpus() {
        assert!(GpuSpec::built_in("titan-w").unwrap_err().to_string().contains("titan-v"));
    }
}
