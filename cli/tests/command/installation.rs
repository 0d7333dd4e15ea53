//! An installation: its proof, its version, its folders, its layout.

use std::os::unix::fs::symlink;
use std::path::Path;

use super::Workplace;

#[test]
fn self_check_passes_in_both_modes() {
    let outcome = Workplace::new().voltsim(&["self-check"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    for mode in ["functional", "detailed"] {
        assert!(outcome.stdout.contains(&format!("ok: {mode} mode")), "{}", outcome.stdout);
    }
}

#[test]
fn version_names_commit_and_libraries() {
    let outcome = Workplace::new().voltsim(&["version"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    for word in [env!("CARGO_PKG_VERSION"), "commit ", "libraries ", "x86-64-v2"] {
        assert!(outcome.stdout.contains(word), "{word}: {}", outcome.stdout);
    }
}

#[test]
fn clean_lists_folders_and_removes_only_what_is_named() {
    let place = Workplace::new();
    let (cache, data) = (place.path("cache"), place.path("data"));
    let functions = cache.join("voltsim/functions");
    let environment = data.join("voltsim/pytorch");
    for folder in [&functions, &environment] {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("file"), [1; 3000]).unwrap();
    }
    let clean = |arguments: &[&str]| {
        let settings = [("XDG_CACHE_HOME", cache.clone()), ("XDG_DATA_HOME", data.clone())];
        place.run_with(Path::new(env!("CARGO_BIN_EXE_voltsim")), &[&["clean"], arguments].concat(), &settings)
    };
    let listed = clean(&[]);
    assert_eq!(listed.status, 0, "{}", listed.stderr);
    assert!(listed.stdout.contains("environment pytorch"), "{}", listed.stdout);
    assert!(functions.exists() && environment.exists());
    assert!(clean(&["--caches"]).stdout.contains("removed"));
    assert!(!functions.exists() && environment.exists());
    assert_eq!(clean(&["--environment", "no-such"]).status, 2);
    assert_eq!(clean(&["--all"]).status, 0);
    assert!(!environment.exists());
    assert!(clean(&[]).stdout.contains("keeps nothing"));
}

#[test]
fn command_of_a_prefix_uses_the_prefix_libraries() {
    let place = Workplace::new();
    let built = Path::new(env!("CARGO_BIN_EXE_voltsim"));
    // The first run completes the folder beside cargo's output.
    assert_eq!(place.voltsim(&["version"]).status, 0);
    std::fs::create_dir(place.path("bin")).unwrap();
    std::fs::create_dir(place.path("lib")).unwrap();
    std::fs::copy(built, place.path("bin/voltsim")).unwrap();
    symlink(built.with_file_name("voltsim-lib"), place.path("lib/voltsim")).unwrap();
    let outcome = place.run(&place.path("bin/voltsim"), &["version"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let libraries = place.path("lib/voltsim").canonicalize().unwrap();
    assert!(outcome.stdout.contains(&libraries.display().to_string()), "{}", outcome.stdout);
}

#[test]
fn gpu_is_shown_with_the_source_of_each_value() {
    let outcome = Workplace::new().voltsim(&["gpus", "v100"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("base = \"gv100\"") && outcome.stdout.contains("source ="));
    let unknown = Workplace::new().voltsim(&["gpus", "v10"]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.stderr.contains("v10") && unknown.stderr.contains("remedy:"), "{}", unknown.stderr);
}
