//! Settings of the libraries in the environment, and their messages.

#![allow(clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Output;

/// Compiles a program of `tests/settings`, which other tests do not run.
fn program(name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings").join(name).with_extension("c");
    common::compile(&source).expect("the program compiles")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(program: &Path, settings: &[(&str, &Path)]) -> Output {
    let mut command = common::command(program);
    command.envs(settings.iter().copied());
    command.output().expect("the program starts")
}

#[test]
fn without_settings_nothing_is_printed() {
    let output = run(&program("device_name"), &[]);
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("NVIDIA TITAN V\n".into(), String::new()));
}

#[test]
fn log_lists_calls_with_arguments_and_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    run(&program("device_name"), &[("VOLTSIM_LOG", &log)]);
    let log = std::fs::read_to_string(log).expect("the log");
    assert!(log.contains("] cudaGetDeviceProperties(prop=0x"), "{log}");
    assert!(log.contains("device=0) = cudaSuccess"), "{log}");
    assert!(log.contains("device=9) = cudaErrorInvalidDevice"), "{log}");
}

#[test]
fn log_names_unsupported_function_and_caller_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let program = program("unsupported");
    let output = run(&program, &[("VOLTSIM_LOG", &log)]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let log = std::fs::read_to_string(log).expect("the log");
    let lines: Vec<_> = log.lines().filter(|line| line.contains("is not supported")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains("cudaGraphicsMapResources") && lines[0].contains("unsupported"), "{log}");
}

#[test]
fn summary_counts_calls_and_instructions_per_kernel() {
    let folder = tempfile::tempdir().expect("a folder");
    let summary = folder.path().join("summary.json");
    let launches = common::compile(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/launch.c"));
    run(&launches.expect("the program compiles"), &[("VOLTSIM_SUMMARY", &summary)]);
    let summary: serde_json::Value =
        serde_json::from_slice(&std::fs::read(summary).expect("the summary")).expect("JSON");
    assert_eq!(summary["device"], "NVIDIA TITAN V");
    assert!(summary["api_calls"].as_u64() > Some(20));
    let kernels = summary["kernels"].as_array().expect("kernels");
    let add_one = kernels.iter().find(|kernel| kernel["name"] == "add_one").expect("the kernel");
    assert_eq!(add_one["launches"], 4);
    // 32 warps per launch; the kernel has 14 instructions.
    let executed = add_one["warp_instructions"].as_u64().expect("a number");
    assert!((4 * 32 * 10..=4 * 32 * 20).contains(&executed), "{add_one}");
}

#[test]
fn environment_selects_the_device() {
    let output = run(&program("device_name"), &[("VOLTSIM_DEVICE", Path::new("v100"))]);
    assert_eq!(text(&output.stdout), "Tesla V100-PCIE-16GB\n");
}

#[test]
fn library_reads_the_value_of_the_command() {
    let program = program("device_name");
    let value = [("VOLTSIM_RUN", Path::new("1;device=v100;supervisor=1"))];
    assert_eq!(text(&run(&program, &value).stdout), "Tesla V100-PCIE-16GB\n");
    let inside = [value[0], ("VOLTSIM_DEVICE", Path::new("titan-v"))];
    assert_eq!(text(&run(&program, &inside).stdout), "NVIDIA TITAN V\n");
}

#[test]
fn value_of_another_version_starts_no_device() {
    let output = run(&program("device_name"), &[("VOLTSIM_RUN", Path::new("2;device=v100"))]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("voltsim: VOLTSIM_RUN=2;device=v100: must have version 1"), "{said}");
}

#[test]
fn mistake_in_a_variable_is_told_once_with_its_value() {
    let output = run(&program("device_name"), &[("VOLTSIM_DEVICES", Path::new("99"))]);
    assert_eq!(text(&output.stdout), "NVIDIA TITAN V\n");
    assert_eq!(text(&output.stderr), "voltsim: VOLTSIM_DEVICES=99: must be 1 to 16; using 16.\n");
}

#[test]
fn device_profile_error_names_file_and_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("mine.toml");
    let key = "warp_sise = { value = 32, unit = \"threads\", source = \"mine\" }";
    std::fs::write(&profile, format!("base = \"titan-v\"\n[device]\n{key}\n")).expect("the profile");
    let output = run(&program("device_name"), &[("VOLTSIM_DEVICE", &profile)]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(said.contains("mine.toml") && said.contains("device.warp_sise"), "{said}");
}

#[test]
fn missing_core_library_is_reported_once() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["libcudart.so.13", "libcuda.so.1"] {
        std::fs::copy(common::libraries().join(name), folder.path().join(name)).expect("a copy of the front");
    }
    let mut command = common::command(&program("device_name"));
    let output = command.env("LD_LIBRARY_PATH", folder.path()).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("libcudart.so.13") && said.contains("libvoltsim_core.so"), "{said}");
}

