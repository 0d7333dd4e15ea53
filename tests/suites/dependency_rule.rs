//! Dependency rule of ARCHITECTURE.md, and single compilation of shared dependencies.

#![allow(clippy::expect_used, reason = "helpers of tests, where a panic is the report")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Allowed dependencies of the crates in each folder, by folder; `None` means all. A folder inside
/// another has its own rule.
const RULE: [(&str, Option<&[&str]>); 13] = [
    ("checkpoint", Some(&[])),
    ("checkpoint/saved", Some(&["checkpoint", "functional", "warp-stream"])),
    ("warp-stream", Some(&[])),
    ("ptx-frontend", Some(&["warp-stream", "checkpoint"])),
    ("functional", Some(&["ptx-frontend", "warp-stream", "checkpoint"])),
    ("timing", Some(&["warp-stream", "checkpoint"])),
    ("report", Some(&["timing", "warp-stream"])),
    ("cache-model", Some(&["timing", "warp-stream", "checkpoint"])),
    ("cudart-shim", None),
    ("driver", Some(&["cudart-shim", "timing", "warp-stream", "checkpoint"])),
    ("cli", None),
    ("tests", None),
    ("xtask", None),
];

fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

/// Returns the innermost folder of [`RULE`] that has `path`, or else the first folder below `root`.
fn folder<'a>(root: &Path, path: &'a Path) -> &'a str {
    let below = path.strip_prefix(root).expect("the crate lies in the workspace");
    let folders = below.ancestors().skip(usize::from(below.ends_with("Cargo.toml")));
    let names = || folders.clone().filter_map(Path::to_str).filter(|name| !name.is_empty());
    let ruled = names().find(|name| RULE.iter().any(|(folder, _)| folder == name));
    ruled.or(names().last()).expect("the crate has a folder")
}

/// Returns every dependency between workspace crates: crate, its folder, folder of the dependency,
/// dependency.
fn arrows() -> Vec<(String, String, String, String)> {
    let metadata = metadata();
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    let root = text(&metadata["workspace_root"]);
    let mut arrows = Vec::new();
    for package in metadata["packages"].as_array().expect("packages") {
        let manifest = text(&package["manifest_path"]);
        let from = folder(root.as_ref(), manifest.as_ref());
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            if let Some(path) = dependency["path"].as_str() {
                let to = folder(root.as_ref(), path.as_ref()).to_owned();
                arrows.push((text(&package["name"]), from.to_owned(), to, text(&dependency["name"])));
            }
        }
    }
    arrows
}

#[test]
fn crates_have_only_allowed_dependencies() {
    let arrows = arrows();
    assert!(!arrows.is_empty());
    let wrong: Vec<String> = arrows
        .iter()
        .filter(|(_, from, to, _)| {
            let (_, allowed) =
                RULE.iter().find(|(folder, _)| folder == from).expect("every folder has a rule");
            from != to && allowed.is_some_and(|allowed| !allowed.contains(&to.as_str()))
        })
        .map(|(name, _, _, dependency)| format!("{name} must not depend on {dependency}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_crate_depends_on_command_suites_or_fronts() {
    for (name, from, to, dependency) in arrows() {
        // `cargo xtask` shares the catalogue of programs with the suites.
        let shares_catalogue = from == "xtask" && to == "tests";
        assert!(
            from == to || shares_catalogue || !["cli", "tests", "xtask"].contains(&to.as_str()),
            "{name} depends on {dependency}"
        );
    }
}

/// Returns the features of each host crate selected by these options of `cargo tree`, including
/// dependencies but not procedural macros.
fn features(options: &[&str]) -> BTreeMap<String, String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--edges",
            "normal,no-proc-macro",
            "--prefix",
            "none",
            "--format",
            "{p}|{f}",
        ])
        .args(options)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo tree is text");
    let line = |line: &str| {
        let (package, features) = line.trim_end_matches(" (*)").split_once('|')?;
        Some((package.to_owned(), features.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn command_libraries_and_tests_share_compiled_dependencies() {
    let libraries = features(&["--package", "cudart-shim"]);
    assert!(libraries.keys().any(|package| package.starts_with("functional ")), "{libraries:?}");
    for others in [["--package", "voltsim"].as_slice(), &["--workspace"]] {
        let others = features(others);
        for (package, own) in &libraries {
            let same = others.get(package).is_none_or(|other| own == other);
            assert!(
                same,
                "{package} is compiled twice, with {own} and {:?}: cudart-shim/workspace-hack brings them together",
                others[package]
            );
        }
    }
}
