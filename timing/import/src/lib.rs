//! Imports GPGPU-Sim option files (`gpgpusim.config`) as GPU files.
//!
//! An option becomes a value with the option as its source. The base supplies values without an
//! option. The end of the generated file lists options without a counterpart in the model.

mod address;
mod cache;
mod dram;
mod memory_side;
mod options;
mod sm;
mod sm_core;

use std::fmt::Write as _;

use self::options::Options;
use timing::gpu_file::Key;
use timing::specification::GpuSpec;

/// Base of imported files.
const BASE: &str = "titan-v";

/// Longest name of the device, in characters.
const LONGEST_NAME: usize = 60;

/// An error of an option file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: `-{option} {value}`: {reason}")]
pub struct ImportError {
    /// File.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The option, without its dash.
    pub option: String,
    /// Value as written.
    pub value: String,
    /// Violated rule.
    pub reason: String,
}

/// Converts a GPGPU-Sim option file to a GPU file.
///
/// # Errors
/// An option whose value GPGPU-Sim would reject or the model does not support.
pub fn gpgpusim(file: &str, text: &str) -> Result<String, ImportError> {
    let mut options = Options::read(file, text)?;
    let mut made = Made::default();
    sm_core::import(&mut options, &mut made)?;
    sm::import(&mut options, &mut made)?;
    memory_side::import(&mut options, &mut made)?;
    dram::import(&mut options, &mut made)?;
    Ok(made.text(file, &options))
}

/// A value of the generated file.
struct Value {
    section: &'static str,
    name: &'static str,
    value: String,
    source: String,
}

/// Content of the generated file.
#[derive(Default)]
struct Made {
    values: Vec<Value>,
    /// Remarks on options whose mapping their names do not show.
    notes: Vec<String>,
}

impl Made {
    /// Adds a value in TOML syntax with its source.
    fn add(&mut self, section: &'static str, name: &'static str, value: impl ToString, source: String) {
        self.values.push(Value { section, name, value: value.to_string(), source });
    }

    /// Adds a remark.
    fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Adds a word.
    fn choose(&mut self, section: &'static str, name: &'static str, word: &str, source: String) {
        self.add(section, name, format!("\"{word}\""), source);
    }

