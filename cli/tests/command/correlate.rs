//! `voltsim correlate`: statistics beside what a profiler counted.

use super::Workplace;

const STATISTICS: &str = r#"{ "launches": [
    { "kernel": "_Z4vaddPf", "grid": [2, 1, 1], "block": [32, 1, 1], "derived": {},
      "counters": { "gpu.cycles": 110, "gpu.sm_cycles": 8800, "dram.reads": 6, "dram.writes": 4 } },
    { "kernel": "_Z4vaddPf", "grid": [2, 1, 1], "block": [32, 1, 1], "derived": {},
      "counters": { "gpu.cycles": 130, "gpu.sm_cycles": 10400, "dram.reads": 6, "dram.writes": 4 } } ] }"#;

const TABLE: &str = "app,kernel_derived,grid_derived,block_derived,hw_cycles_gpc_max,dram_sectors_rd_plus_wr\n\
    a,vadd,\"2,1,1\",\"32,1,1\",100,10\n\
    a,vadd,\"2,1,1\",\"32,1,1\",100,20\n\
    b,sum,\"2,1,1\",\"32,1,1\",100,20\n";

const REMEDY: &str = "  remedy: give the statistics of the run that was profiled: launches are compared by kernel, grid and block";

/// Runs the command on our statistics and this profile.
fn correlate(profile: &str, options: &[&str]) -> super::Outcome {
    let place = Workplace::new();
    place.write("run.json", STATISTICS);
    place.write("card.csv", profile);
    place.voltsim(&[&["correlate", "run.json", "card.csv"], options].concat())
}

fn refused(profile: &str, options: &[&str]) -> String {
    let outcome = correlate(profile, options);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""), "{}", outcome.stderr);
    outcome.stderr.strip_prefix("voltsim: ").unwrap().trim_end().to_owned()
}

