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
            said.starts_with("card.csv, line 1: ") && said.contains("what can be compared is CSV of Nsight"),
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
             2 more of vadd than on the card\n{REMEDY}"
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
fn a_program_or_metric_that_is_not_there_is_refused_with_those_there_are() {
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
        (["correlate", "run.json", "card.csv"], "voltsim: run.json: these are no statistics of ours: "),
        (["correlate", "none.json", "card.csv"], "voltsim: none.json: "),
    ] {
        let outcome = place.voltsim(&arguments);
        assert!(outcome.status == 2 && outcome.stderr.starts_with(named), "{}", outcome.stderr);
    }
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
fn what_another_simulator_predicts_is_compared_on_the_same_launches() {
    let outcome = correlate_folder(&["a", "b"], PREDICTED, &["--beside", "accelsim_cycles"]);
    // Launches 50, 10, 50 and 0 %; programs 140 to 200 and 460 to 350.
    let line = "accelsim_cycles of the same launches: 27.5 % per launch, 30.7 % per program";
    assert!(outcome.stdout.ends_with(&format!("\n\n{line}\n")), "{}", outcome.stdout);
    let only = correlate_folder(&["a", "b"], PREDICTED, &["--program", "a", "--beside", "accelsim_cycles"]);
    let line = "accelsim_cycles of the same launches: 30.0 % per launch, 30.0 % per program";
    assert!(only.stdout.ends_with(&format!("\n\n{line}\n")), "{}", only.stdout);
}

#[test]
fn a_prediction_or_a_program_of_a_folder_that_is_not_there_is_named() {
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
