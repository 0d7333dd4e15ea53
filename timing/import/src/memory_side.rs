//! Crossbar, partition and L2 options.

use super::cache::Cache;
use super::options::Options;
use super::{ImportError, Made};
use timing::message::LINE_BYTES;

/// Minimum entries of the L2's queue to DRAM.
const SMALLEST_MISS_QUEUE: u32 = 8;

/// Imports crossbar, partition and L2 options.
pub(super) fn import(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    crossbar(options, made)?;
    partition(options, made)?;
    l2(options, made)
}

fn crossbar(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    let no_option = |what: &str| format!("no option: {what}");
    made.add(
        "crossbar",
        "latency",
        16,
        no_option("assumed: the L2's latency covers the rest of the traversal"),
    );
    made.add("crossbar", "iterations", 1, no_option("an arbiter has one round"));
    for (option, name) in [
        ("icnt_flit_size", "flit"),
        ("icnt_in_buffer_limit", "input_buffer"),
        ("icnt_out_buffer_limit", "output_buffer"),
    ] {
        if let Some(value) = options.number(option)? {
            made.add("crossbar", name, value, options.source(option));
        }
    }
    if let Some(packets) = options.number("icnt_in_buffer_limit")? {
        let sharing = options.number("gpgpu_n_cores_per_cluster")?.unwrap_or(1).max(1);
        let source = options.source("icnt_in_buffer_limit");
        made.add("memory_pipeline", "credits", packets / sharing, format!("{source}, for {sharing} SMs"));
    }
    let name = "icnt_arbiter_algo";
    match options.number(name)? {
        None => {}
        Some(0) => made.choose("crossbar", "arbiter", "round-robin", options.source(name)),
        Some(1) => made.choose("crossbar", "arbiter", "islip", options.source(name)),
        Some(_) => return Err(options.error(name, "must be 0 or 1")),
    }
    Ok(())
}

fn partition(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    if let Some(value) = options.number("gpgpu_n_mem")? {
        made.add("partition", "channels", value, options.source("gpgpu_n_mem"));
    }
    let name = "gpgpu_n_sub_partition_per_mchannel";
    match options.number(name)? {
        Some(value) => made.add("partition", "slices", value, options.source(name)),
        None => made.add("partition", "slices", 1, format!("{}: GPGPU-Sim's default", options.source(name))),
    }
    let name = "gpgpu_memory_partition_indexing";
    match options.number(name)? {
        None | Some(0) => made.choose("partition", "hash", "consecutive", options.source(name)),
        Some(1) => made.choose("partition", "hash", "xor", options.source(name)),
        Some(2) => made.choose("partition", "hash", "ipoly", options.source(name)),
        Some(_) => options.leave(name),
    }
    Ok(())
}

fn l2(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    if let Some(latency) = options.number("gpgpu_l2_rop_latency")? {
        made.add("l2", "latency", latency, options.source("gpgpu_l2_rop_latency"));
    }
    let name = "gpgpu_cache:dl2";
    let Some((cache, line)) = Cache::read_with_line(options, name)? else { return Ok(()) };
    let cache = match cache.in_own_lines(line) {
        Some(cache) => cache,
        None => {
            return Err(
                options.error(name, "lines must be of 128 B, and the cache a whole number of such sets")
            );
        }
    };
    let source = options.source(name);
    if line != Cache::LINE {
        made.note(format!("{source}: same size and ways in lines of {} B", Cache::LINE));
    }
    made.add("l2", "size", cache.size(), source.clone());
    made.add("l2", "ways", cache.ways, source.clone());
    let lines = cache.size() / LINE_BYTES;
    made.add("l2", "modified", lines, "no option: every line may be dirty".to_owned());
    match cache.replacement {
        'L' => made.choose("l2", "replacement", "lru", source.clone()),
        'F' => made.choose("l2", "replacement", "fifo", source.clone()),
        _ => return Err(options.error(name, "replacement must be `L` or `F`")),
    }
    if cache.writes != 'B' {
        return Err(options.error(name, "the L2 must write back (`B`)"));
    }
    match cache.write_allocation {
        'L' => made.choose("l2", "write_allocation", "lazy-fetch-on-read", source.clone()),
        'W' | 'F' => made.choose("l2", "write_allocation", "fetch-on-write", source.clone()),
        _ => return Err(options.error(name, "the L2 must allocate on writes (`L`, `W` or `F`)")),
    }
    match cache.index {
        'L' => made.choose("l2", "set_hash", "consecutive", source.clone()),
        'X' => made.choose("l2", "set_hash", "xor", source.clone()),
        'P' => made.choose("l2", "set_hash", "ipoly", source.clone()),
        _ => return Err(options.error(name, "the L2's set index must be `L`, `X` or `P`")),
    }
    made.choose("l2", "fetch", if cache.sectored { "sector" } else { "line" }, source.clone());
    made.add("dram", "request", if cache.sectored { 32 } else { 128 }, source.clone());
    // An MSHR of a sectored cache is for one sector, else for a line of four.
    let sectors = if cache.sectored { 1 } else { 4 };
    made.add("l2", "mshrs", cache.mshrs.saturating_mul(sectors), source.clone());
    made.add("l2", "merges", cache.merges, source.clone());
    made.add("l2", "miss_queue", cache.miss_queue.saturating_mul(sectors).max(SMALLEST_MISS_QUEUE), source);
    Ok(())
}