#[test]
fn each_metric_has_its_error_per_launch_and_the_program_its_own() {
    let outcome = correlate(TABLE, &["--program", "a"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    let words = |begin: &str| -> Vec<String> {
        let line = outcome.stdout.lines().find(|line| line.starts_with(begin)).unwrap();
        line.split_whitespace().map(str::to_owned).collect()
    };
    // 110 and 130 to 100 and 100: 10 and 30 %, 240 to 200.
    assert_eq!(words("gpc__cycles")[1..], ["2", "20.0", "20.0", "-", "+20.0"]);
    assert_eq!(words("a ")[1..], ["2", "240", "200", "+20.0"]);
}

#[test]
fn all_launches_and_metrics_are_in_the_json() {
    let outcome = correlate(TABLE, &["--program", "a", "--json"]);
    let launch = &outcome.json()["programs"][0]["launches"][1]["metrics"];
    assert_eq!(launch["gpc__cycles_elapsed.max"]["error"], 30.0);
    assert_eq!(launch["dram__sectors_read.sum + dram__sectors_write.sum"]["card"], 20.0);
}

#[test]
fn accelwattchs_row_is_compared_with_the_mean_of_the_launches() {
    let profile = "Benchmark,Kernel,L1_RH,L1_RM,DRAM_Rd,DRAM_Wr,Elapsed_Cycles\nx,_Z4vaddPf,0,0,6,4,100\n";
    let outcome = correlate(profile, &["--json"]);
    let launches = outcome.json()["programs"][0]["launches"].clone();
    assert_eq!(launches.as_array().unwrap().len(), 1);
    assert_eq!(launches[0]["metrics"]["gpc__cycles_elapsed.max"]["ours"], 120.0);
}

#[test]
fn a_profile_of_no_known_form_is_refused_with_what_is_expected() {
    for profile in ["a,b\n1,2\n", "Kernel,Bogus\nvadd,1\n", ""] {
        let said = refused(profile, &[]);
        assert!(
            said.starts_with("card.csv, line 1: ") && said.contains("the comparison reads CSV of Nsight"),
            "{said}"
        );
    }
}

#[test]
fn a_profile_of_other_launches_is_refused_with_those_there_are() {
    let profile = "Kernel,Grid Size,Block Size,gld_transactions\nsum,\"(2, 1, 1)\",\"(32, 1, 1)\",1\n";
    assert_eq!(
        refused(profile, &[]),
        format!(
            "card.csv: no launch is one of run.json: only the card has sum, grid 2x1x1, block 32x1x1; \
             2 launches of vadd without a counterpart on the card\n{REMEDY}"
        )
    );
}

#[test]
fn a_profile_of_other_metrics_is_refused_with_those_there_are() {
    let profile = "\"ID\",\"Kernel Name\",\"sm__bogus.sum\"\n\"0\",\"vadd(float *)\",\"1\"\n";
    assert_eq!(
        refused(profile, &[]),
        "card.csv: no metric is in run.json too, or all are 0: sm__bogus.sum\n  \
         remedy: profile with metrics that `voltsim explain` names, such as gpc__cycles_elapsed.max"
    );
}

#[test]
fn unknown_program_or_metric_is_refused_with_a_list() {
    assert_eq!(
        refused(TABLE, &["--program", "c"]),
        "card.csv: no launch is of a program `c`; there are: a, b"
    );
    assert_eq!(
        refused(TABLE, &["--program", "a", "--metric", "bogus"]),
        "--metric: `bogus` is not compared; these are: \
         dram__sectors_read.sum + dram__sectors_write.sum, gpc__cycles_elapsed.max"
    );
}

#[test]
fn files_that_are_no_statistics_or_not_there_are_named() {
    let place = Workplace::new();
    place.write("run.json", "{}");
    place.write("card.csv", TABLE);
    for (arguments, named) in [
        (["correlate", "run.json", "card.csv"], "voltsim: run.json: no statistics of Voltsim: "),
        (["correlate", "none.json", "card.csv"], "voltsim: none.json: "),
    ] {
        let outcome = place.voltsim(&arguments);
        assert!(outcome.status == 2 && outcome.stderr.starts_with(named), "{}", outcome.stderr);
    }
}

/// Statistics of one launch of 60,150 ns on the GPU `gv100`.
const TIMED: &str = r#"{ "gpu": "gv100", "launches": [
    { "kernel": "walk", "grid": [80, 1, 1], "block": [256, 1, 1], "derived": { "dram.bandwidth": 2.5, "l2.hit_rate": 40.0 },
      "counters": { "gpu.cycles": 60150, "gpu.nanoseconds": 60150, "dram.reads": 4096, "dram.writes": 0,
        "sm.warp_instructions": 400000 } } ] }"#;

/// Runs the command on these statistics and a profile; gives its outcome.
fn correlate_timed(profile: &str, options: &[&str]) -> super::Outcome {
    let place = Workplace::new();
    place.write("run.json", TIMED);
    place.write("card.csv", profile);
    place.voltsim(&[&["correlate", "run.json", "card.csv"], options].concat())
}

/// A profile in the form of details with one metric.
fn details(capability: &str, metric: &str, unit: &str, value: &str) -> String {
    format!(
        "==PROF== Connected to process 1\n\
         \"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"CC\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
         \"0\",\"walk(int *)\",\"(256, 1, 1)\",\"(80, 1, 1)\",\"{capability}\",\"{metric}\",\"{unit}\",\"{value}\"\n"
    )
}

/// A metric, its unit and value on the card, and the error in per cent (in points of a percentage).
const UNITS: &[(&str, &str, &str, f64)] = &[
    ("gpu__time_duration.sum", "nsecond", "60,150", 0.0),
    ("gpu__time_duration.sum", "usecond", "60.15", 0.0),
    ("gpu__time_duration.sum", "us", "60.15", 0.0),
    ("gpu__time_duration.sum", "msecond", "0.06015", 0.0),
    ("gpu__time_duration.sum", "second", "0.00006015", 0.0),
    ("Duration", "us", "120.30", -50.0),
    ("dram__bytes_read.sum", "byte", "131,072", 0.0),
    ("dram__bytes_read.sum", "Kbyte", "131.072", 0.0),
    ("dram__bytes_read.sum", "KiB", "128", 0.0),
    ("dram__bytes_read.sum", "Mbyte", "0.131072", 0.0),
    ("dram__bytes.sum.per_second", "Gbyte/second", "2.5", 0.0),
    ("dram__bytes.sum.per_second", "Mbyte/second", "2,500", 0.0),
    ("dram__bytes.sum.per_second", "Tbyte/second", "0.005", -50.0),
    ("gpc__cycles_elapsed.avg.per_second", "Ghz", "1.0", 0.0),
    ("gpc__cycles_elapsed.avg.per_second", "cycle/nsecond", "2", -50.0),
    ("gpc__cycles_elapsed.max", "cycle", "60,150", 0.0),
    ("smsp__inst_executed.sum", "inst", "400,000", 0.0),
    ("smsp__inst_executed.sum", "Kinst", "800", -50.0),
    ("lts__t_sector_hit_rate.pct", "%", "30", 10.0),
];

