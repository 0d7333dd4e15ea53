//! Profiler files: both CSV forms of Nsight Compute, nvprof's, tables with a row per launch, and
//! AccelWattch's.

use std::collections::BTreeMap;

use super::csv::{Row, named, quantity, rows, triple, value};
use super::ours::is_ours;
use super::unit::{Kilo, converted};
use super::{CorrelateError, Launch, accelwattch};

/// nvprof metrics and the equal ones of Nsight Compute (NVIDIA, "nvprof Transition Guide").
const NVPROF: &[(&str, &str)] = &[
    ("dram_read_transactions", "dram__sectors_read.sum"),
    ("dram_write_transactions", "dram__sectors_write.sum"),
    ("elapsed_cycles_sm", "sm__cycles_elapsed.sum"),
    ("global_hit_rate", "l1tex__t_sector_hit_rate.pct"),
    ("global_load_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    ("global_store_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
    ("global_atomic_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"),
    ("global_reduction_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"),
    ("gld_transactions", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    ("gst_transactions", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    ("local_load_requests", "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum"),
    ("local_store_requests", "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum"),
    ("local_load_transactions", "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"),
    ("local_store_transactions", "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"),
    ("inst_executed", "smsp__inst_executed.sum"),
    ("l2_read_transactions", "lts__t_sectors_op_read.sum"),
    ("l2_write_transactions", "lts__t_sectors_op_write.sum"),
];

/// Labels of metrics on Nsight Compute's details page.
const LABELS: &[(&str, &str)] = &[
    ("Duration", "gpu__time_duration.sum"),
    ("Elapsed Cycles", "gpc__cycles_elapsed.max"),
    ("SM Active Cycles", "sm__cycles_active.avg"),
    ("SM Frequency", "gpc__cycles_elapsed.avg.per_second"),
    ("L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct"),
    ("L2 Hit Rate", "lts__t_sector_hit_rate.pct"),
    ("Executed Ipc Active", "sm__inst_executed.avg.per_cycle_active"),
    ("Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"),
];

/// Columns of tables with a row per launch.
const TABLE: &[(&str, &str)] = &[
    ("hw_cycles_gpc_max", "gpc__cycles_elapsed.max"),
    ("hw_sm_active_cycles_avg", "sm__cycles_active.avg"),
    ("accelsim_cycles", "accelsim_cycles"),
    ("hw_time_ns", "gpu__time_duration.sum"),
    ("warp_inst", "smsp__inst_executed.sum"),
    ("l1_hit_pct", "l1tex__t_sector_hit_rate.pct"),
    ("l1_gld_hit_pct", "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct"),
    ("l2_hit_pct", "lts__t_sector_hit_rate.pct"),
    ("gld_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    ("gst_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
    ("gld_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    ("gst_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    ("l2_to_l1_read_sectors", "l1tex__m_xbar2l1tex_read_sectors_mem_lg_op_ld.sum"),
    ("l1_to_l2_write_sectors", "l1tex__m_l1tex2xbar_write_sectors_mem_lg_op_st.sum"),
    ("dram_sectors_rd_plus_wr", "dram__sectors_read.sum + dram__sectors_write.sum"),
    ("atom_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"),
    ("red_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"),
];

/// Accepted files, for errors.
const EXPECTED: &str = "the comparison reads CSV of Nsight Compute (`ncu --csv`, with `--page raw` or `--page details`), \
    of nvprof (`--csv --print-gpu-trace --metrics`), AccelWattch's hw_perf.csv, or a table with columns such as \
    `kernel_derived` and `hw_cycles_gpc_max`";

/// Reads a profiler's output or a table.
///
/// # Errors
/// The file has no row with known columns, or a row is short.
pub fn read_profiler(file: &str, text: &str) -> Result<Vec<Launch>, CorrelateError> {
    let rows = rows(text);
    let error = |line: usize, reason: &str| CorrelateError::Profiler {
        file: file.to_owned(),
        line,
        reason: reason.to_owned(),
    };
    let Some(((line, heading), rows)) = rows.split_first() else {
        return Err(error(1, &format!("the file has no rows; {EXPECTED}")));
    };
    let has = |columns: &[&str]| columns.iter().all(|name| heading.iter().any(|field| field == name));
    let launches = if has(&["Metric Name", "Metric Value"]) {
        details(heading, rows)
    } else if has(&["Kernel Name"]) {
        raw(heading, rows)
    } else if has(&accelwattch::TELLING) {
        accelwattch::read(heading, rows)
    } else if has(&["Kernel"]) {
        nvprof(heading, rows, "Kernel")
    } else if has(&["Name", "Duration", "Grid X"]) {
        nvprof(heading, rows, "Name")
    } else if has(&["kernel_derived"]) {
        table(heading, rows)
    } else {
        return Err(error(*line, &format!("unknown columns; {EXPECTED}")));
    };
    let launches = launches.map_err(|(line, reason)| error(line, &reason))?;
    if launches.iter().all(|launch| launch.values.is_empty()) {
        let what = if launches.is_empty() { "no launch below" } else { "no column is a known metric" };
        return Err(error(*line, &format!("{what}; {EXPECTED}")));
    }
    Ok(launches)
}

/// Launches, or the line and reason of an error.
type Read = Result<Vec<Launch>, (usize, String)>;

fn launch(kernel: &str, row: &BTreeMap<&str, &str>) -> Launch {
    let sides = |axis: &str| {
        let side = |letter: &str| row.get(format!("{axis} {letter}").as_str())?.trim().parse().ok();
        Some([side("X")?, side("Y")?, side("Z")?])
    };
    let size = |axis: &str| {
        let field = row.get(format!("{axis} Size").as_str());
        field.map_or_else(|| sides(axis), |field| triple(field))
    };
    Launch {
        kernel: kernel.to_owned(),
        grid: size("Grid"),
        block: size("Block"),
        capability: row.get("CC").and_then(|text| capability(text)),
        ..Launch::default()
    }
}

/// Compute capability times ten: 70 for `7.0`.
fn capability(text: &str) -> Option<u32> {
    let (major, minor) = text.trim().split_once('.')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (minor < 10).then(|| major.saturating_mul(10).saturating_add(minor))
}

/// A field in its metric's base unit. Fields of uncompared metrics stay as written.
fn measured(metric: &str, field: &str, unit: &str, kilo: Kilo) -> Result<Option<f64>, String> {
    let Some((value, suffix)) = quantity(field) else { return Ok(None) };
    let unit = if suffix.is_empty() { unit } else { suffix };
    match is_ours(metric) {
        true => converted(metric, value, unit, kilo).map(Some),
        false => Ok(Some(value)),
    }
}

/// Nsight Compute's `--page details`: a row per launch and metric, with units.
fn details(heading: &[String], rows: &[Row]) -> Read {
    let mut launches: Vec<(String, Launch)> = Vec::new();
    for numbered in rows {
        let row = named(heading, numbered)?;
        let id = row.get("ID").copied().unwrap_or_default();
        if launches.last().is_none_or(|(last, _)| last != id) {
            let kernel = row.get("Kernel Name").copied().unwrap_or_default();
            launches.push((id.to_owned(), launch(kernel, &row)));
        }
        let name = row["Metric Name"];
        let metric = LABELS.iter().find(|(label, _)| *label == name).map_or(name, |(_, metric)| *metric);
        let unit = row.get("Metric Unit").copied().unwrap_or_default();
        let value = measured(metric, row["Metric Value"], unit, Kilo::Decimal);
        if let (Some((_, launch)), Some(value)) =
            (launches.last_mut(), value.map_err(|reason| (numbered.0, reason))?)
        {
            launch.values.insert(metric.to_owned(), value);
        }
    }
    Ok(launches.into_iter().map(|(_, launch)| launch).collect())
}

/// Nsight Compute's `--page raw`: a row per launch, after a row of units.
fn raw(heading: &[String], rows: &[Row]) -> Read {
    let metrics: Vec<(&str, &str)> = heading
        .iter()
        .filter(|name| name.contains("__"))
        .map(|name| (name.as_str(), name.as_str()))
        .collect();
    by_launch(heading, rows, "Kernel Name", &metrics, Kilo::Decimal)
}

/// nvprof's `--csv --print-gpu-trace`, with or without `--metrics`: a row per launch, after a row
/// of units.
fn nvprof(heading: &[String], rows: &[Row], kernel: &str) -> Read {
    let metrics = [NVPROF, &[("Duration", "gpu__time_duration.sum")]].concat();
    let mut launches = by_launch(heading, rows, kernel, &metrics, Kilo::Binary)?;
    // A trace lists copies and fills too, as `[CUDA memcpy HtoD]`.
    launches.retain(|launch| !launch.kernel.starts_with("[CUDA"));
    for launch in &mut launches {
        // nvprof appends a number to the name: `vadd(float*) [127]`.
        if let Some((name, number)) = launch.kernel.rsplit_once(" [")
            && number.trim_end_matches(']').parse::<u64>().is_ok()
        {
            launch.kernel = name.to_owned();
        }
    }
    Ok(launches)
}

/// A row per launch; columns of metrics by their names there and here. Rows without a kernel before
/// the first launch hold units.
fn by_launch(heading: &[String], rows: &[Row], kernel: &str, metrics: &[(&str, &str)], kilo: Kilo) -> Read {
    let mut units = BTreeMap::new();
    let mut launches = Vec::new();
    for numbered in rows {
        let row = named(heading, numbered)?;
        if row[kernel].is_empty() {
            if launches.is_empty() {
                units = row;
            }
            continue;
        }
        let mut launch = launch(row[kernel], &row);
        for (column, metric) in metrics {
            let Some(field) = row.get(column) else { continue };
            let unit = units.get(column).copied().unwrap_or_default();
            let value = measured(metric, field, unit, kilo).map_err(|reason| (numbered.0, reason))?;
            value.map(|value| launch.values.insert((*metric).to_owned(), value));
        }
        launches.push(launch);
    }
    Ok(launches)
}

/// A table with a row per launch of several programs.
fn table(heading: &[String], rows: &[Row]) -> Read {
    let mut launches = Vec::new();
    for row in rows {
        let row = named(heading, row)?;
        let size = |column: &str| row.get(column).and_then(|field| triple(field));
        let mut launch = launch(row["kernel_derived"], &row);
        (launch.grid, launch.block) = (size("grid_derived"), size("block_derived"));
        launch.program = row.get("app").copied().unwrap_or_default().to_owned();
        launch.values = renamed(&row, TABLE);
        launches.push(launch);
    }
    Ok(launches)
}

fn renamed(row: &BTreeMap<&str, &str>, names: &[(&str, &str)]) -> BTreeMap<String, f64> {
    let metric = |(theirs, metric): &(&str, &str)| Some(((*metric).to_owned(), value(row.get(theirs)?)?));
    names.iter().filter_map(metric).collect()
}
