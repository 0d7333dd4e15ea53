//! Correlation of small tables with known results.

#![allow(clippy::unwrap_used)]

use profiler_correlation::{Comparison, Launch, Program, read_profiler, read_statistics};

const CYCLES: &str = "gpc__cycles_elapsed.max";

fn ours(kernel: &str, cycles: u32) -> String {
    format!(
        r#"{{ "kernel": "{kernel}", "grid": [2, 1, 1], "block": [32, 1, 1], "derived": {{ "l2.hit_rate": 50.0 }},
            "counters": {{ "gpu.cycles": {cycles}, "gpu.sm_cycles": {cycles}, "dram.reads": 6, "dram.writes": 4 }} }}"#
    )
}

fn statistics(launches: &[(&str, u32)]) -> Vec<Launch> {
    let launches: Vec<String> = launches.iter().map(|(kernel, cycles)| ours(kernel, *cycles)).collect();
    read_statistics("run.json", &format!(r#"{{ "launches": [{}] }}"#, launches.join(","))).unwrap()
}

const TABLE: &str = "app,kernel_derived,grid_derived,block_derived,hw_cycles_gpc_max,l2_hit_pct,dram_sectors_rd_plus_wr\n\
    a,vadd,\"2,1,1\",\"32,1,1\",100,40,10\n\
    a,sum,\"2,1,1\",\"32,1,1\",200,60,20\n\
    a,vadd,\"2,1,1\",\"32,1,1\",400,50,0\n";

fn compared() -> Comparison {
    let ours = statistics(&[("_Z3sumPf", 100), ("_Z4vaddPf", 110), ("_Z4vaddPf", 300)]);
    let card = read_profiler("card.csv", TABLE).unwrap();
    Comparison::new(vec![Program::new("a", &ours, &card)])
}

#[test]
fn error_per_launch_is_the_mean_absolute_error() {
    // 110 against 100, 100 against 200, 300 against 400.
    let cycles = compared().metric(CYCLES).unwrap();
    assert_eq!(cycles.launches, 3);
    assert!((cycles.per_launch - (10.0 + 50.0 + 25.0) / 3.0).abs() < 1e-9);
    assert!((cycles.bias - (10.0 - 50.0 - 25.0) / 3.0).abs() < 1e-9);
}

#[test]
fn error_per_program_compares_sums() {
    // 510 against 700.
    assert!((compared().metric(CYCLES).unwrap().per_program - 100.0 * 190.0 / 700.0).abs() < 1e-9);
}

#[test]
fn correlation_uses_logarithms() {
    let ours = statistics(&[("k", 10), ("k", 100), ("k", 1000)]);
    let card: Vec<Launch> = statistics(&[("k", 7), ("k", 70), ("k", 700)]);
    let comparison = Comparison::new(vec![Program::new("a", &ours, &card)]);
    assert!((comparison.metric(CYCLES).unwrap().correlation.unwrap() - 1.0).abs() < 1e-9);
}

#[test]
fn percentages_are_compared_in_points() {
    // 50 against 40, 60 and 50.
    let rate = compared().metric("lts__t_sector_hit_rate.pct").unwrap();
    assert!((rate.per_launch - 20.0 / 3.0).abs() < 1e-9 && rate.per_program.abs() < 1e-9);
}

#[test]
fn zero_on_the_card_counts_for_the_program_only() {
    let sectors = compared().metric("dram__sectors_read.sum + dram__sectors_write.sum").unwrap();
    // 10 against 10 and 20; 30 against 30.
    assert_eq!(sectors.launches, 2);
    assert!((sectors.per_launch - 25.0).abs() < 1e-9 && sectors.per_program.abs() < 1e-9);
}

#[test]
fn unmatched_launches_are_named() {
    let ours = statistics(&[("vadd", 100), ("other", 1)]);
    let card = read_profiler("card.csv", &TABLE.replace("a,vadd,\"2,1,1\"", "a,vadd,\"3,1,1\"")).unwrap();
    let program = Program::new("a", &ours, &card);
    assert!(program.matches.is_empty());
    assert_eq!(
        program.unmatched,
        [
            "vadd, grid 2x1x1, block 32x1x1 is vadd, grid 3x1x1, block 32x1x1 on the card",
            "only the card has sum, grid 2x1x1, block 32x1x1",
            "only the card has vadd, grid 3x1x1, block 32x1x1",
            "1 launches of other without a counterpart on the card",
        ]
    );
}

#[test]
fn nsight_compute_raw_csv_is_read() {
    let text = "==PROF== Connected\n\
        \"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"gpc__cycles_elapsed.max\"\n\
        \"\",\"\",\"\",\"\",\"cycle\"\n\
        \"0\",\"vadd(const float *, int)\",\"(32, 1, 1)\",\"(2, 1, 1)\",\"1,234\"\n";
    let launches = read_profiler("ncu.csv", text).unwrap();
    assert_eq!(launches.len(), 1);
    assert_eq!((launches[0].grid, launches[0].values[CYCLES]), (Some([2, 1, 1]), 1234.0));
}

#[test]
fn nsight_compute_csv_with_a_row_per_metric_is_read() {
    let text = "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
        \"0\",\"vadd(int)\",\"gpc__cycles_elapsed.max\",\"cycle\",\"12\"\n\
        \"0\",\"vadd(int)\",\"dram__sectors_read.sum\",\"sector\",\"3\"\n\
        \"1\",\"vadd(int)\",\"gpc__cycles_elapsed.max\",\"cycle\",\"13\"\n";
    let launches = read_profiler("ncu.csv", text).unwrap();
    assert_eq!(launches.len(), 2);
    assert_eq!((launches[0].values.len(), launches[1].values[CYCLES]), (2, 13.0));
}

#[test]
fn nvprof_metric_names_are_mapped() {
    let text = "==1== NVPROF is profiling process 1\n\
        \"Device\",\"Context\",\"Stream\",\"Kernel\",\"Correlation_ID\",\"gld_transactions\"\n\
        ,,,,,\n\
        \"TITAN V (0)\",\"1\",\"7\",\"vadd(float*, int)\",1,128\n";
    let launches = read_profiler("nvprof.csv", text).unwrap();
    assert_eq!(launches[0].values["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"], 128.0);
}

const ACCELWATTCH: &str = "Benchmark,Kernel,L1_RH,L1_RM,DRAM_Rd,DRAM_Wr,Elapsed_Cycles,Chip Voltage\n\
    a,_Z4vaddPf,30.0,10.0,6.5,3.5,250.5,1.0\n\
    b,sum,0.0,0.0,0.0,0.0,100.0,1.0\n";

#[test]
fn accelwattch_csv_has_a_row_per_kernel() {
    let launches = read_profiler("hw_perf.csv", ACCELWATTCH).unwrap();
    assert_eq!(launches.len(), 2);
    assert_eq!((launches[0].program.as_str(), launches[0].values[CYCLES]), ("a", 250.5));
    assert_eq!(launches[0].values["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"], 40.0);
    assert_eq!(launches[0].values["l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct"], 75.0);
    assert_eq!(launches[0].values["dram__sectors_read.sum + dram__sectors_write.sum"], 10.0);
}

#[test]
fn missing_accelwattch_columns_and_empty_rates_are_skipped() {
    let launches = read_profiler("hw_perf.csv", ACCELWATTCH).unwrap();
    assert!(!launches[0].values.contains_key("lts__t_sectors_op_read.sum"));
    assert!(!launches[1].values.contains_key("l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct"));
}

#[test]
fn accelwattch_row_is_compared_with_the_mean_of_launches() {
    let card = read_profiler("hw_perf.csv", ACCELWATTCH).unwrap();
    let ours = statistics(&[("vadd", 100), ("sum", 90), ("vadd", 300), ("vadd", 500)]);
    let program = Program::new("a", &ours, &card);
    assert_eq!(program.unmatched, [""; 0]);
    let pairs: Vec<_> =
        program.matches.iter().map(|pair| (pair.ours.values[CYCLES], pair.card.values[CYCLES])).collect();
    assert_eq!(pairs, [(300.0, 250.5), (90.0, 100.0)]);
}

#[test]
fn profile_without_known_column_is_an_error() {
    for text in ["Kernel,Bogus\nvadd,1\n", "Kernel Name,Bogus\nvadd,1\n", "kernel_derived,app\nvadd,a\n"] {
        let said = read_profiler("x.csv", text).unwrap_err().to_string();
        let begin = "x.csv, line 1: no column is a known metric; the comparison reads CSV of Nsight Compute";
        assert!(said.starts_with(begin), "{said}");
    }
}

#[test]
fn profile_without_launches_is_an_error() {
    let said = read_profiler("x.csv", "# remark\nKernel,gld_transactions\n").unwrap_err().to_string();
    assert!(said.starts_with("x.csv, line 2: no launch below; the comparison reads"), "{said}");
}

#[test]
fn unknown_files_are_errors() {
    assert!(read_profiler("x.csv", "").is_err());
    assert!(read_profiler("x.csv", "a,b\n1,2\n").unwrap_err().to_string().starts_with("x.csv, line 1"));
    assert!(
        read_profiler("x.csv", "kernel_derived,app\nvadd\n")
            .unwrap_err()
            .to_string()
            .starts_with("x.csv, line 2")
    );
    assert!(read_statistics("x.json", "{}").is_err());
    assert!(read_statistics("x.json", "[").is_err());
}

#[test]
fn gv100_measurements_are_read() {
    let launches =
        read_profiler("gv100-ncu.csv", include_str!("../../../evaluation/measurements/gv100-ncu.csv"))
            .unwrap();
    assert_eq!(launches.len(), 214);
    assert!(launches.iter().all(|launch| launch.values.contains_key(CYCLES) && launch.grid.is_some()));
}

#[test]
fn accel_sim_error_on_gv100_is_reproduced() {
    let card = read_profiler("gv100-ncu.csv", include_str!("../../../evaluation/measurements/gv100-ncu.csv"))
        .unwrap();
    let mut names: Vec<&str> = card.iter().map(|launch| launch.program.as_str()).collect();
    names.dedup();
    let programs = names.iter().map(|name| {
        let card: Vec<Launch> = card.iter().filter(|launch| launch.program == *name).cloned().collect();
        let mut predicted = card.clone();
        for launch in &mut predicted {
            launch.values = [(CYCLES.to_owned(), launch.values["accelsim_cycles"])].into();
        }
        Program::new(name, &predicted, &card)
    });
    let cycles = Comparison::new(programs.collect()).metric(CYCLES).unwrap();
    assert_eq!((cycles.launches, names.len()), (214, 9));
    assert!((cycles.per_launch - 11.6).abs() < 0.05, "{}", cycles.per_launch);
    assert!((cycles.per_program - 17.8).abs() < 0.05, "{}", cycles.per_program);
}

#[test]
fn cache_model_counts_pending_hits_as_hits() {
    let report = r#"{ "miss_kinds": ["compulsory", "latency"], "launches": [ { "kernel": "k", "grid": [2, 1, 1],
        "block": [32, 1, 1], "results": [ { "counts": { "accesses": 100, "hits": 40, "misses": [35, 25] } } ] } ] }"#;
    let launches = read_statistics("report.json", report).unwrap();
    assert_eq!(launches[0].values["l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct"], 65.0);
    assert_eq!(launches[0].values["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"], 100.0);
}