    fn text(&self, file: &str, options: &Options) -> String {
        let file = remark(file);
        let mut text = format!("# Imported from {file}, an option file of GPGPU-Sim.\n\nbase = \"{BASE}\"\n");
        text.push_str(&device(&file, options));
        let mut section = "";
        for key in GpuSpec::keys() {
            let Some(value) = self.value(&key) else { continue };
            if section != key.section {
                section = key.section;
                let _ = write!(text, "\n[timing.{section}]\n");
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
            let _ =
                writeln!(text, "\n# Options absent from the file; {BASE} or the values above supply them:");
            absent.iter().for_each(|name| {
                let _ = writeln!(text, "#   -{name}");
            });
        }
        text.push_str("\n# Options or values without a counterpart in the model:\n");
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

/// The `[device]` half. Option files give the capability; memory and power are those of the base.
fn device(file: &str, options: &Options) -> String {
    let name = toml::Value::String(format!("GPU of {file}").chars().take(LONGEST_NAME).collect());
    let mut text =
        format!("\n[device]\nname = {{ value = {name}, unit = \"text\", source = \"the option file\" }}\n");
    if let Some((capability, option)) = options.capability() {
        let value = format!("value = \"{capability}\", unit = \"version\"");
        let _ = writeln!(text, "capability = {{ {value}, source = \"-{option}\" }}");
    }
    text
}

/// Text without control characters, for a TOML comment.
fn remark(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use timing::specification::gpu::document;

    const VOLTA: &str = include_str!("../tests/configs/volta.config");
    const FERMI: &str = include_str!("../tests/configs/fermi.config");
    const FERMI_3: &str = include_str!("../tests/configs/fermi-3.config");

    fn import(text: &str) -> GpuSpec {
        let text = gpgpusim("gpgpusim.config", text).unwrap();
        GpuSpec::read(&document("imported.toml", &text).unwrap()).unwrap()
    }

    /// Error for the Volta file with one text replaced.
    fn error(from: &str, to: &str) -> String {
        assert!(VOLTA.contains(from), "{from}");
        gpgpusim("gpgpusim.config", &VOLTA.replace(from, to)).unwrap_err().to_string()
    }

    #[test]
    fn adaptive_sectored_l1_keeps_its_geometry() {
        let l1 = import(VOLTA).l1;
        assert_eq!((l1.size, l1.unified, l1.sets, l1.misses, l1.merges), (128 << 10, true, 4, 512, 8));
    }

    #[test]
    fn separate_l1_size_is_sets_times_ways_times_lines() {
        let gpu = import(FERMI);
        assert_eq!((gpu.l1.size, gpu.l1.unified, gpu.shared.sizes), (16 << 10, false, vec![48 << 10]));
    }

    #[test]
    fn peak_bandwidth_follows_the_options() {
        // 24 channels x 16 B x 2 x 850 MHz; 6 channels of 2 chips x 4 B x 4 x 924 MHz.
        assert_eq!(import(VOLTA).peak_dram_bandwidth(), 652_800_000_000);
        assert_eq!(import(FERMI).peak_dram_bandwidth(), 177_408_000_000);
    }

    #[test]
    fn timings_parse_by_name_and_by_position() {
        let timings = |gpu: GpuSpec| (gpu.dram.rcd, gpu.dram.ras, gpu.dram.wtr, gpu.dram.rtp);
        assert_eq!(timings(import(VOLTA)), (12, 28, 3, 3));
        assert_eq!(timings(import(FERMI)), (12, 28, 5, 2));
    }

    #[test]
    fn row_size_follows_the_address_mapping() {
        assert_eq!(import(VOLTA).dram.row, 2048);
        assert_eq!(import(FERMI).dram.row, 4096);
    }

    #[test]
    fn sm_resources_divide_among_sub_cores() {
        let gpu = import(VOLTA);
        assert_eq!((gpu.execution.integer, gpu.execution.fp64, gpu.execution.special_function), (16, 8, 4));
        assert_eq!((gpu.operands.banks, gpu.operands.collectors, gpu.result_bus.slots), (4, 2, 2));
        assert_eq!((gpu.cta.warps, gpu.cta.ctas, gpu.cta.registers), (64, 32, 65536));
    }

    #[test]
    fn credits_are_the_sms_share_of_the_buffer() {
        let gpu = import(VOLTA);
        assert_eq!(gpu.memory_pipeline.credits, gpu.crossbar.credits());
    }

    #[test]
    fn empty_warp_buffer_fetches_two_instructions() {
        for turns in [1, 4, 8] {
            let fetch = |turns| format!("-gpgpu_inst_fetch_throughput {turns}");
            let front_end = import(&VOLTA.replace(&fetch(4), &fetch(turns))).front_end;
            assert_eq!((front_end.width, front_end.buffer), (2, 2), "{turns}");
        }
    }

    #[test]
    fn several_fetch_turns_decode_in_the_same_cycle() {
        assert_eq!([import(VOLTA), import(FERMI)].map(|gpu| gpu.front_end.latency), [1, 2]);
    }

    #[test]
    fn fetch_turns_other_than_sub_cores_are_listed() {
        let eight = VOLTA.replace("-gpgpu_inst_fetch_throughput 4", "-gpgpu_inst_fetch_throughput 8");
        let listed = |text: &str| {
            gpgpusim("file", text).unwrap().contains("#   line 29: -gpgpu_inst_fetch_throughput")
        };
        assert_eq!([listed(&eight), listed(VOLTA)], [true, false]);
    }

    #[test]
    fn operation_latencies_follow_their_classes() {
        let latency = import(VOLTA).latency;
        assert_eq!((latency.integer, latency.integer_extremum, latency.integer_multiply), (4, 13, 5));
        assert_eq!((latency.fp32, latency.fp64), (4, 8));
    }

    #[test]
    fn launch_overhead_follows_options_alone() {
        let times = |gpu: GpuSpec| (gpu.launch.launch, gpu.launch.drain, gpu.tlb.miss, gpu.tlb.walk);
        assert_eq!(times(import(VOLTA)), (5000, 0, 0, 0));
        assert_eq!(times(import(FERMI)), (0, 0, 0, 0));
    }

    #[test]
    fn unsupported_latency_comes_from_the_base() {
        let text = gpgpusim("volta.config", VOLTA).unwrap();
        assert!(text.contains("-ptx_opcode_latency_sfu 100\n"), "{text}");
        assert!(!text.contains("special_function = { value = 100"));
    }

    #[test]
    fn value_names_its_option_and_line() {
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
    fn seven_pipeline_widths_are_of_version_3() {
        // The seventh width is EX_WB, two results an SM.
        assert_eq!(import(FERMI_3).result_bus.slots, 1);
        let eight = FERMI_3.replace("2,1,1,2,1,1,2\n", "2,1,1,2,1,1,8\n");
        assert_eq!(import(&eight).result_bus.slots, 2);
        let text = gpgpusim("fermi.config", FERMI_3).unwrap();
        assert!(text.contains("the seventh of seven widths, as in GPGPU-Sim 3"), "{text}");
        let six = FERMI_3.replace("2,1,1,2,1,1,2\n", "2,1,1,2,1,1\n");
        assert!(gpgpusim("fermi.config", &six).unwrap_err().to_string().contains("seven, nine, eleven"));
    }

    #[test]
    fn fifth_clock_is_omitted_with_a_note() {
        let gpu = import(FERMI_3);
        assert_eq!((gpu.clocks.core, gpu.clocks.dram), (700, 924));
        let text = gpgpusim("fermi.config", FERMI_3).unwrap();
        assert!(text.contains("core, crossbar, L2 and DRAM; 1 more (PCIe) omitted"), "{text}");
    }

    #[test]
    fn caches_of_versions_3_0_and_3_1_parse() {
        let gpu = import(FERMI_3);
        assert_eq!((gpu.l1.size, gpu.l1.sets, gpu.l1.misses), (16 << 10, 32, 32));
        assert_eq!((gpu.l2.size, gpu.l2.ways), (64 << 10, 8));
        assert_eq!(gpu.partition.slices, 1, "GPGPU-Sim's default");
    }

    #[test]
    fn l2_with_other_lines_keeps_size_and_ways() {
        let other = FERMI_3.replace("dl2 64:128:8,", "dl2 16:256:8,");
        let l2 = import(&other).l2;
        assert_eq!((l2.size, l2.ways), (32 << 10, 8));
        let text = gpgpusim("fermi.config", &other).unwrap();
        assert!(text.contains("same size and ways in lines of 128 B"), "{text}");
    }

    #[test]
    fn version_3_units_also_run_integers_and_doubles() {
        let gpu = import(FERMI_3);
        // Two units of 32 lanes in four sub-cores; doubles take eight cycles.
        assert_eq!((gpu.execution.fp32, gpu.execution.integer, gpu.execution.fp64), (16, 16, 2));
        assert_eq!(gpu.operands.collectors, 4);
    }

    #[test]
    fn renamed_options_parse_and_absent_ones_are_listed() {
        let gpu = import(FERMI_3);
        assert_eq!((gpu.l2.latency, gpu.dram.read_queue), (120, 16));
        let text = gpgpusim("fermi.config", FERMI_3).unwrap();
        assert!(text.contains("\ncapability = { value = \"2.0\", unit = \"version\""), "{text}");
        for absent in ["#   -gpgpu_smem_latency\n", "#   -gpgpu_l1_banks\n", "#   -icnt_flit_size\n"] {
            assert!(text.contains(absent), "{absent}: {text}");
        }
        assert!(!text.contains("#   -gpgpu_n_mem\n") && !text.contains("#   -gpgpu_l2_rop_latency\n"));
        assert!(text.contains("-network_mode 1"), "{text}");
    }

    #[test]
    fn malformed_option_error_names_its_line() {
        for (from, to, expected) in [
            ("S:4:128:64,L:T", "S:4:128:x,L:T", "-gpgpu_cache:dl1"),
            ("S:4:128:64,L:T:m:L:L", "S:4:64:64,L:T:m:L:L", "line must be 128 B"),
            ("S:4:128:64,L:T", "S:4294967295:128:4294967295,L:T", "must have the form kind:sets:line:ways"),
            ("-gpgpu_n_mem 24", "-gpgpu_n_mem many", "must be a whole number"),
            ("1200.0:1200.0:1200.0:850.0", "1200.0:1200.0", "four frequencies"),
            ("-gpgpu_scheduler gto", "-gpgpu_scheduler best", "must be gto"),
            ("nbk=16:CCD=1", "nbk=16:CCE=1", "unknown timing `CCE`"),
            ("-gpgpu_n_mem 24", "-gpgpu_n_mem", "the value is missing"),
            ("-gpgpu_n_mem 24", "gpgpu_n_mem 24", "an option must begin with a dash"),
        ] {
            let text = error(from, to);
            assert!(text.contains(expected) && text.starts_with("gpgpusim.config, line "), "{text}");
        }
    }
}