#[test]
fn units_of_nsight_computes_details_are_read() {
    for (metric, unit, value, expected) in UNITS {
        let outcome = correlate_timed(&details("7.0", metric, unit, value), &["--json"]);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{metric} in {unit}");
        let error = outcome.json()["metrics"][0]["bias"].as_f64().unwrap();
        assert!((error - expected).abs() < 1e-6, "{value} {unit} of {metric}: {error}");
    }
}

#[test]
fn second_row_of_nsights_raw_page_holds_the_units() {
    for (metric, unit, value, expected) in UNITS.iter().filter(|(metric, ..)| metric.contains("__")) {
        let profile = format!(
            "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"CC\",\"{metric}\"\n\"\",\"\",\"\",\"\",\"\",\"{unit}\"\n\
             \"0\",\"walk(int *)\",\"(256, 1, 1)\",\"(80, 1, 1)\",\"7.0\",\"{value}\"\n"
        );
        let outcome = correlate_timed(&profile, &["--json"]);
        let error = outcome.json()["metrics"][0]["bias"].as_f64().unwrap();
        assert!((error - expected).abs() < 1e-6, "{value} {unit} of {metric}: {error}");
    }
}

#[test]
fn units_of_nvprofs_trace_are_those_of_its_second_row() {
    let heading = "\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Block X\",\"Block Y\",\"Block Z\",\"Size\",\"Name\"\n";
    for (unit, value) in [("us", "60.15"), ("ms", "0.06015"), ("ns", "60150"), ("s", "0.00006015")] {
        let profile = format!(
            "==1== NVPROF is profiling\n{heading}ms,{unit},,,,,,,KB,\n1.0,1.2,,,,,,,4.0,\"[CUDA memcpy HtoD]\"\n\
             2.0,{value},80,1,1,256,1,1,,\"walk(int*) [127]\"\n"
        );
        let outcome = correlate_timed(&profile, &["--json"]);
        let error = outcome.json()["metrics"][0]["bias"].as_f64().unwrap();
        assert!(error.abs() < 1e-6, "{value} {unit}: {error}");
    }
}

#[test]
fn an_unknown_unit_is_refused_by_name_and_line() {
    for (metric, unit, said) in [
        ("gpu__time_duration.sum", "fortnight", "gpu__time_duration.sum has the unknown unit `fortnight`"),
        ("gpu__time_duration.sum", "byte", "gpu__time_duration.sum is in `byte`; must be nanoseconds"),
        ("dram__bytes_read.sum", "Qbyte", "dram__bytes_read.sum has the unknown unit `Qbyte`"),
    ] {
        let outcome = correlate_timed(&details("7.0", metric, unit, "1"), &[]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""));
        let start = format!("voltsim: card.csv, line 3: {said}");
        assert!(outcome.stderr.starts_with(&start), "{}", outcome.stderr);
    }
}

#[test]
fn a_profile_of_another_compute_capability_is_told() {
    let profile = |capability| details(capability, "gpu__time_duration.sum", "usecond", "60.15");
    assert_eq!(correlate_timed(&profile("7.0"), &[]).stderr, "");
    let outcome = correlate_timed(&profile("8.6"), &[]);
    assert_eq!(outcome.status, 0);
    let said = "voltsim: card.csv: the card has compute capability 8.6, and the modelled GPU 7.0;";
    assert!(outcome.stderr.starts_with(said), "{}", outcome.stderr);
}

