//! The GPUs that come with the program, beside their data sheets.

#![allow(clippy::unwrap_used)]

use timing::specification::gpu::{built_in, names, timed};
use timing::specification::{DataSheet, GpuSpec};

#[test]
fn every_card_has_the_figures_of_its_data_sheet() {
    let mut sheets = 0;
    for name in timed() {
        let document = built_in(name).unwrap();
        sheets += usize::from(document.section(DataSheet::SECTION).next().is_some());
        DataSheet::check(&document, &GpuSpec::read(&document).unwrap()).unwrap();
    }
    assert!(sheets >= 10, "{sheets}");
}

#[test]
fn a_figure_beside_the_data_sheet_is_refused() {
    let sheet = "[data_sheet]\nbandwidth = { value = 700, unit = \"GB/s\", source = \"mine\" }\n";
    let text = format!("base = \"titan-v\"\n{sheet}");
    let document = timing::specification::gpu::document("mine.toml", &text).unwrap();
    let said = DataSheet::check(&document, &GpuSpec::read(&document).unwrap()).unwrap_err();
    assert!(said.to_string().ends_with("the values of [timing] give 652800"), "{said}");
}

#[test]
fn the_old_model_has_the_bandwidth_of_the_new_one() {
    let [old, new] =
        ["titan-v-old", "titan-v"].map(|name| GpuSpec::built_in(name).unwrap().peak_dram_bandwidth());
    assert_eq!(old, new);
}

#[test]
fn three_hbm1_stacks_peak_at_384_gigabytes_a_second() {
    let bandwidth = GpuSpec::built_in("titan-v-hbm1").unwrap().peak_dram_bandwidth() as f64 / 1e9;
    assert!((bandwidth - 24.0 * 16.0).abs() < 0.1, "{bandwidth} GB/s");
}

#[test]
fn every_value_says_where_it_comes_from() {
    for name in timed() {
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
fn no_gpu_of_the_program_has_the_old_layout() {
    for name in names() {
        assert!(built_in(name).unwrap().notices().is_empty(), "{name}");
    }
}

#[test]
fn no_sm_sends_more_than_its_part_of_the_crossbar_holds() {
    for name in timed() {
        let gpu = GpuSpec::built_in(name).unwrap();
        assert_eq!(gpu.memory_pipeline.credits, gpu.crossbar.credits(), "{name}");
    }
}
