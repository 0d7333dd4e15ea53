//! DRAM options.

use super::options::Options;
use super::{ImportError, Made, address};

/// Burst size of the model in bytes.
const ATOM: u32 = 32;

/// Order of timings in the unnamed form.
const ORDER: [&str; 14] =
    ["nbk", "CCD", "RRD", "RCD", "RAS", "RP", "RC", "CL", "WL", "CDLR", "WR", "nbkgrp", "CCDL", "RTPL"];

/// Timings with equal meaning: GPGPU-Sim's name and the model's.
const SAME: [(&str, &str); 12] = [
    ("nbk", "banks"),
    ("nbkgrp", "bank_groups"),
    ("RRD", "rrd"),
    ("RCD", "rcd"),
    ("RAS", "ras"),
    ("RP", "rp"),
    ("RC", "rc"),
    ("CL", "cl"),
    ("WL", "wl"),
    ("CDLR", "wtr"),
    ("WR", "wr"),
    ("RTPL", "rtp"),
];

/// Imports DRAM options.
pub(super) fn import(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    mapping(options, made)?;
    scheduler(options, made)?;
    let shorter = data_bus(options, made)?;
    timings(options, made, shorter)?;
    let no_option = |what: &str| format!("no option: {what}");
    made.add("dram", "pseudo_channels", 1, no_option("a channel has one data bus"));
    made.choose("dram", "refresh", "none", no_option("GPGPU-Sim never refreshes"));
    made.add("dram", "turnaround", 2, no_option("GPGPU-Sim adds 2 between reads and writes"));
    let dual = options.number("dram_dual_bus_interface")?.unwrap_or(0) != 0;
    made.add("dram", "dual_command_bus", dual, options.source("dram_dual_bus_interface"));
    if let Some(latency) = options.number("dram_latency")? {
        made.add("dram", "latency", latency, options.source("dram_latency"));
    }
    let name = "dram_bnk_indexing_policy";
    match options.number(name)? {
        None | Some(0) => made.choose("dram", "bank_hash", "consecutive", options.source(name)),
        Some(1) => made.choose("dram", "bank_hash", "xor", options.source(name)),
        Some(2) => made.choose("dram", "bank_hash", "ipoly", options.source(name)),
        Some(_) => options.leave(name),
    }
    Ok(())
}

fn mapping(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    let name = "gpgpu_mem_addr_mapping";
    let Some(text) = options.text(name)? else { return Ok(()) };
    let mapping =
        address::parse(&text).ok_or_else(|| options.error(name, "must have the form dramid@BIT;LETTERS"))?;
    for key in ["interleave", "slice_interleave"] {
        made.add("partition", key, mapping.interleave, options.source(name));
    }
    made.add("dram", "row", mapping.row, options.source(name));
    Ok(())
}

fn scheduler(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    let name = "gpgpu_dram_scheduler";
    match options.number(name)? {
        None => {}
        Some(0) => made.choose("dram", "scheduler", "fcfs", options.source(name)),
        Some(1) => made.choose("dram", "scheduler", "fr-fcfs", options.source(name)),
        Some(_) => return Err(options.error(name, "must be 0 or 1")),
    }
    if let Some(size) = options.number("gpgpu_frfcfs_dram_sched_queue_size")? {
        made.add("dram", "read_queue", size, options.source("gpgpu_frfcfs_dram_sched_queue_size"));
    }
    let separate = "dram_seperate_write_queue_enable";
    if options.number(separate)?.unwrap_or(0) == 0 {
        made.choose("dram", "queues", "one", options.source(separate));
        return Ok(());
    }
    made.choose("dram", "queues", "apart", options.source(separate));
    let name = "dram_write_queue_size";
    let Some(sizes) = options.list::<u32>(name, ':')? else { return Ok(()) };
    let [size, high, low] = sizes[..] else {
        return Err(options.error(name, "must list size, high and low mark"));
    };
    for (key, value) in [("write_queue", size), ("write_high", high), ("write_low", low)] {
        made.add("dram", key, value, options.source(name));
    }
    Ok(())
}

