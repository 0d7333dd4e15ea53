//! Tests of the forms in which a run is written.

mod transfers;

use serde_json::Value;
use timing::record::Simulated;
use timing::sm::Occupancy;
use warp_stream::{LaunchShape, RegisterSource};

use super::*;
use timing::sm::Limit;
use timing::statistics::{Counter, Counters, Counts, DERIVED, Kind, value};
use timing::totals::Totals;

static INSTRUCTIONS: Counter = Counter {
    section: "sm",
    name: "warp_instructions",
    meaning: "",
    unit: "instructions",
    metric: "smsp__inst_executed.sum",
    kind: Kind::Sum,
};
static CYCLES: Counter =
    Counter { name: "cycles", unit: "core cycles", section: "gpu", metric: "", ..INSTRUCTIONS };

const OCCUPANCY: Occupancy = Occupancy {
    ctas: 6,
    limit: Limit::Registers,
    warps: 48,
    warp_slots: 64,
    by_warps: 8,
    by_ctas: 32,
    by_registers: 6,
    by_shared: None,
};

fn launch(number: u64, stream: u64) -> LaunchRecord {
    LaunchRecord {
        launch: number,
        kernel: "sum\"<int>".to_owned(),
        stream,
        shape: LaunchShape::new([2, 1, 1], [32, 1, 1]),
        registers: 16,
        register_source: RegisterSource::Lowering,
        shared_bytes: 0,
        occupancy: OCCUPANCY,
        start: 10,
        cycles: 100,
        warp_instructions: 50 * number,
        shared: false,
        simulated: None,
        counters: vec![(&CYCLES, 100), (&INSTRUCTIONS, 50 * number)],
        channels: Vec::new(),
        series: None,
        source_counts: None,
    }
}

fn report() -> Report {
    let mut report = Report::new("tiny");
    report.add(launch(1, 0));
    report.add(launch(2, 7));
    report.add(launch(3, 0));
    report
}

#[test]
fn json_has_each_counter_under_section_and_name() {
    let value: Value = serde_json::from_str(&report().text(Format::Json).unwrap()).unwrap();
    assert_eq!(value["launches"][0]["counters"]["sm.warp_instructions"], 50);
}

#[test]
fn every_format_with_occupancy_names_its_limit() {
    let value: Value = serde_json::from_str(&report().text(Format::Json).unwrap()).unwrap();
    let occupancy = &value["launches"][0]["occupancy"];
    assert_eq!(
        (&occupancy["ctas_per_sm"], &occupancy["limit"]),
        (&Value::from(6), &Value::from("registers"))
    );
    assert_eq!(occupancy["theoretical"], 75.0);
    assert_eq!(occupancy["limits"]["shared_memory"], Value::Null);
    let text = report().text(Format::Text).unwrap();
    assert!(text.contains("  16 registers a thread, from lowering\n"), "{text}");
    assert!(text.contains("6 CTAs with 48 of 64 warps fit an SM, limited by registers"), "{text}");
    let csv = report().text(Format::Csv).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|row| row.split(',').collect()).collect();
    let field = |name: &str| rows[1][rows[0].iter().position(|column| *column == name).unwrap()];
    assert_eq!(
        [field("ctas_per_sm"), field("occupancy_limit"), field("ctas_by_shared_memory")],
        ["6", "registers", ""]
    );
    let profiler = report().text(Format::Profiler).unwrap();
    assert!(profiler.contains("\"launch__occupancy_limit_registers\",\"CTAs\",\"6\"\n"), "{profiler}");
    assert!(!profiler.contains("launch__occupancy_limit_shared_mem"), "{profiler}");
}

#[test]
fn json_has_derived_statistics() {
    let value: Value = serde_json::from_str(&report().text(Format::Json).unwrap()).unwrap();
    assert_eq!(value["launches"][1]["derived"]["gpu.ipc"], 1.0);
}

#[test]
fn sums_cover_each_stream_and_the_run() {
    let value: Value = serde_json::from_str(&report().text(Format::Json).unwrap()).unwrap();
    assert_eq!(value["streams"][0]["counters"]["sm.warp_instructions"], 200);
    assert_eq!(value["streams"][1]["stream"], 7);
    assert_eq!(value["total"]["counters"]["sm.warp_instructions"], 300);
    assert_eq!(value["total"]["derived"]["gpu.ipc"], 1.0);
}

#[test]
fn extrapolated_launch_shows_both_cycle_counts() {
    let mut report = Report::new("tiny");
    let simulated = Some(Simulated { ctas: 1, cycles: 60, warp_instructions: 25, unsure: 3 });
    report.add(LaunchRecord { simulated, ..launch(1, 0) });
    let value: Value = serde_json::from_str(&report.text(Format::Json).unwrap()).unwrap();
    let launch = &value["launches"][0];
    assert_eq!((&launch["cycles"], &launch["simulated_cycles"]), (&Value::from(100), &Value::from(60)));
    assert_eq!((&launch["extrapolated"], &launch["unsure_cycles"]), (&Value::from(true), &Value::from(3)));
    assert!(report.text(Format::Csv).unwrap().contains(",100,50,false,60,1,"));
    let text = report.text(Format::Text).unwrap();
    assert!(
        text.contains(": 100 cycles (within 3), extrapolated from 60 cycles of the first 1 CTAs\n"),
        "{text}"
    );
    assert!(report.summary().contains("100 cycles (60 simulated)"), "{}", report.summary());
}

