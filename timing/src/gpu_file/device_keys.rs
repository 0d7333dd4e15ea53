//! Keys of `[device]`, and the units of device attributes.

use super::written::DEVICE;
use super::{Key, capability};

/// The unit of a number in `[device]`; empty if any will do.
pub(crate) fn unit(name: &str) -> &'static str {
    let key = KEYS.iter().find(|key| key.name == name);
    key.map(|key| key.unit).or_else(|| capability::unit(name)).unwrap_or_default()
}

macro_rules! keys {
    ($($(#[doc = $meaning:literal])* $name:ident [$unit:literal] $(= $default:literal)?,)*) => {
        &[$(Key {
            section: DEVICE,
            name: stringify!($name),
            meaning: concat!($($meaning),*).trim_ascii(),
            unit: $unit,
            choices: &[],
            meanings: &[],
            default: crate::specification!(@first $(Some(stringify!($default)),)? None),
        },)*]
    };
}

/// The keys of `[device]` that GPU files use. Every other device attribute may stand there by its CUDA name.
pub const KEYS: &[Key] = keys! {
    /// Name of the device, at most 255 bytes.
    name ["text"],
    /// Compute capability, the source of limits that no value of the model gives.
    capability ["version"],
    /// Bytes of device memory.
    memory ["B"],
    /// CUDA version of the driver, as `13.5`. The library answers with its own version by default.
    driver_version ["text"],
    /// Power that the board may draw, for NVML.
    power_limit ["mW"] = 0,
    /// Power that the board is said to draw, for NVML. Voltsim does not measure it.
    power_usage ["mW"] = 0,
    /// Temperature that the board is said to have, for NVML. Voltsim does not measure it.
    temperature ["degrees Celsius"] = 35,
    /// Streaming multiprocessors. With `[timing]`, `chip.sms` answers.
    multiprocessor_count ["SMs"],
    /// Clock of the SMs. With `[timing]`, `clocks.core` answers.
    clock_rate ["kHz"],
    /// Half the data rate of a pin of the DRAM. With `[timing]`, `clocks.dram` and
    /// `dram.beats_per_cycle` answer.
    memory_clock_rate ["kHz"],
    /// Width of the DRAM's bus. With `[timing]`, `partition.channels` and `dram.bus` answer.
    global_memory_bus_width ["bits"],
    /// Bytes of all L2 slices. With `[timing]`, `partition` and `l2.size` answer.
    l2_cache_size ["B"],
    /// Engines that copy while kernels run.
    async_engine_count ["engines"],
    /// Memory has error correction.
    ecc_enabled ["flag"],
    /// First part of the capability that the program is told instead of `capability`.
    compute_capability_major ["version"],
    /// Second part of the capability that the program is told instead of `capability`.
    compute_capability_minor ["version"],
};