/// Imports the data bus with bursts of 32 B. Returns the number of these in GPGPU-Sim's burst, and
/// the cycles of one.
fn data_bus(options: &mut Options, made: &mut Made) -> Result<Option<(u32, u32)>, ImportError> {
    let name = "gpgpu_dram_buswidth";
    let chips = options.number("gpgpu_n_mem_per_ctrlr")?.unwrap_or(1);
    let (Some(width), Some(burst)) = (options.number(name)?, options.number("gpgpu_dram_burst_length")?)
    else {
        return Ok(None);
    };
    let beats = options.number("dram_data_command_freq_ratio")?.unwrap_or(2).max(1);
    let bus = width.saturating_mul(chips);
    let bytes = bus.saturating_mul(burst);
    if bus == 0 || !ATOM.is_multiple_of(bus) || bytes == 0 || !bytes.is_multiple_of(ATOM) {
        return Err(options.error(name, "the burst must be a multiple of 32 B"));
    }
    made.add("dram", "bus", bus, format!("{}, {chips} chips a channel", options.source(name)));
    let source = format!("{}, as bursts of 32 B", options.source("gpgpu_dram_burst_length"));
    made.add("dram", "burst", ATOM / bus, source);
    made.add("dram", "beats_per_cycle", beats, options.source("dram_data_command_freq_ratio"));
    Ok(Some((bytes / ATOM, (ATOM / bus).div_ceil(beats))))
}

/// Imports timings. Column-to-column timings shrink where a burst is split.
fn timings(options: &mut Options, made: &mut Made, bus: Option<(u32, u32)>) -> Result<(), ImportError> {
    let name = "gpgpu_dram_timing_opt";
    let Some(text) = options.text(name)? else { return Ok(()) };
    let timings = parse(&text).map_err(|reason| options.error(name, &reason))?;
    let timing = |wanted: &str| timings.iter().find(|(timing, _)| *timing == wanted).map(|(_, value)| *value);
    let source = |what: &str| format!("{}: {what}", options.source(name));
    for (theirs, ours) in SAME {
        match timing(theirs) {
            Some(0) if ours == "bank_groups" => made.add("dram", ours, 1, source(theirs)),
            Some(value) => made.add("dram", ours, value, source(theirs)),
            None => {}
        }
    }
    if timing("nbkgrp").is_none() {
        made.add("dram", "bank_groups", 1, source("there are no bank groups"));
    }
    if let Some(rrd) = timing("RRD") {
        made.add("dram", "faw", rrd.saturating_mul(4), "no option: GPGPU-Sim has no such limit".to_owned());
    }
    if let Some(ccd) = timing("CCD") {
        let (cut, shortest) = bus.unwrap_or((1, 1));
        let short = ccd.div_ceil(cut).max(shortest);
        let long = timing("CCDL").unwrap_or(0).div_ceil(cut).max(short);
        made.add("dram", "ccd_s", short, source("CCD"));
        made.add("dram", "ccd_l", long, source("CCDL"));
    }
    Ok(())
}

/// Parses timings in both forms, `nbk=16:CCD=1` and `16:1`.
fn parse(text: &str) -> Result<Vec<(&'static str, u32)>, String> {
    let parts: Vec<&str> = text.split(':').map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.len() > ORDER.len() {
        return Err(format!("must list {} timings", ORDER.len()));
    }
    let entry = |(position, part): (usize, &&str)| {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim(), value),
            None => (ORDER[position], *part),
        };
        let known = ORDER.iter().find(|known| **known == name);
        let known = known.ok_or_else(|| format!("unknown timing `{name}`"))?;
        let value = value.trim().parse().map_err(|_| format!("`{part}` must be a whole number of cycles"))?;
        Ok((*known, value))
    };
    parts.iter().enumerate().map(entry).collect()
}