#[test]
fn csv_has_a_row_per_launch() {
    let text = report().text(Format::Csv).unwrap();
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[0].starts_with(
        "launch,kernel,stream,grid,block,registers,registers.source,shared_bytes,start,cycles,warp_instructions,shared,simulated_cycles,launches,ctas_per_sm,"
    ));
    assert!(rows[1].starts_with(
        "1,\"sum\"\"<int>\",0,2x1x1,32x1x1,16,lowering,0,10,100,50,false,100,1,6,registers,75,8,32,6,,100,50,"
    ));
    assert!(rows[3].starts_with("3,"));
}

#[test]
fn csv_ends_with_rows_of_streams_and_the_run() {
    let text = report().text(Format::Csv).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|row| row.split(',').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
    let field =
        |row: usize, name: &str| rows[row][rows[0].iter().position(|column| *column == name).unwrap()];
    let sums = [4, 5, 6].map(|row| {
        ["launch", "kernel", "stream", "launches", "cycles", "sm.warp_instructions"]
            .map(|name| field(row, name))
    });
    assert_eq!(sums[0], ["", "\"stream 0\"", "0", "2", "200", "200"]);
    assert_eq!(sums[1], ["", "\"stream 7\"", "7", "1", "100", "100"]);
    assert_eq!(sums[2], ["", "\"all\"", "", "3", "300", "300"]);
    assert_eq!(rows.len(), 7);
}

#[test]
fn profiler_format_has_a_row_per_launch_and_metric() {
    let text = report().text(Format::Profiler).unwrap();
    assert!(text.contains("\"0\",\"sum\"\"<int>\",\"0\",\"(2, 1, 1)\",\"(32, 1, 1)\",\"smsp__inst_executed.sum\",\"instructions\",\"50\"\n"));
}

#[test]
fn gpgpu_sim_totals_add_up() {
    let text = report().text(Format::GpgpuSim).unwrap();
    let last = |name: &str| text.lines().rfind(|line| line.starts_with(name)).map(str::to_owned);
    assert_eq!(last("gpu_sim_cycle").unwrap(), "gpu_sim_cycle = 100");
    assert_eq!(last("gpu_tot_sim_cycle").unwrap(), "gpu_tot_sim_cycle = 300");
}

/// Metrics measured on a GV100 (HyFiSS, MICRO 2024).
const MEASURED: &[&str] = &[
    "l1tex__t_sector_hit_rate.pct",
    "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__m_xbar2l1tex_read_sectors_mem_lg_op_ld.sum",
    "l1tex__m_l1tex2xbar_write_sectors_mem_lg_op_st.sum",
    "dram__sectors_read.sum",
    "dram__sectors_write.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "gpc__cycles_elapsed.max",
    "sm__cycles_active.avg",
    "smsp__inst_executed.sum",
    "gpu__time_duration.sum",
    "l1tex__t_requests.sum",
    "lts__t_requests_srcunit_tex.sum",
];

/// Every counter of a GPU with the value 1.
fn ones() -> Counts {
    let mut counters = Counts::new();
    Totals::default().each(&mut |counter, _| counters.push((counter, 1)));
    counters
}

#[test]
fn profiler_format_has_all_measured_metrics() {
    let mut report = Report::new("tiny");
    report.add(LaunchRecord { counters: ones(), ..launch(1, 0) });
    let text = report.text(Format::Profiler).unwrap();
    for metric in MEASURED {
        assert!(text.contains(&format!("\"{metric}\"")), "{metric}");
    }
}

#[test]
fn derived_statistics_name_existing_counters() {
    let all = DERIVED.iter().chain(gpgpu_sim::KERNEL).chain(gpgpu_sim::TOTAL);
    for ratio in all {
        assert!(ratio.of(&ones()).is_some(), "{}.{}", ratio.section, ratio.name);
    }
    let sums = gpgpu_sim::SUMS.iter().map(|(_, counter)| counter);
    for counter in sums.chain(gpgpu_sim::SLOTS.iter().flat_map(|(_, counters)| *counters)) {
        assert!(value(&ones(), counter).is_some(), "{counter}");
    }
}

