//! Damaged tables and statistics are compared or rejected by name, without a panic.

#![allow(clippy::unwrap_used)]

#[path = "../../tests/damaged/damage.rs"]
mod damage;

use profiler_correlation::{Comparison, Program, read_profiler, read_statistics};
use proptest::prelude::*;

use damage::damage;

const STATISTICS: &str = r#"{ "launches": [ { "kernel": "_Z4vaddPf", "grid": [2, 1, 1], "block": [32, 1, 1],
    "derived": { "l2.hit_rate": 50.0 }, "counters": { "gpu.cycles": 100, "gpu.sm_cycles": 8000, "dram.reads": 6 } } ] }"#;

/// A profile in each supported format.
const PROFILES: [&str; 5] = [
    "==PROF== Connected\n\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"gpc__cycles_elapsed.max\"\n\"\",\"\",\"\",\"\",\"cycle\"\n\
     \"0\",\"vadd(float *, int)\",\"(32, 1, 1)\",\"(2, 1, 1)\",\"1,234\"\n",
    "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\"0\",\"vadd(int)\",\"gpc__cycles_elapsed.max\",\"cycle\",\"12\"\n",
    "==1== NVPROF\n\"Stream\",\"Kernel\",\"gld_transactions\",\"elapsed_cycles_sm\"\n,,,\n\"7\",\"vadd(float*, int)\",128,1000\n",
    "app,kernel_derived,grid_derived,block_derived,hw_cycles_gpc_max,l2_hit_pct\na,vadd,\"2,1,1\",\"32,1,1\",100,40\n",
    "Benchmark,Kernel,L1_RH,L1_RM,Elapsed_Cycles\na,vadd,30.0,10.0,250.5\nb,sum,0.0,0.0,1.0\n",
];

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_profile_is_compared_or_rejected_by_name(damage in damage(), form in 0..PROFILES.len()) {
        let ours = read_statistics("run.json", STATISTICS).unwrap();
        match read_profiler("card.csv", &lossy(&damage.of(PROFILES[form]))) {
            Ok(card) => {
                let comparison = Comparison::new(vec![Program::new("a", &ours, &card)]);
                prop_assert!(comparison.text("gpc__cycles_elapsed.max").starts_with("metric"));
                prop_assert!(comparison.json().is_object());
            }
            Err(error) => prop_assert!(error.to_string().starts_with("card.csv, line "), "{error}"),
        }
    }

    #[test]
    fn damaged_statistics_are_read_or_rejected_by_name(damage in damage()) {
        if let Err(error) = read_statistics("run.json", &lossy(&damage.of(STATISTICS))) {
            prop_assert!(error.to_string().starts_with("run.json: "), "{error}");
        }
    }
}
