//! GPGPU-Sim's option files (`gpgpusim.config`) as GPU files of ours.
//!
//! What an option says becomes a value with the option as its source; what no option says comes from the base. Options
//! that our model has no counterpart for are listed at the end of the file that is made.

mod address;
mod cache;
mod dram;
mod memory_side;
mod options;
mod sm;
mod sm_core;

use std::fmt::Write as _;

use self::options::Options;
use crate::specification::{GpuSpec, Key};

/// The file that imported ones build on.
const BASE: &str = "titan-v";

/// What is wrong with an option file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: `-{option} {value}`: {reason}")]
pub struct ImportError {
    /// File.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The option, without its dash.
    pub option: String,
    /// What stands there.
    pub value: String,
    /// What is the matter.
    pub reason: String,
}

/// The text of a GPU's file that says what an option file of GPGPU-Sim says.
///
/// # Errors
/// An option whose value GPGPU-Sim would not take, or that our model cannot have.
pub fn gpgpusim(file: &str, text: &str) -> Result<String, ImportError> {
    let mut options = Options::read(file, text)?;
    let mut made = Made::default();
    sm_core::import(&mut options, &mut made)?;
    sm::import(&mut options, &mut made)?;
    memory_side::import(&mut options, &mut made)?;
    dram::import(&mut options, &mut made)?;
    Ok(made.text(file, &options))
}

/// A value of the file that is made.
struct Value {
    section: &'static str,
    name: &'static str,
    value: String,
    source: String,
}

/// What has been imported.
#[derive(Default)]
struct Made {
    values: Vec<Value>,
    /// Options that were mapped in another way than their names say.
    notes: Vec<String>,
}

impl Made {
    /// A value, written as in TOML, and where it comes from.
    fn add(&mut self, section: &'static str, name: &'static str, value: impl ToString, source: String) {
        self.values.push(Value { section, name, value: value.to_string(), source });
    }

    /// Something that a reader of the file should know.
    fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// A value that is a word.
    fn choose(&mut self, section: &'static str, name: &'static str, word: &str, source: String) {
        self.add(section, name, format!("\"{word}\""), source);
    }

    fn text(&self, file: &str, options: &Options) -> String {
        let file = remark(file);
        let mut text = format!("# Imported from {file}, an option file of GPGPU-Sim.\n\nbase = \"{BASE}\"\n");
        if let Some(capability) = options.capability() {
            let _ = writeln!(text, "capability = \"{capability}\"");
        }
        let mut section = "";
        for key in GpuSpec::keys() {
            let Some(value) = self.value(&key) else { continue };
            if section != key.section {
                section = key.section;
                let _ = write!(text, "\n[{section}]\n");
            }
            let Value { name, value, source, .. } = value;
            let (unit, source) = (key.unit, toml::Value::String(source.clone()));
            let _ = writeln!(text, "{name} = {{ value = {value}, unit = \"{unit}\", source = {source} }}");
        }
        if !self.notes.is_empty() {
            text.push_str("\n# Notes:\n");
            self.notes.iter().for_each(|note| {
                let _ = writeln!(text, "#   {}", remark(note));
            });
        }
        let absent: Vec<&String> = options.absent().collect();
        if !absent.is_empty() {
            let _ = writeln!(
                text,
                "\n# Options that the file lacks; what they say is as in {BASE}, or as the values above say:"
            );
            absent.iter().for_each(|name| {
                let _ = writeln!(text, "#   -{name}");
            });
        }
        text.push_str("\n# Options without a counterpart, or whose value has none:\n");
        for (name, option) in options.unused() {
            let _ =
                writeln!(text, "#   line {}: {}", option.line, remark(&format!("-{name} {}", option.value)));
        }
        text
    }

    fn value(&self, key: &Key) -> Option<&Value> {
        self.values.iter().find(|value| value.section == key.section && value.name == key.name)
    }
}

