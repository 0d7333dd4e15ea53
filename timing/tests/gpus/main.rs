//! The GPUs that come with the program, against their data sheets.

#![allow(clippy::unwrap_used)]

use timing::specification::GpuSpec;
use timing::specification::gpu::{BUILT_IN, built_in};

/// SMs, KiB of L2, and GB/s of DRAM, of the cards' data sheets.
const DATA_SHEETS: [(&str, u32, u32, f64); 10] = [
    ("titan-v", 80, 4608, 652.8),
    ("gv100", 80, 6144, 870.0),
    ("v100", 80, 6144, 900.0),
    ("rtx2070s", 40, 4096, 448.0),
    ("rtx2080ti", 68, 5632, 616.0),
    ("rtx3060", 28, 3072, 360.0),
    ("rtx3090", 82, 6144, 936.2),
    ("gtx1050", 5, 1024, 112.1),
    ("gtx1080ti", 28, 2816, 484.4),
    ("gtx470", 14, 640, 133.9),
];

#[test]
fn every_card_has_the_bandwidth_of_its_data_sheet() {
    for (name, .., bandwidth) in DATA_SHEETS {
        let ours = GpuSpec::built_in(name).unwrap().peak_dram_bandwidth() as f64 / 1e9;
        assert!((ours / bandwidth - 1.0).abs() < 0.01, "{name}: {ours:.1} GB/s");
    }
}

#[test]
fn the_old_model_has_the_bandwidth_of_the_new_one() {
    let [old, new] =
        ["titan-v-old", "titan-v"].map(|name| GpuSpec::built_in(name).unwrap().peak_dram_bandwidth());
    assert_eq!(old, new);
}

#[test]
fn three_stacks_of_hbm1_move_128_bits_a_channel_at_a_gigabit_a_pin() {
    let bandwidth = GpuSpec::built_in("titan-v-hbm1").unwrap().peak_dram_bandwidth() as f64 / 1e9;
    assert!((bandwidth - 24.0 * 16.0).abs() < 0.1, "{bandwidth} GB/s");
}

#[test]
fn every_card_has_the_sms_and_the_l2_of_its_data_sheet() {
    for (name, sms, l2, _) in DATA_SHEETS {
        let gpu = GpuSpec::built_in(name).unwrap();
        let total = (gpu.partition.all_slices() * gpu.l2.size) >> 10;
        assert_eq!((gpu.chip.sms, total), (sms, l2), "{name}");
    }
}

#[test]
fn every_value_says_where_it_comes_from() {
    for (name, _) in BUILT_IN {
        let document = built_in(name).unwrap();
        for key in GpuSpec::keys() {
            // A default is the value of files that do not use the key.
            let Some(entry) = document.entry(key.section, key.name) else {
                assert!(key.default.is_some(), "{name}: {}.{}", key.section, key.name);
                continue;
            };
            assert!(!entry.source.is_empty(), "{name}: {}.{}", key.section, key.name);
        }
    }
}

#[test]
fn no_sm_sends_more_than_its_part_of_the_crossbar_holds() {
    for (name, _) in BUILT_IN {
        let gpu = GpuSpec::built_in(name).unwrap();
        assert_eq!(gpu.memory_pipeline.credits, gpu.crossbar.credits(), "{name}");
    }
}
