//! The `ptxas` command as programs start it.

#![allow(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

use ptx_frontend::container::{Linked, Origin};
use std::path::PathBuf;
use std::process::{Command, Output};

const GOOD: &str = "\
.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .b64 %a, %b;
	.shared .b32 s[4];
	ld.param.u64 %a, [p];
	add.u64 %b, %a, 1;
	st.global.u64 [%a], %b;
	ret;
}
";

struct Run {
    folder: tempfile::TempDir,
    output: Output,
}

fn assemble(text: &str, options: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.ptx"), text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_voltsim_ptxas"));
    let output = command
        .current_dir(folder.path())
        .args(options)
        .args(["in.ptx", "-o", "out.cubin"])
        .output()
        .unwrap();
    Run { folder, output }
}

impl Run {
    fn errors(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("out.cubin")
    }
}

#[test]
fn the_image_holds_the_text_and_the_register_limit() {
    let run = assemble(GOOD, &["--gpu-name=sm_90a", "--maxrregcount=40"]);
    assert!(run.output.status.success(), "{}", run.errors());
    let bytes = std::fs::read(run.image()).unwrap();
    let image = Linked::parse(&bytes, Origin::ModuleImage).unwrap();
    assert_eq!(image, Linked { texts: vec![GOOD.as_bytes()], max_registers: Some(40) });
}

#[test]
fn error_names_the_line_and_leaves_no_image() {
    let run = assemble(&GOOD.replace("add.u64", "add.u65"), &[]);
    assert_eq!(run.output.status.code(), Some(255));
    assert!(run.errors().starts_with("ptxas in.ptx, line 9; error   : "), "{}", run.errors());
    assert!(
        run.errors().ends_with("ptxas fatal   : Ptx assembly aborted due to errors\n"),
        "{}",
        run.errors()
    );
    assert!(!run.image().exists());
}

#[test]
fn text_without_a_module_is_an_error() {
    let run = assemble("hello", &[]);
    assert_eq!(run.output.status.code(), Some(255));
    assert!(run.errors().contains("ptxas in.ptx, line 1; fatal   : "), "{}", run.errors());
}

#[test]
fn verbose_prints_resource_usage() {
    let run = assemble(GOOD, &["-v"]);
    assert!(run.errors().contains("Compiling entry function 'k' for 'sm_75'"), "{}", run.errors());
    assert!(
        run.errors().contains("registers, used 0 barriers, 16 bytes smem, 8 bytes cmem[0]"),
        "{}",
        run.errors()
    );
}

#[test]
fn virtual_architecture_writes_no_image() {
    let run = assemble(GOOD, &["-arch=compute_90"]);
    assert!(run.output.status.success() && !run.image().exists(), "{}", run.errors());
    let run = assemble(&GOOD.replace("add.u64", "add.u65"), &["-arch=compute_90"]);
    assert_eq!(run.output.status.code(), Some(255));
}

#[test]
fn unsupported_instruction_is_a_warning() {
    let text = GOOD.replace("7.0", "8.6").replace("sm_70", "sm_100a");
    let run =
        assemble(&text.replace("\tret;", "\ttcgen05.wait::ld.sync.aligned;\n\tret;"), &["-arch=sm_100a"]);
    assert!(run.output.status.success() && run.image().exists(), "{}", run.errors());
    assert!(
        run.errors().contains("line 11; warning : ") && run.errors().contains("tcgen05"),
        "{}",
        run.errors()
    );
}

#[test]
fn wrong_command_line_names_both_assemblers() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ptxas"), "").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_voltsim_ptxas"));
    let output = command.arg("--frobnicate").env("PATH", folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    let toolkit = folder.path().join("ptxas");
    assert!(said.contains("'-frobnicate'") && said.contains(&*toolkit.to_string_lossy()), "{said}");
}

#[test]
fn release_of_the_environment_is_reported() {
    let version = |release: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_voltsim_ptxas"));
        command.arg("--version").env_remove("VOLTSIM_PTXAS_RELEASE");
        if let Some(release) = release {
            command.env("VOLTSIM_PTXAS_RELEASE", release);
        }
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    assert!(version(None).1.contains("release 13.5, V13.5.0"));
    assert!(version(Some("12.4")).1.contains("release 12.4, V12.4.0"));
    let (succeeds, error) = version(Some("twelve"));
    assert!(!succeeds && error.contains("VOLTSIM_PTXAS_RELEASE is `twelve`"), "{error}");
}