/// A text as a comment of TOML may have it: without control characters.
fn remark(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specification::gpu::document;

    const VOLTA: &str = include_str!("../../tests/import/volta.config");
    const FERMI: &str = include_str!("../../tests/import/fermi.config");
    const FERMI_3: &str = include_str!("../../tests/import/fermi-3.config");

    fn import(text: &str) -> GpuSpec {
        let text = gpgpusim("gpgpusim.config", text).unwrap();
        GpuSpec::read(&document("imported.toml", &text).unwrap()).unwrap()
    }

    /// What the importer says of an option file with one line changed.
    fn error(from: &str, to: &str) -> String {
        assert!(VOLTA.contains(from), "{from}");
        gpgpusim("gpgpusim.config", &VOLTA.replace(from, to)).unwrap_err().to_string()
    }

    #[test]
    fn a_sectored_l1_with_adaptive_size_keeps_its_geometry() {
        let l1 = import(VOLTA).l1;
        assert_eq!((l1.size, l1.unified, l1.sets, l1.misses, l1.merges), (128 << 10, true, 4, 512, 8));
    }

    #[test]
    fn an_l1_beside_shared_memory_has_sets_times_ways_times_lines() {
        let gpu = import(FERMI);
        assert_eq!((gpu.l1.size, gpu.l1.unified, gpu.shared.sizes), (16 << 10, false, vec![48 << 10]));
    }

    #[test]
    fn the_peak_bandwidth_is_that_of_the_options() {
        // 24 channels x 16 B x 2 x 850 MHz; 6 channels of 2 chips x 4 B x 4 x 924 MHz.
        assert_eq!(import(VOLTA).peak_dram_bandwidth(), 652_800_000_000);
        assert_eq!(import(FERMI).peak_dram_bandwidth(), 177_408_000_000);
    }

    #[test]
    fn timings_are_read_named_and_by_position() {
        let timings = |gpu: GpuSpec| (gpu.dram.rcd, gpu.dram.ras, gpu.dram.wtr, gpu.dram.rtp);
        assert_eq!(timings(import(VOLTA)), (12, 28, 3, 3));
        assert_eq!(timings(import(FERMI)), (12, 28, 5, 2));
    }

    #[test]
    fn the_row_is_that_of_the_address_mapping() {
        assert_eq!(import(VOLTA).dram.row, 2048);
        assert_eq!(import(FERMI).dram.row, 4096);
    }

    #[test]
    fn what_is_said_of_an_sm_is_shared_out_among_its_sub_cores() {
        let gpu = import(VOLTA);
        assert_eq!((gpu.execution.integer, gpu.execution.fp64, gpu.execution.special_function), (16, 8, 4));
        assert_eq!((gpu.operands.banks, gpu.operands.collectors, gpu.result_bus.slots), (4, 2, 2));
        assert_eq!((gpu.cta.warps, gpu.cta.ctas, gpu.cta.registers), (64, 32, 65536));
    }

    #[test]
    fn an_sm_sends_no_more_than_its_part_of_the_buffer_holds() {
        let gpu = import(VOLTA);
        assert_eq!(gpu.memory_pipeline.credits, gpu.crossbar.credits());
    }

    #[test]
    fn a_warp_is_fetched_two_instructions_when_it_has_none_left_however_many_warps_are_fetched_for() {
        for turns in [1, 4, 8] {
            let fetch = |turns| format!("-gpgpu_inst_fetch_throughput {turns}");
            let front_end = import(&VOLTA.replace(&fetch(4), &fetch(turns))).front_end;
            assert_eq!((front_end.width, front_end.buffer), (2, 2), "{turns}");
        }
    }

    #[test]
    fn several_turns_of_fetch_a_cycle_decode_in_the_same_one() {
        assert_eq!([import(VOLTA), import(FERMI)].map(|gpu| gpu.front_end.latency), [1, 2]);
    }

    #[test]
    fn turns_of_fetch_that_are_not_one_for_each_sub_core_are_listed() {
        let eight = VOLTA.replace("-gpgpu_inst_fetch_throughput 4", "-gpgpu_inst_fetch_throughput 8");
        let listed = |text: &str| {
            gpgpusim("file", text).unwrap().contains("#   line 29: -gpgpu_inst_fetch_throughput")
        };
        assert_eq!([listed(&eight), listed(VOLTA)], [true, false]);
    }

    #[test]
    fn latencies_of_operations_are_those_of_their_classes() {
        let latency = import(VOLTA).latency;
        assert_eq!((latency.integer, latency.integer_extremum, latency.integer_multiply), (4, 13, 5));
        assert_eq!((latency.fp32, latency.fp64), (4, 8));
    }

    #[test]
    fn launches_take_what_options_say_and_nothing_else() {
        let times = |gpu: GpuSpec| (gpu.launch.launch, gpu.launch.drain, gpu.tlb.miss, gpu.tlb.walk);
        assert_eq!(times(import(VOLTA)), (5000, 0, 0, 0));
        assert_eq!(times(import(FERMI)), (0, 0, 0, 0));
    }

    #[test]
    fn a_latency_that_the_model_cannot_have_is_left_to_the_base() {
        let text = gpgpusim("volta.config", VOLTA).unwrap();
        assert!(text.contains("-ptx_opcode_latency_sfu 100\n"), "{text}");
        assert!(!text.contains("special_function = { value = 100"));
    }

    #[test]
    fn every_value_names_its_option_and_line() {
        let text = gpgpusim("volta.config", VOLTA).unwrap();
        assert!(text.contains(r#"latency = { value = 20, unit = "core cycles", source = "line "#), "{text}");
    }

    #[test]
    fn options_without_a_counterpart_are_listed() {
        let text = gpgpusim("volta.config", VOLTA).unwrap();
        assert!(
            text.lines().any(|line| line.starts_with("#   line") && line.contains("-visualizer_enabled 0"))
        );
    }

    #[test]
    fn seven_widths_are_those_of_version_3() {
        // The last of seven is EX_WB, two results an SM.
        assert_eq!(import(FERMI_3).result_bus.slots, 1);
        let eight = FERMI_3.replace("2,1,1,2,1,1,2\n", "2,1,1,2,1,1,8\n");
        assert_eq!(import(&eight).result_bus.slots, 2);
        let text = gpgpusim("fermi.config", FERMI_3).unwrap();
        assert!(text.contains("the seventh of seven widths, as in GPGPU-Sim 3"), "{text}");
        let six = FERMI_3.replace("2,1,1,2,1,1,2\n", "2,1,1,2,1,1\n");
        assert!(gpgpusim("fermi.config", &six).unwrap_err().to_string().contains("seven, nine, eleven"));
    }

    #[test]
    fn a_fifth_clock_is_left_out_with_a_note() {
        let gpu = import(FERMI_3);
        assert_eq!((gpu.clocks.core, gpu.clocks.dram), (700, 924));
        let text = gpgpusim("fermi.config", FERMI_3).unwrap();
        assert!(text.contains("core, crossbar, L2 and DRAM; 1 more (PCIe) left out"), "{text}");
    }

    #[test]
    fn caches_of_versions_3_0_and_3_1_are_read() {
        let gpu = import(FERMI_3);
        assert_eq!((gpu.l1.size, gpu.l1.sets, gpu.l1.misses), (16 << 10, 32, 32));
        assert_eq!((gpu.l2.size, gpu.l2.ways), (64 << 10, 8));
        assert_eq!(gpu.partition.slices, 1, "GPGPU-Sim's default");
    }

    #[test]
    fn an_l2_with_other_lines_keeps_its_bytes_and_ways() {
        let other = FERMI_3.replace("dl2 64:128:8,", "dl2 16:256:8,");
        let l2 = import(&other).l2;
        assert_eq!((l2.size, l2.ways), (32 << 10, 8));
        let text = gpgpusim("fermi.config", &other).unwrap();
        assert!(text.contains("as many bytes and ways in lines of 128 B"), "{text}");
    }

    #[test]
    fn units_of_version_3_execute_integers_and_doubles_too() {
        let gpu = import(FERMI_3);
        // Two units of 32 lanes in four sub-cores; doubles take eight cycles.
        assert_eq!((gpu.execution.fp32, gpu.execution.integer, gpu.execution.fp64), (16, 16, 2));
        assert_eq!(gpu.operands.collectors, 4);
    }

    #[test]
    fn renamed_options_are_read_and_absent_ones_named() {
        let gpu = import(FERMI_3);
        assert_eq!((gpu.l2.latency, gpu.dram.read_queue), (120, 16));
        let text = gpgpusim("fermi.config", FERMI_3).unwrap();
        assert!(text.contains("capability = \"2.0\""), "{text}");
        for absent in ["#   -gpgpu_smem_latency\n", "#   -gpgpu_l1_banks\n", "#   -icnt_flit_size\n"] {
            assert!(text.contains(absent), "{absent}: {text}");
        }
        assert!(!text.contains("#   -gpgpu_n_mem\n") && !text.contains("#   -gpgpu_l2_rop_latency\n"));
        assert!(text.contains("-network_mode 1"), "{text}");
    }

    #[test]
    fn malformed_options_are_errors_with_their_line() {
        for (from, to, expected) in [
            ("S:4:128:64,L:T", "S:4:128:x,L:T", "-gpgpu_cache:dl1"),
            ("S:4:128:64,L:T:m:L:L", "S:4:64:64,L:T:m:L:L", "lines of 128 B"),
            ("S:4:128:64,L:T", "S:4294967295:128:4294967295,L:T", "a cache is kind:sets:line:ways"),
            ("-gpgpu_n_mem 24", "-gpgpu_n_mem many", "a whole number is needed"),
            ("1200.0:1200.0:1200.0:850.0", "1200.0:1200.0", "four frequencies"),
            ("-gpgpu_scheduler gto", "-gpgpu_scheduler best", "schedulers are"),
            ("nbk=16:CCD=1", "nbk=16:CCE=1", "no timing is called `CCE`"),
            ("-gpgpu_n_mem 24", "-gpgpu_n_mem", "it has no value"),
            ("-gpgpu_n_mem 24", "gpgpu_n_mem 24", "an option begins with a dash"),
        ] {
            let text = error(from, to);
            assert!(text.contains(expected) && text.starts_with("gpgpusim.config, line "), "{text}");
        }
    }
}