#[test]
fn gpgpu_sim_format_serves_accel_sims_scripts() {
    let mut report = Report::new("tiny");
    report.add(LaunchRecord { counters: ones(), ..launch(1, 0) });
    let text = report.text(Format::GpgpuSim).unwrap();
    // Expressions of get_stats.py with example_stats.yml, except host times.
    for line in [
        "gpu_tot_sim_insn = 1\n",
        "gpu_occupancy = 100.0000% \n",
        "L2_BW = 32.0000 GB/Sec\n",
        "\tL2_cache_stats_breakdown[GLOBAL_ACC_R][HIT] = 1\n",
        "\tL2_cache_stats_breakdown[GLOBAL_ACC_W][TOTAL_ACCESS] = 1\n",
        "\tTotal_core_cache_stats_breakdown[GLOBAL_ACC_R][MSHR_HIT] = 1\n",
        "\tTotal_core_cache_stats_breakdown[GLOBAL_ACC_W][TOTAL_ACCESS] = 1\n",
        "gpgpu_n_tot_w_icount = 1\n",
        "total dram reads = 1\n",
        "total dram writes = 1\n",
        "kernel_launch_uid = 1 \n",
        "gpgpu_n_shmem_bkconflict = 3\n",
        "gpgpu_n_l1cache_bkconflict = 3\n",
        "gpgpu_n_load_insn = 2\n",
        "gpgpu_n_store_insn = 1\n",
        "gpgpu_n_shmem_insn = 1\n",
        "\nStall:4\tW0_Idle:4\tW0_Scoreboard:2\tW1:1\t",
        "\tW32:1\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.ends_with("GPGPU-Sim: *** exit detected ***\n"));
}

#[test]
fn summary_lists_kernels_longest_first() {
    let mut report = Report::new("tiny");
    report.add(LaunchRecord { counters: ones(), kernel: "_Z5shortPf".to_owned(), ..launch(1, 0) });
    report.add(LaunchRecord { counters: ones(), kernel: "_Z4longPf".to_owned(), ..launch(2, 0) });
    report.add(LaunchRecord { counters: ones(), kernel: "_Z4longPf".to_owned(), ..launch(3, 0) });
    let text = report.summary();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["tiny:", "3", "launches,", "300", "cycles,", "0.0", "us"]);
    assert_eq!(lines[2][..4], ["long", "2", "0.0", "66.7"]);
    assert_eq!(lines[3][..4], ["short", "1", "0.0", "33.3"]);
    // Every counter is 1: an eleventh of the slots each.
    assert!(text.ends_with("9 % issue, 9 % wait for results, 9 % wait for memory\n"), "{text}");
}

#[test]
fn formats_include_launches_beyond_those_in_memory() {
    let mut report = Report::new("tiny");
    for number in 1..=100 {
        report.add(LaunchRecord { counters: ones(), ..launch(number, number % 3) });
    }
    let value: Value = serde_json::from_str(&report.text(Format::Json).unwrap()).unwrap();
    let launches = value["launches"].as_array().unwrap();
    let numbers: Vec<_> = launches.iter().map(|launch| launch["launch"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
    assert_eq!(value["total"]["counters"]["gpu.cycles"], 100);
    let lines = |format, start: &str| {
        let text = report.text(format).unwrap();
        text.lines().filter(|line| line.starts_with(start)).count()
    };
    assert_eq!(report.text(Format::Csv).unwrap().lines().count(), 1 + 100 + 3 + 1);
    assert_eq!(lines(Format::Text, "launch "), 100);
    assert_eq!(lines(Format::GpgpuSim, "kernel_launch_uid"), 100);
    assert_eq!(report.launches().map(|record| record.unwrap().launch).max(), Some(100));
}

#[test]
fn reports_of_several_devices_sum_to_one_run() {
    let (one, other) = (report(), report());
    let reports = [&one, &other];
    let run = Run::new("tiny", &reports);
    let mut text = Vec::new();
    run.write(Format::Json, &mut text).unwrap();
    let value: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(value["launches"].as_array().unwrap().len(), 6);
    assert_eq!(value["streams"][1]["counters"]["sm.warp_instructions"], 200);
    assert_eq!(value["total"]["counters"]["sm.warp_instructions"], 600);
}

#[test]
fn every_format_states_an_early_end() {
    let report = report();
    let reports = [&report];
    let run = Run::new("tiny", &reports).ended_by(Some("SIGTERM"));
    for format in [Format::Json, Format::Csv, Format::Text, Format::Profiler, Format::GpgpuSim] {
        let mut text = Vec::new();
        run.write(format, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.to_lowercase().matches("ended by sigterm").count(), 1, "{text}");
        assert!(!text.contains("exit detected"));
    }
}

#[test]
fn file_ending_selects_the_format() {
    let formats = ["a.json", "a.csv", "a.ncu.csv", "a.gpgpusim", "a", "b.json/a", "a.txt", "a.log"]
        .map(|name| Format::of_file(Path::new(name)).unwrap());
    let text = Format::Text;
    assert_eq!(
        formats,
        [Format::Json, Format::Csv, Format::Profiler, Format::GpgpuSim, text, text, text, text]
    );
    for name in ["a.html", "a.JSON", "a.json.gz"] {
        let error = Format::of_file(Path::new(name)).unwrap_err().to_string();
        assert!(error.contains(".json, .csv"), "{error}");
    }
}