/// Runs the command on a folder with statistics of programs of these names.
fn correlate_folder(programs: &[&str], profile: &str, options: &[&str]) -> super::Outcome {
    let place = Workplace::new();
    std::fs::create_dir(place.path("runs")).unwrap();
    for program in programs {
        place.write(&format!("runs/{program}.json"), STATISTICS);
    }
    place.write("runs/notes.txt", "no statistics");
    place.write("card.csv", profile);
    place.voltsim(&[&["correlate", "runs", "card.csv"], options].concat())
}

/// As [`TABLE`], with what Accel-Sim predicts.
const PREDICTED: &str = "app,kernel_derived,grid_derived,block_derived,hw_cycles_gpc_max,accelsim_cycles\n\
    a,vadd,\"2,1,1\",\"32,1,1\",100,50\n\
    a,vadd,\"2,1,1\",\"32,1,1\",100,90\n\
    b,vadd,\"2,1,1\",\"32,1,1\",220,330\n\
    b,vadd,\"2,1,1\",\"32,1,1\",130,130\n";

#[test]
fn a_folders_statistics_are_compared_program_by_program() {
    let outcome = correlate_folder(&["b", "a"], PREDICTED, &["--json"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    let programs = outcome.json()["programs"].clone();
    let of = |program: usize| {
        let program = &programs[program];
        (
            program["program"].clone(),
            program["launches"][0]["metrics"]["gpc__cycles_elapsed.max"]["error"].clone(),
        )
    };
    assert_eq!([of(0), of(1)], [("a".into(), 10.0.into()), ("b".into(), (-50.0).into())]);
}

#[test]
fn predictions_of_a_peer_are_compared_on_equal_launches() {
    let outcome = correlate_folder(&["a", "b"], PREDICTED, &["--beside", "accelsim_cycles"]);
    // Launches 50, 10, 50 and 0 %; programs 140 to 200 and 460 to 350.
    let line = "accelsim_cycles of the same launches: 27.5 % per launch, 30.7 % per program";
    assert!(outcome.stdout.ends_with(&format!("\n\n{line}\n")), "{}", outcome.stdout);
    let only = correlate_folder(&["a", "b"], PREDICTED, &["--program", "a", "--beside", "accelsim_cycles"]);
    let line = "accelsim_cycles of the same launches: 30.0 % per launch, 30.0 % per program";
    assert!(only.stdout.ends_with(&format!("\n\n{line}\n")), "{}", only.stdout);
}

#[test]
fn missing_prediction_or_program_is_named() {
    let said = |programs: &[&str], options: &[&str]| {
        let outcome = correlate_folder(programs, PREDICTED, options);
        (outcome.status, outcome.stderr.lines().next().unwrap_or_default().to_owned())
    };
    let refused = |text: &str| (2, format!("voltsim: {text}"));
    let none = "card.csv: no launch has a `bogus` that predicts gpc__cycles_elapsed.max";
    assert_eq!(said(&["a"], &["--beside", "bogus"]), refused(none));
    assert_eq!(said(&["a"], &["--program", "b"]), refused("runs: there is no b.json"));
    assert_eq!(said(&[], &[]), refused("runs: there is no NAME.json"));
    let other = "card.csv: no launch is of a program `c`; there are: a, b";
    assert_eq!(said(&["a", "c"], &[]), refused(other));
}

#[test]
fn statistics_of_other_runs_stand_for_the_card() {
    let place = Workplace::new();
    for folder in ["fast", "detailed"] {
        std::fs::create_dir(place.path(folder)).unwrap();
    }
    place.write("fast/a.json", STATISTICS.replace("110", "121"));
    place.write("detailed/a.json", STATISTICS);
    let outcome = place.voltsim(&["correlate", "fast", "detailed", "--json"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    let launch = &outcome.json()["programs"][0]["launches"][0]["metrics"]["gpc__cycles_elapsed.max"];
    assert_eq!(launch["error"], 10.0);
}
