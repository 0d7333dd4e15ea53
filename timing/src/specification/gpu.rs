//! A whole GPU: the specifications of all its units, and the files that come with the program.

use warp_stream::Moment;

use super::document::closest;
use super::{Document, Key, SpecificationError, quantity};
use crate::crossbar::CrossbarSpec;
use crate::dram::{DramSpec, RefreshMode};
use crate::gpu::{CopySpec, LaunchSpec, TransferSpec};
use crate::l2::L2Spec;
use crate::partition::PartitionSpec;
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

/// Core cycles of an epoch, at most. CTAs and launches take longer than that to start.
const LONGEST_EPOCH: u64 = 128;

/// GPU files that are part of the program.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("titan-v", include_str!("../../configs/titan-v.toml")),
    ("titan-v-old", include_str!("../../configs/titan-v-old.toml")),
    ("titan-v-hbm1", include_str!("../../configs/titan-v-hbm1.toml")),
    ("gv100", include_str!("../../configs/gv100.toml")),
    ("v100", include_str!("../../configs/v100.toml")),
    ("rtx2070s", include_str!("../../configs/rtx2070s.toml")),
    ("rtx2080ti", include_str!("../../configs/rtx2080ti.toml")),
    ("rtx3060", include_str!("../../configs/rtx3060.toml")),
    ("rtx3090", include_str!("../../configs/rtx3090.toml")),
    ("gtx1050", include_str!("../../configs/gtx1050.toml")),
    ("gtx1080ti", include_str!("../../configs/gtx1080ti.toml")),
    ("gtx470", include_str!("../../configs/gtx470.toml")),
    ("tiny", include_str!("../../configs/tiny.toml")),
];