/// Runs a kernel of the program `faults` with settings. Returns the error's name and the messages.
fn fault(kernel: &str, settings: &[(&str, &str)]) -> (String, String) {
    let mut command = common::command(&program("faults"));
    let output = command.arg(kernel).envs(settings.iter().copied()).output().expect("the program starts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "the device works again after a reset: {said}");
    (text(&output.stdout), said)
}

#[test]
fn fault_message_names_kernel_thread_line_and_address() {
    let (error, said) = fault("wild", &[]);
    assert_eq!(error, "cudaErrorIllegalAddress\n");
    assert_eq!(
        said,
        "voltsim: illegal address 0x123450, 4 bytes in kernel wild, CTA (2,0,0), thread (37,0,0), \
         PTX line 9: st.global.u32 [%d1], %r3;\n"
    );
}

#[test]
fn watchdog_stops_an_endless_kernel_and_reports_its_position() {
    let (error, said) = fault("endless", &[("VOLTSIM_WATCHDOG", "1")]);
    assert_eq!(error, "cudaErrorLaunchTimeout\n");
    assert!(said.contains("watchdog's 1 s in kernel endless") && said.contains("PTX line 12: bra"), "{said}");
}

#[test]
fn watchdog_stops_an_endless_while_node() {
    let mut command = common::command(&program("endless_while"));
    let output = command.env("VOLTSIM_WATCHDOG", "1").output().expect("the program starts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "the device works again after a reset: {said}");
    assert_eq!(text(&output.stdout), "cudaErrorLaunchTimeout\n");
    assert!(said.contains("a conditional node still repeats its graph after 1s"), "{said}");
}

#[test]
fn multiply_add_is_contracted_unless_disabled() {
    // The kernel traps unless the product is rounded separately.
    assert_eq!(fault("contraction", &[]).0, "cudaErrorLaunchFailure\n");
    assert_eq!(fault("contraction", &[("VOLTSIM_FMAD", "0")]).0, "cudaSuccess\n");
}

#[test]
fn unreachable_barrier_is_reported_with_its_line() {
    let (error, said) = fault("deadlock", &[]);
    assert_eq!(error, "cudaErrorLaunchTimeout\n");
    assert!(said.contains("32 threads wait at a barrier") && said.contains("PTX line 16: barrier"), "{said}");
}

#[test]
fn log_of_a_launch_has_kernel_sizes_and_fault() {
    let (_, log) = fault("wild", &[("VOLTSIM_LOG", "stderr")]);
    assert!(log.contains("kernel wild: grid (4,1,1), CTA (64,1,1)"), "{log}");
    assert!(log.contains("cudaLaunchKernel(func=0x") && log.contains("blockDim=(64,1,1)"), "{log}");
    assert_eq!(log.matches("illegal address 0x123450").count(), 1, "{log}");
    assert!(log.contains("cudaDeviceSynchronize() = cudaErrorIllegalAddress"), "{log}");
}

/// The kernel of `machine_code` as named in messages.
fn refused_kernel(program: &Path) -> String {
    format!("kernel store of {} exists only as machine code for sm_70", program.display())
}

#[test]
fn machine_code_kernel_is_reported_once_with_remedy() {
    let program = program("machine_code");
    let output = run(&program, &[]);
    let (seen, told) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{told}");
    assert_eq!(told.matches(&refused_kernel(&program)).count(), 1, "{told}");
    assert!(told.contains("--profile pytorch") && told.contains("code=compute_NN"), "{told}");
    assert!(
        seen.starts_with("no kernel image is available for execution on the device (voltsim: "),
        "{seen}"
    );
    assert!(seen.contains(&refused_kernel(&program)), "{seen}");
}

#[test]
fn cudnn_and_cublas_errors_name_the_refused_kernel() {
    let program = program("machine_code");
    let texts = common::library("texts").expect("the library compiles");
    let preloaded = common::libraries().join("libvoltsim_dlopen.so");
    let libraries = std::env::join_paths([preloaded, texts]).expect("paths without colons");
    let output = run(&program, &[("LD_PRELOAD", Path::new(&libraries))]);
    let seen = text(&output.stdout);
    let [_, failed, unsupported, status, other] = seen.lines().collect::<Vec<_>>()[..] else {
        panic!("{seen}")
    };
    assert!(failed.starts_with("CUDNN_STATUS_EXECUTION_FAILED: "), "{failed}");
    assert!(failed.contains(&refused_kernel(&program)), "{failed}");
    assert_eq!(unsupported, "CUDNN_STATUS_NOT_SUPPORTED");
    assert!(status.starts_with("CUBLAS_STATUS_EXECUTION_FAILED: "), "{status}");
    assert!(status.contains(&refused_kernel(&program)), "{status}");
    assert_eq!(other, "index out of range");
}

/// Unloads a library whose destructor launches a kernel and waits for the device.
fn unload(launches_before: &[&str]) {
    let mut command = common::command(&program("unload"));
    let library = common::library("waiter").expect("the library compiles");
    let output = command.arg(library).args(launches_before).env("VOLTSIM_THREADS", "4").output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{}: {}", output.status, text(&output.stderr));
}

#[test]
fn library_unload_waits_while_threads_start() {
    unload(&["launches before"]);
}

#[test]
fn library_unload_may_launch_the_first_kernel() {
    unload(&[]);
}

#[test]
fn use_of_unmapped_registered_memory_is_a_fault() {
    let program = program("unmapped");
    for (how, printed, is_told) in [
        ("kernel", "0 700\n", true),
        ("copy", "0 700\n", true),
        ("copy back", "0 700\n", true),
        ("fill", "0 700\n", true),
        ("write", "0 700\n", true),
        ("nothing", "0 0 5\n", true),
        ("unregister", "0 0 5\n", false),
        ("running kernel", "own handler\n0 700\n", true),
    ] {
        let output = run(&program, &[("HOW", Path::new(how))]);
        let told = text(&output.stderr);
        assert_eq!(text(&output.stdout), printed, "{how}: {told}");
        assert_eq!(told.contains("registered host memory of 65536 bytes at 0x"), is_told, "{how}: {told}");
    }
}

#[test]
fn use_of_protected_registered_memory_is_a_fault() {
    let program = program("unmapped");
    for (how, rights, printed) in [
        ("kernel", "1", "0 700\n"),
        ("copy", "0", "0 700\n"),
        ("copy", "1", "0 0 5\n"),
        ("copy back", "1", "0 700\n"),
        ("fill", "1", "0 700\n"),
        ("write", "1", "0 700\n"),
        ("nothing", "0", "0 0 5\n"),
        ("unregister", "0", "0 0 5\n"),
        ("running kernel", "0", "0 700\n"),
    ] {
        let output = run(&program, &[("HOW", Path::new(how)), ("RIGHTS", Path::new(rights))]);
        let told = text(&output.stderr);
        assert_eq!(text(&output.stdout), printed, "{how} {rights}: {told}");
        assert_eq!(told.contains("protected"), printed == "0 700\n", "{how} {rights}: {told}");
    }
}
