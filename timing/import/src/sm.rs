//! SM and chip options: count, clocks, coalescer, shared memory, L1.

use super::cache::Cache;
use super::options::Options;
use super::{ImportError, Made};

/// Imports SM options.
pub(super) fn import(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    chip(options, made)?;
    coalescer(options, made)?;
    shared(options, made)?;
    l1(options, made)
}

fn chip(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    let per_cluster = options.number("gpgpu_n_cores_per_cluster")?.unwrap_or(1);
    if let Some(clusters) = options.number("gpgpu_n_clusters")? {
        let source = options.source("gpgpu_n_clusters");
        let sms =
            clusters.checked_mul(per_cluster).ok_or_else(|| options.error("gpgpu_n_clusters", "too many"))?;
        made.add("chip", "sms", sms, format!("{source}, of {per_cluster} SMs each"));
    }
    made.add("crossbar", "sms_per_port", per_cluster, options.source("gpgpu_n_cores_per_cluster"));
    clocks(options, made)
}

/// Imports core, crossbar, L2 and DRAM clocks. The model has no unit with a fifth clock.
fn clocks(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    let name = "gpgpu_clock_domains";
    let Some(clocks) = options.list::<f64>(name, ':')? else { return Ok(()) };
    let [core, crossbar, l2, dram, ref more @ ..] = clocks[..] else {
        return Err(options.error(name, "must list four frequencies"));
    };
    for (domain, frequency) in [("core", core), ("crossbar", crossbar), ("l2", l2), ("dram", dram)] {
        if !(0.5..1e6).contains(&frequency) {
            return Err(options.error(name, "frequencies must be in MHz"));
        }
        made.add("clocks", domain, frequency.round() as u32, options.source(name));
    }
    if !more.is_empty() {
        let source = options.source(name);
        made.note(format!(
            "{source}: the first four clocks are core, crossbar, L2 and DRAM; {} more (PCIe) omitted",
            more.len()
        ));
    }
    Ok(())
}

fn coalescer(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    let name = "gpgpu_coalesce_arch";
    match options.number(name)? {
        None => {}
        Some(20..40) => made.choose("coalescer", "policy", "fermi", options.source(name)),
        Some(40..) => made.choose("coalescer", "policy", "volta", options.source(name)),
        Some(_) => options.leave(name),
    }
    Ok(())
}

fn shared(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    for (option, name) in [("gpgpu_shmem_num_banks", "banks"), ("gpgpu_smem_latency", "latency")] {
        if let Some(value) = options.number(option)? {
            made.add("shared", name, value, options.source(option));
        }
    }
    Ok(())
}

/// Imports L1 and its share for shared memory.
fn l1(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    let name = "gpgpu_cache:dl1";
    let Some(cache) = Cache::read(options, name)? else { return Ok(()) };
    let source = options.source(name);
    size(options, made, &cache)?;
    made.add("l1", "sets", cache.sets, source.clone());
    match cache.replacement {
        'L' => made.choose("l1", "replacement", "lru", source.clone()),
        'F' => made.choose("l1", "replacement", "fifo", source.clone()),
        _ => return Err(options.error(name, "replacement must be `L` or `F`")),
    }
    match cache.allocation {
        'm' => made.choose("l1", "allocation", "on-miss", source.clone()),
        'f' | 's' => made.choose("l1", "allocation", "on-fill", source.clone()),
        _ => return Err(options.error(name, "allocation must be `m`, `f` or `s`")),
    }
    match cache.writes {
        'L' | 'E' => made.choose("l1", "store_hit", "evict", source.clone()),
        // GPGPU-Sim 3.0's L1 is read-only: a store bypasses it and evicts the line.
        'R' => made.choose(
            "l1",
            "store_hit",
            "evict",
            format!("{source}: a read-only L1 evicts lines on a store"),
        ),
        'T' => made.choose("l1", "store_hit", "update", source.clone()),
        'B' => {
            return Err(options.error(name, "the L1 must not hold dirty lines"));
        }
        _ => return Err(options.error(name, "writes must be `L`, `E` or `T`")),
    }
    match cache.index {
        'L' => made.choose("l1", "set_hash", "linear", source.clone()),
        'H' => made.choose("l1", "set_hash", "fermi", source.clone()),
        'X' => made.choose("l1", "set_hash", "xor", source.clone()),
        _ => return Err(options.error(name, "the L1's set index must be `L`, `H` or `X`")),
    }
    made.choose("l1", "fetch", if cache.sectored { "sectors" } else { "line" }, source.clone());
    made.add("l1", "misses", cache.mshrs, source.clone());
    made.add("l1", "merges", cache.merges, source.clone());
    made.add("l1", "miss_queue", cache.miss_queue, source.clone());
    if let Some(port) = cache.port {
        made.add("l1", "fill_bytes", port, source);
    }
    for (option, name) in [("gpgpu_l1_banks", "tag_banks"), ("gpgpu_l1_latency", "latency")] {
        if let Some(value) = options.number(option)? {
            made.add("l1", name, value, options.source(option));
        }
    }
    Ok(())
}

fn size(options: &mut Options, made: &mut Made, cache: &Cache) -> Result<(), ImportError> {
    let adaptive = options.number("gpgpu_adaptive_cache_config")?.unwrap_or(0) != 0;
    let source = options.source("gpgpu_adaptive_cache_config");
    made.add("l1", "unified", adaptive, source);
    if adaptive {
        if let Some(kibibytes) = options.number("gpgpu_unified_l1d_size")? {
            let bytes = u64::from(kibibytes) << 10;
            made.add("l1", "size", bytes, options.source("gpgpu_unified_l1d_size"));
        }
        if let Some(sizes) = options.list::<u32>("gpgpu_shmem_option", ',')? {
            let bytes: Vec<u64> = sizes.iter().map(|kibibytes| u64::from(*kibibytes) << 10).collect();
            made.add("shared", "sizes", format!("{bytes:?}"), options.source("gpgpu_shmem_option"));
        }
    } else {
        made.add("l1", "size", cache.size(), options.source("gpgpu_cache:dl1"));
        if let Some(bytes) = options.number("gpgpu_shmem_size")? {
            made.add("shared", "sizes", format!("[{bytes}]"), options.source("gpgpu_shmem_size"));
        }
    }
    Ok(())
}
