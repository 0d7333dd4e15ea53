//! AccelWattch's `hw_perf.csv`: a row per kernel of a program, with means over its launches.
//! `gen_hw_perf_csv.py` of accel-sim/accel-sim-framework makes the file from Nsight Compute's
//! counters.

use std::collections::BTreeMap;

use super::Launch;
use super::csv::{Row, named, value};

/// Columns that identify such a file.
pub(super) const TELLING: [&str; 3] = ["Benchmark", "Kernel", "Elapsed_Cycles"];

/// Metrics as sums of columns. L2 columns count SM requests only; the model's counters include the
/// small rest. Cycles are an SM's, on the clock of its GPC.
const SUMS: &[(&str, &[&str])] = &[
    ("gpc__cycles_elapsed.max", &["Elapsed_Cycles"]),
    ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", &["L1_RH", "L1_RM"]),
    ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", &["L1_WH", "L1_WM"]),
    ("lts__t_sectors_op_read.sum", &["L2_RH", "L2_RM"]),
    ("lts__t_sectors_op_write.sum", &["L2_WH", "L2_WM"]),
    ("dram__sectors_read.sum", &["DRAM_Rd"]),
    ("dram__sectors_write.sum", &["DRAM_Wr"]),
    ("dram__sectors_read.sum + dram__sectors_write.sum", &["DRAM_Rd", "DRAM_Wr"]),
];

/// Rates in per cent, from columns of hits and misses.
const RATES: &[(&str, [&str; 2])] = &[
    ("l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct", ["L1_RH", "L1_RM"]),
    ("lts__t_sector_op_read_hit_rate.pct", ["L2_RH", "L2_RM"]),
];

/// The kernels of the rows; an error holds the line and the reason.
pub(super) fn read(heading: &[String], rows: &[Row]) -> Result<Vec<Launch>, (usize, String)> {
    rows.iter()
        .map(|row| {
            let row = named(heading, row)?;
            Ok(Launch {
                program: row["Benchmark"].to_owned(),
                kernel: row["Kernel"].to_owned(),
                mean: true,
                values: values(&row),
                ..Launch::default()
            })
        })
        .collect()
}

fn values(row: &BTreeMap<&str, &str>) -> BTreeMap<String, f64> {
    let column = |name: &&str| row.get(*name).and_then(|field| value(field));
    let sum = |columns: &[&str]| columns.iter().map(column).sum::<Option<f64>>();
    let sums = SUMS.iter().filter_map(|(metric, columns)| Some(((*metric).to_owned(), sum(columns)?)));
    let rates = RATES.iter().filter_map(|(metric, [hits, misses])| {
        let rate = 100.0 * column(hits)? / sum(&[hits, misses])?;
        rate.is_finite().then(|| ((*metric).to_owned(), rate))
    });
    sums.chain(rates).collect()
}
