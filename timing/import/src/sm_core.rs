//! SM core options: front end, issue, operands, execution, CTA resources, launches and copies.

use super::cache::Cache;
use super::options::Options;
use super::{ImportError, Made};
use timing::sm::memory::SUB_CORES;

/// Sub-cores that share an SM's resources.
const SHARES: u32 = SUB_CORES as u32;

/// Instructions that GPGPU-Sim fetches at once: the size of a warp's buffer (`decode` in
/// `shader.cc`, `IBUFFER_SIZE` in `shader.h`).
const FETCHED: u32 = 2;

/// Latencies that the model supports.
const LATENCIES: std::ops::RangeInclusive<u32> = 3..=48;

/// Latency options: option, index of its number, class of operations.
const CLASSES: [(&str, usize, &str); 8] = [
    ("ptx_opcode_latency_int", 0, "integer"),
    ("ptx_opcode_latency_int", 1, "integer_extremum"),
    ("ptx_opcode_latency_int", 3, "integer_multiply"),
    ("ptx_opcode_latency_fp", 0, "fp32"),
    ("ptx_opcode_latency_fp", 1, "fp32_compare"),
    ("ptx_opcode_latency_dp", 0, "fp64"),
    ("ptx_opcode_latency_sfu", 0, "special_function"),
    ("ptx_opcode_latency_tesnor", 0, "tensor"),
];

/// Unit options: units per SM, initiation interval, and the model's name.
const UNITS: [(&str, &str, &str); 4] = [
    ("gpgpu_num_int_units", "ptx_opcode_initiation_int", "integer"),
    ("gpgpu_num_sp_units", "ptx_opcode_initiation_fp", "fp32"),
    ("gpgpu_num_dp_units", "ptx_opcode_initiation_dp", "fp64"),
    ("gpgpu_num_sfu_units", "ptx_opcode_initiation_sfu", "special_function"),
];

/// Imports core options.
pub(super) fn import(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    front_end(options, made)?;
    issue(options, made)?;
    operands(options, made)?;
    execution(options, made)?;
    latencies(options, made)?;
    resources(options, made)?;
    launches(options, made)?;
    if let Some(flag) = options.number("gpgpu_perf_sim_memcpy")? {
        made.add("copy", "through_l2", flag != 0, options.source("gpgpu_perf_sim_memcpy"));
    }
    Ok(())
}

/// Overheads of launches and requests: 0 without an option. A CTA keeps the base's start, which
/// must exceed an epoch.
fn launches(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    let name = "gpgpu_kernel_launch_latency";
    match options.number(name)? {
        Some(cycles) => made.add("launch", "launch", cycles, options.source(name)),
        None => made.add("launch", "launch", 0, format!("no option: GPGPU-Sim's default of -{name}")),
    }
    made.add("launch", "drain", 0, "no option: GPGPU-Sim ends a launch with its last CTA".to_owned());
    for name in ["miss", "walk"] {
        made.add("tlb", name, 0, "no option: GPGPU-Sim has no TLB".to_owned());
    }
    if let Some(cycles) = options.number("gpgpu_TB_launch_latency")? {
        made.add("cta", "start", cycles, options.source("gpgpu_TB_launch_latency"));
    }
    Ok(())
}

/// A sub-core's share of an SM's resource.
fn share(of_sm: u32) -> u32 {
    of_sm.div_ceil(SHARES).max(1)
}

fn front_end(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    let no_option = |what: &str| format!("no option: GPGPU-Sim has {what}");
    made.choose("front_end", "organisation", "shared", no_option("one fetch stage in an SM"));
    made.choose("result_bus", "write_back", "slot", no_option("slots of a result bus only"));
    made.choose("memory_pipeline", "organisation", "per-sm", no_option("one memory pipeline in an SM"));
    for late in ["to_memory", "to_guard"] {
        made.add("latency", late, 0, no_option("the same result latency for every consumer"));
    }
    made.add("constant", "parameters", 0, no_option("parameters without latency"));
    fetch(options, made)?;
    let name = "gpgpu_cache:il1";
    if let Some((cache, line)) = Cache::read_with_line(options, name)? {
        if line != Cache::LINE {
            made.note(format!("{}: same size in lines of {} B", options.source(name), Cache::LINE));
        }
        let bytes = u64::from(cache.sets) * u64::from(cache.ways) * u64::from(line);
        made.add("front_end", "l1_size", bytes, options.source(name));
        made.add("front_end", "l1_ways", cache.ways, options.source(name));
    }
    Ok(())
}

/// Fetch and decode alternate, as often a cycle as the option says. A turn serves one warp and
/// fills its empty buffer.
fn fetch(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    let source = "no option: GPGPU-Sim fetches two instructions into a warp's empty buffer of two";
    made.add("front_end", "width", FETCHED, source.to_owned());
    made.add("front_end", "buffer", FETCHED, source.to_owned());
    let name = "gpgpu_inst_fetch_throughput";
    let turns = options.number(name)?.unwrap_or(1);
    // All turns but the last decode their instructions in the same cycle.
    made.add("front_end", "latency", if turns > 1 { 1 } else { 2 }, options.source(name));
    if turns != SHARES {
        options.leave(name);
    }
    Ok(())
}