/// Declares which units a GPU consists of.
macro_rules! gpu {
    ($($(#[doc = $about:literal])* $unit:ident: $spec:ty,)*) => {
        /// What a GPU is.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct GpuSpec {
            $($(#[doc = $about])* pub $unit: $spec,)*
        }

        impl GpuSpec {
            /// Reads all units' sections.
            ///
            /// # Errors
            /// A key that no unit knows, that is missing, or whose value a unit refuses.
            pub fn read(document: &Document) -> Result<GpuSpec, SpecificationError> {
                document.check_keys(&GpuSpec::keys())?;
                let gpu = GpuSpec { $($unit: <$spec>::read(document)?,)* };
                $(gpu.$unit.check(document)?;)*
                Ok(gpu)
            }

            /// The values of all units as text, by key: two GPUs are the same if these are.
            pub fn values(&self) -> Vec<(String, String)> {
                [$(self.$unit.values(),)*].concat()
            }

            /// The keys of a GPU's file.
            pub fn keys() -> Vec<Key> {
                [$(<$spec>::KEYS,)*].concat()
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
    /// What an SM has for CTAs.
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
}

impl GpuSpec {
    /// A GPU by its name or file ([`named`]), with some values changed ([`change`]).
    ///
    /// # Errors
    /// What is wrong with the file, with a change, or with the values together.
    pub fn changed<'a>(
        name: &str,
        changes: impl IntoIterator<Item = &'a str>,
    ) -> Result<GpuSpec, SpecificationError> {
        let mut document = named(name)?;
        changes.into_iter().try_for_each(|text| change(&mut document, text))?;
        GpuSpec::read(&document)
    }

    /// A GPU that is part of the program, by name.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn built_in(name: &str) -> Result<GpuSpec, SpecificationError> {
        GpuSpec::read(&built_in(name)?)
    }

    /// Cycles of the core clock that SMs and memory side run on their own before they exchange messages: no longer than a
    /// reply takes from when L2 knows it until it is at its SM. Longer ones let the host's caches serve an SM for longer, but
    /// the less its cores share.
    pub fn epoch(&self) -> u64 {
        (self.crossbar_cycles() + self.l2_cycles()).clamp(1, LONGEST_EPOCH)
    }

    /// Core cycles that replies have to be run ahead of all else, so that none comes in the epoch in which it is found.
    pub fn reply_lead(&self) -> u64 {
        self.epoch().saturating_sub(self.crossbar_cycles())
    }

    /// Core cycles of a way through the crossbar, at least.
    fn crossbar_cycles(&self) -> u64 {
        u64::from(self.crossbar.latency) * u64::from(self.clocks.core)
            / u64::from(self.clocks.crossbar.max(1))
    }

    /// Core cycles that a slice knows before that a reply will leave it.
    fn l2_cycles(&self) -> u64 {
        u64::from(self.l2.latency) * u64::from(self.clocks.core) / u64::from(self.clocks.l2.max(1))
    }

    /// Core cycles that banks of the DRAM are refreshed at a time.
    pub fn refresh_cycles(&self) -> u64 {
        match self.dram.refresh {
            RefreshMode::None => 0,
            _ => u64::from(self.dram.rfc) * u64::from(self.clocks.core) / u64::from(self.clocks.dram.max(1)),
        }
    }

    /// What the DRAM's data buses move at most, as data sheets give it. Bytes per second.
    pub fn peak_dram_bandwidth(&self) -> u64 {
        let DramSpec { pseudo_channels, bus, burst, ccd_s, .. } = self.dram;
        let buses = u64::from(self.partition.channels) * u64::from(pseudo_channels);
        let bursts_per_second = u64::from(self.clocks.dram) * 1_000_000 / u64::from(ccd_s.max(1));
        buses * u64::from(bus) * u64::from(burst) * bursts_per_second
    }
}

/// The GPU that is taken where none is named.
pub const DEFAULT: &str = "titan-v";

/// Does the name of a GPU say that it is one in a file?
pub fn is_file(name: &str) -> bool {
    name.ends_with(".toml")
}

/// The document of a GPU: that in a file if the name ends in `.toml`, else one that is part of the program.
///
/// # Errors
/// There is none of that name, or the file cannot be read, is malformed, or its base is not there.
pub fn named(name: &str) -> Result<Document, SpecificationError> {
    if !is_file(name) {
        return built_in(name);
    }
    let text = std::fs::read_to_string(name).map_err(|error| SpecificationError::Unreadable {
        file: name.to_owned(),
        reason: error.to_string(),
    })?;
    document(name, &text)
}

/// The document of a GPU that is part of the program, by name.
///
/// # Errors
/// There is none of that name.
pub fn built_in(name: &str) -> Result<Document, SpecificationError> {
    let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    let text = find(name).ok_or_else(|| SpecificationError::Base {
        file: "--gpu".to_owned(),
        base: name.to_owned(),
        reason: format!("there are {}, and files ending in .toml", names.join(", ")),
    })?;
    document(&format!("{name}.toml"), &text)
}

/// The document of a GPU's file, which may start from one that is part of the program.
///
/// # Errors
/// It is malformed, or its base is not there.
pub fn document(file: &str, text: &str) -> Result<Document, SpecificationError> {
    Document::with_bases(file, text, &find)
}

/// Compute capability of a GPU, ten times, by its name or file; nothing if the file does not tell or is not there.
pub fn capability(name: &str) -> Option<u32> {
    named(name).ok()?.capability()
}

fn find(name: &str) -> Option<String> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
}

/// Changes a value: `section.key=value`, in the unit that the key has or with one (`l1.size=32KiB`).
///
/// # Errors
/// What is wrong with the change.
pub fn change(document: &mut Document, text: &str) -> Result<(), SpecificationError> {
    let wrong = SpecificationError::Change;
    let shape = || wrong(format!("`{text}` is no change; write section.key=value"));
    let (key, value) = text.split_once('=').ok_or_else(shape)?;
    let (section, name) = key.trim().split_once('.').ok_or_else(shape)?;
    let known = GpuSpec::keys().into_iter().find(|known| known.section == section && known.name == name);
    let known = known.ok_or_else(|| {
        let near = closest(key.trim(), &GpuSpec::keys());
        let near = near.map_or_else(String::new, |key| format!("; is `{key}` meant?"));
        wrong(format!("no unit has a key `{}`{near}", key.trim()))
    })?;
    let value = quantity::read(value.trim(), known.unit)
        .map_err(|reason| wrong(format!("`{}`: {reason}", text.trim())))?;
    document.set(section, name, value, known.unit, "--set");
    Ok(())
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
            0 => Err(document.wrong("chip", "sms", "a GPU has at least one")),
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
            Some((name, _)) => Err(document.wrong("clocks", name, "a clock has to run")),
            None => Ok(()),
        }
    }

    /// The moment at which a core cycle starts.
    pub fn moment(&self, cycle: u64) -> Moment {
        if let Some(thousand) = cycle.checked_mul(1000) {
            return Moment { cycle, nanoseconds: thousand / u64::from(self.core) };
        }
        let nanoseconds = u128::from(cycle) * 1000 / u128::from(self.core);
        Moment { cycle, nanoseconds: u64::try_from(nanoseconds).unwrap_or(u64::MAX) }
    }

    /// The first core cycle that starts at a time or after it.
    pub fn cycle_at(&self, nanoseconds: u64) -> u64 {
        let cycle = (u128::from(nanoseconds) * u128::from(self.core)).div_ceil(1000);
        u64::try_from(cycle).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gpu_of_the_program_is_read() {
        for (name, _) in BUILT_IN {
            GpuSpec::built_in(name).unwrap();
        }
    }

    #[test]
    fn the_cycle_at_a_moment_is_the_first_that_is_not_before_it() {
        let clocks = GpuSpec::built_in("titan-v").unwrap().clocks;
        for cycle in [0, 1, 2, 1199, 1200, 1 << 40, u64::MAX >> 12] {
            let nanoseconds = clocks.moment(cycle).nanoseconds;
            let at = clocks.cycle_at(nanoseconds);
            assert!(at <= cycle && clocks.moment(at).nanoseconds == nanoseconds, "{cycle}: {at}");
        }
    }

    #[test]
    fn a_change_replaces_a_value_in_the_unit_of_its_key() {
        let mut document = built_in("titan-v").unwrap();
        change(&mut document, "chip.sms=4").unwrap();
        assert_eq!(GpuSpec::read(&document).unwrap().chip.sms, 4);
    }

    #[test]
    fn a_change_of_an_unknown_key_is_an_error() {
        let mut document = built_in("titan-v").unwrap();
        assert!(change(&mut document, "chip.smz=4").is_err());
    }

    /// What is said of a TITAN V with a value of a file of one's own, in the unit of its key.
    fn refused(key: &str, value: &str) -> String {
        let (section, name) = key.split_once('.').unwrap();
        let unit = GpuSpec::keys().into_iter().find(|key| key.section == section && key.name == name);
        let unit = unit.unwrap().unit;
        let written = format!("{name} = {{ value = {value}, unit = \"{unit}\", source = \"mine\" }}");
        let text = format!("base = \"titan-v\"\n[{section}]\n{written}\n");
        GpuSpec::read(&document("mine.toml", &text).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn an_impossible_geometry_names_the_key_of_the_file_that_makes_it_impossible() {
        for (key, value, rest) in [
            ("chip.sms", "0", ": a GPU has at least one"),
            ("chip.sms", "500", " with `crossbar.sms_per_port = 1`: there would be more than 128 ports"),
            ("clocks.l2", "0", ": a clock has to run"),
            ("launch.drain", "20000000", ": more than 16,777,216 cycles"),
            ("copy.bandwidth", "0", ": no copy would end"),
            ("transfer.lines", "0", ": no copy or fill would end"),
            ("transfer.rate", "0", ": no copy or fill would end"),
            ("front_end.width", "8", " with `front_end.buffer = 4`: what is fetched at once has no room"),
            ("issue.width", "0", ": nothing could ever be issued"),
            ("operands.banks", "9", ": there are 1 to 8"),
            ("execution.fp64", "0", ": nothing could ever be done"),
            ("latency.mov", "2", ": there are 3 to 48 cycles"),
            ("cta.warps", "63", ": there is a multiple of 4, up to 128"),
            ("shared.banks", "33", ": there are 1 to 32"),
            ("l1.sets", "7", " with `l1.size = 128`: the size is no multiple of sets times 128 B"),
            ("l1.size", "1000", " with `l1.sets = 4`: the size is no multiple of sets times 128 B"),
            (
                "l1.misses",
                "70000",
                " with `l1.size = 128`: lines that are there or on their way are to be fewer than 65,535",
            ),
            ("constant.latency", "85", " with `constant.l1_5_latency = 84`: a miss takes longer than a hit"),
            (
                "constant.ways",
                "4294967295",
                " with `constant.size = 2`, `constant.line = 64`: the cache's lines are no whole number of sets",
            ),
            ("tlb.page", "3000", ": a page is a power of two, and has lines"),
            (
                "atomic.interval",
                "77",
                " with `atomic.interval_of_warp = 76`: more lanes would take less time",
            ),
            ("crossbar.latency", "0", ": a message would arrive in the cycle in which it is sent"),
            (
                "partition.channels",
                "100",
                " with `partition.slices = 2`: all channels together have 128 slices at most",
            ),
            ("l2.size", "1000", " with `l2.ways = 24`: the slice's lines are no whole number of sets"),
            ("dram.rfc", "900000", ": more than 65,536 cycles"),
            ("dram.bus", "16", " with `dram.burst = 4`: bus width times burst is not 32 B"),
            ("dram.rc", "20", " with `dram.ras = 29`: a row would be closed after the next is opened"),
            (
                "dram.rfc",
                "1000",
                " with `dram.refi = 3315`, `dram.rp = 12`, `dram.ras = 29`, `dram.banks = 16`, \
                 `dram.refresh = \"per-bank\"`: there would be no time but for refresh",
            ),
            (
                "partition.slices",
                "1",
                " with `dram.pseudo_channels = 2`: the channel's slices have to be shared evenly among its pseudo-channels",
            ),
        ] {
            assert_eq!(refused(key, value), format!("mine.toml, line 3: `{key} = {value}`{rest}"));
        }
    }

    #[test]
    fn an_impossible_change_is_an_error_of_the_option_that_makes_it() {
        let said = GpuSpec::changed("titan-v", ["chip.sms=500"]).unwrap_err().to_string();
        assert_eq!(
            said,
            "--set: `chip.sms = 500` with `crossbar.sms_per_port = 1`: there would be more than 128 ports"
        );
    }

    #[test]
    fn a_gpu_that_there_is_not_is_an_error_that_names_those_there_are() {
        assert!(GpuSpec::built_in("titan-w").unwrap_err().to_string().contains("titan-v"));
    }
}
