//! `voltsim completions` and `voltsim man`.

use super::Workplace;

#[test]
fn completions_of_bash_are_a_script_that_bash_reads() {
    let place = Workplace::new();
    let outcome = place.voltsim(&["completions", "bash"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    for option in ["--device", "--until-stable", "--checkpoint-every", "functional detailed"] {
        assert!(outcome.stdout.contains(option), "{option}");
    }
    place.write("voltsim.bash", &outcome.stdout);
    let read = place.run(std::path::Path::new("bash"), &["-n", "voltsim.bash"]);
    assert_eq!((read.status, read.stderr.as_str()), (0, ""));
}

#[test]
fn each_subcommand_has_a_manual_page_with_its_options() {
    let place = Workplace::new();
    let outcome = place.voltsim(&["man", "man1"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let run = place.read("man1/voltsim-run.1");
    assert!(run.contains(".TH voltsim-run 1"), "{run}");
    for option in ["\\-\\-device", "\\-\\-statistics", "\\-\\-no\\-fmad"] {
        assert!(run.contains(option), "{option}: {run}");
    }
    let names = ["voltsim.1", "voltsim-resume.1", "voltsim-checkpoint-info.1"];
    assert!(names.iter().all(|name| place.path("man1").join(name).exists()));
    let pages = std::fs::read_dir(place.path("man1")).unwrap().count();
    assert_eq!(outcome.stdout, format!("man1: {pages} pages\n"));
}
