//! What profilers write: Nsight Compute's CSV in both of its forms, nvprof's, tables with a row for each launch, AccelWattch's.

use std::collections::BTreeMap;

use super::csv::{Row, named, rows, triple, value};
use super::{CorrelateError, Launch, accelwattch};

/// nvprof's metrics and Nsight Compute's that equal them (NVIDIA, Nsight Compute's "nvprof Transition Guide").
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

/// Columns of tables with a row for each launch.
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

/// What may be compared, for those who come with something else.
const EXPECTED: &str = "what can be compared is CSV of Nsight Compute (`ncu --csv`, with `--page raw` or `--page details`), \
    of nvprof (`--csv --print-gpu-trace --metrics`), AccelWattch's hw_perf.csv, or a table with columns such as \
    `kernel_derived` and `hw_cycles_gpc_max`";

/// Reads what a profiler has written, or a table with its columns.
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
        nvprof(heading, rows)
    } else if has(&["kernel_derived"]) {
        table(heading, rows)
    } else {
        return Err(error(*line, &format!("no profiler has such columns; {EXPECTED}")));
    };
    let launches = launches.map_err(|(line, reason)| error(line, reason))?;
    if launches.iter().all(|launch| launch.values.is_empty()) {
        let what =
            if launches.is_empty() { "no launch below" } else { "no column is a metric that is known" };
        return Err(error(*line, &format!("{what}; {EXPECTED}")));
    }
    Ok(launches)
}

type Read = Result<Vec<Launch>, (usize, &'static str)>;

fn launch(kernel: &str, grid: Option<&&str>, block: Option<&&str>) -> Launch {
    Launch {
        kernel: kernel.to_owned(),
        grid: grid.and_then(|field| triple(field)),
        block: block.and_then(|field| triple(field)),
        ..Launch::default()
    }
}

/// Nsight Compute's `--page details`: a row for each launch and metric.
fn details(heading: &[String], rows: &[Row]) -> Read {
    let mut launches: Vec<(String, Launch)> = Vec::new();
    for row in rows {
        let row = named(heading, row)?;
        let id = row.get("ID").copied().unwrap_or_default();
        if launches.last().is_none_or(|(last, _)| last != id) {
            let kernel = row.get("Kernel Name").copied().unwrap_or_default();
            launches.push((id.to_owned(), launch(kernel, row.get("Grid Size"), row.get("Block Size"))));
        }
        if let (Some((_, launch)), Some(value)) = (launches.last_mut(), value(row["Metric Value"])) {
            launch.values.insert(row["Metric Name"].to_owned(), value);
        }
    }
    Ok(launches.into_iter().map(|(_, launch)| launch).collect())
}

/// Nsight Compute's `--page raw`: a row for each launch, with a row of units before them.
fn raw(heading: &[String], rows: &[Row]) -> Read {
    let mut launches = Vec::new();
    for row in rows {
        let row = named(heading, row)?;
        if row["Kernel Name"].is_empty() {
            continue;
        }
        let mut launch = launch(row["Kernel Name"], row.get("Grid Size"), row.get("Block Size"));
        let metrics = row.iter().filter(|(name, _)| name.contains("__"));
        let values = metrics.filter_map(|(name, field)| Some(((*name).to_owned(), value(field)?)));
        launch.values = values.collect();
        launches.push(launch);
    }
    Ok(launches)
}

/// nvprof's `--csv --print-gpu-trace --metrics`: a row for each launch, with a row of units before them.
fn nvprof(heading: &[String], rows: &[Row]) -> Read {
    let mut launches = Vec::new();
    for row in rows {
        let row = named(heading, row)?;
        if row["Kernel"].is_empty() {
            continue;
        }
        let mut launch = launch(row["Kernel"], row.get("Grid Size"), row.get("Block Size"));
        launch.values = renamed(&row, NVPROF);
        launches.push(launch);
    }
    Ok(launches)
}

/// A table with a row for each launch of several programs.
fn table(heading: &[String], rows: &[Row]) -> Read {
    let mut launches = Vec::new();
    for row in rows {
        let row = named(heading, row)?;
        let mut launch = launch(row["kernel_derived"], row.get("grid_derived"), row.get("block_derived"));
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