fn issue(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    let name = "gpgpu_scheduler";
    if let Some(text) = options.text(name)? {
        let source = options.source(name);
        match text.split(':').collect::<Vec<_>>().as_slice() {
            ["gto"] => made.choose("issue", "policy", "gto", source),
            ["lrr"] => made.choose("issue", "policy", "lrr", source),
            ["old"] => made.choose("issue", "policy", "oldest", source),
            ["two_level_active", active, ..] => {
                let active: u32 = active
                    .parse()
                    .map_err(|_| options.error(name, "the number of active warps is missing"))?;
                made.choose("issue", "policy", "two-level", source.clone());
                made.add("issue", "active_warps", active, source);
            }
            _ => return Err(options.error(name, "must be gto, lrr, old or two_level_active")),
        }
    }
    if let Some(width) = options.number("gpgpu_max_insn_issue_per_warp")? {
        made.add("issue", "width", width, options.source("gpgpu_max_insn_issue_per_warp"));
    }
    Ok(())
}

fn operands(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    if let Some(value) = options.number("gpgpu_num_reg_banks")? {
        made.add("operands", "banks", share(value), options.source("gpgpu_num_reg_banks"));
    }
    let name = "gpgpu_operand_collector_num_units_gen";
    match options.number(name)?.filter(|units| *units > 0) {
        Some(units) => made.add("operands", "collectors", share(units), options.source(name)),
        None => collectors_by_unit(options, made)?,
    }
    if let Some(ports) = options.number("gpgpu_reg_file_port_throughput")? {
        made.add("operands", "ports", ports, options.source("gpgpu_reg_file_port_throughput"));
    }
    let name = "gpgpu_pipeline_widths";
    let Some(widths) = options.list::<u32>(name, ',')? else { return Ok(()) };
    // EX_WB is the last of 3.x's seven widths, the ninth of nine with a double-precision unit, else
    // the eleventh.
    let (place, version) = match widths.len() {
        7 => (6, " (the seventh of seven widths, as in GPGPU-Sim 3)"),
        9 => (8, " (the ninth of nine widths)"),
        _ => (10, ""),
    };
    let shape = "must list seven, nine, eleven or more widths";
    let results = widths.get(place).ok_or_else(|| options.error(name, shape))?;
    let source = format!("{}{version}", options.source(name));
    if !version.is_empty() {
        made.note(format!("{source}: the width of EX_WB is result_bus.slots"));
    }
    made.add("result_bus", "slots", share(*results), source);
    Ok(())
}

/// Operand collectors of 3.x, which belong to kinds of units.
fn collectors_by_unit(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    let names = ["sp", "sfu", "mem"].map(|unit| format!("gpgpu_operand_collector_num_units_{unit}"));
    let mut units = 0_u32;
    let mut sources = Vec::new();
    for name in &names {
        if let Some(number) = options.number(name)? {
            units = units.saturating_add(number);
            sources.push(options.source(name));
        }
    }
    if units > 0 {
        let source =
            format!("{}: summed, since any instruction can use any collector here", sources.join("; "));
        made.note(source.clone());
        made.add("operands", "collectors", share(units), source);
    }
    Ok(())
}

/// Units that also execute other operations: single precision in 3.x; special functions without a
/// double-precision unit (`-gpgpu_num_dp_units 0`).
fn shared_units(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    for (missing, interval, name) in [
        ("gpgpu_num_int_units", "ptx_opcode_initiation_int", "integer"),
        ("gpgpu_num_dp_units", "ptx_opcode_initiation_dp", "fp64"),
    ] {
        let executed_by = match options.number(missing)? {
            None => "gpgpu_num_sp_units",
            Some(0) => "gpgpu_num_sfu_units",
            Some(_) => continue,
        };
        let Some(units) = options.number(executed_by)? else { continue };
        let Some(cycles) = options.list::<u32>(interval, ',')? else { continue };
        let Some(cycles) = cycles.first().copied().filter(|cycles| units > 0 && *cycles > 0) else {
            continue;
        };
        let lanes = share(units.saturating_mul(warp_stream::WARP_SIZE as u32) / cycles);
        let source = format!(
            "{}; {}; {}: these units execute them",
            options.source(executed_by),
            options.source(interval),
            options.source(missing)
        );
        made.note(source.clone());
        made.add("execution", name, lanes, source);
    }
    Ok(())
}

fn execution(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    shared_units(options, made)?;
    for (units, interval, name) in UNITS {
        let (Some(count), Some(cycles)) = (options.number(units)?, options.list::<u32>(interval, ',')?)
        else {
            continue;
        };
        let Some(cycles) = cycles.first().copied().filter(|cycles| count > 0 && *cycles > 0) else {
            if count > 0 {
                options.leave(units);
            }
            continue;
        };
        let lanes = share(count.saturating_mul(warp_stream::WARP_SIZE as u32) / cycles);
        let source = format!("{}; {}", options.source(units), options.source(interval));
        made.add("execution", name, lanes, source);
    }
    Ok(())
}

fn latencies(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    for (option, index, name) in CLASSES {
        let Some(cycles) = options.list::<u32>(option, ',')? else { continue };
        match cycles.get(index).filter(|cycles| LATENCIES.contains(*cycles)) {
            Some(cycles) => made.add("latency", name, cycles, options.source(option)),
            None => options.leave(option),
        }
    }
    Ok(())
}

fn resources(options: &mut Options, made: &mut Made) -> Result<(), ImportError> {
    let name = "gpgpu_shader_core_pipeline";
    if let Some(threads) = options.list::<u32>(name, ':')? {
        // Versions before 3.1 also list the pipeline width.
        let ([threads, 32] | [threads, 32, _]) = threads[..] else {
            return Err(options.error(name, "must list threads and a warp size of 32"));
        };
        made.add("cta", "warps", threads / 32, options.source(name));
    }
    for (option, name) in [("gpgpu_shader_cta", "ctas"), ("gpgpu_shader_registers", "registers")] {
        if let Some(value) = options.number(option)? {
            made.add("cta", name, value, options.source(option));
        }
    }
    Ok(())
}
