//! `voltsim checkpoint convert`: files of another build are made from those of this one.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use saved_run::{About, Digest};
use voltsim_checkpoint::atomic_file::Durability;
use voltsim_checkpoint::codec;
use voltsim_checkpoint::frame::{File, FileWriter, Schema, TableHash};
use voltsim_checkpoint::image;
use voltsim_checkpoint::journal::{self, JournalReader, JournalWriter};

use super::Workplace;
use super::launches::{Captured, SUM};

/// The program that is saved.
const PROGRAM: [&str; 3] = ["--", "./launches", "2"];
/// A small GPU.
const TIMED: [&str; 6] = ["--mode", "detailed", "--gpu", "tiny", "--statistics", "run.json"];

fn schema(section: &str, version: u32) -> Schema {
    Schema::of(&format!("saved run, {section}, version {version}"))
}

/// The program in its place, saved at a point with these options.
fn saved(point: &str, options: &[&str]) -> Captured {
    let captured = Captured::program();
    let save = ["--checkpoint", point, "-o", "here.vck"];
    let outcome = captured.place.voltsim(&[&["run"], options, &save, &PROGRAM].concat());
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, SUM), "{}", outcome.stderr);
    captured
}

/// Which versions the sections of a file have.
#[derive(Clone, Copy)]
enum Versions {
    /// The versions of this build.
    Present,
    /// One version for all sections, 8 or 9. The timing model's state then ends the section of a
    /// device, and steps have no version.
    Common(u32),
}

/// Makes of a file of this build, with one device, what another build has written. Gives the hashes of both.
fn as_of_another_build(
    from: &Path,
    to: &Path,
    versions: Versions,
    renewed: &HashMap<TableHash, TableHash>,
) -> (TableHash, TableHash) {
    let file = File::open(from).unwrap();
    let section = |name: &str, version| file.section(name, schema(name, version)).unwrap();
    let about: About = codec::decode::<{ 1 << 20 }, _>(&section("about", 9)).unwrap();
    let about = codec::encode(&About { engine: Digest::of(b"another build"), ..about }).unwrap();
    let mut devices = section("devices", 10);
    let model_schema = schema("model", launch_report::saved::VERSION);
    let model = file.section("model 0", model_schema).ok();
    let is_present = matches!(versions, Versions::Present);
    let is_apart = model.is_some() && is_present;
    if let Versions::Common(_) = versions {
        devices.extend(codec::encode(&model).unwrap());
    }
    let newer: &[&str] = if is_present { &["turns", "requests"] } else { &[] };
    let sections = 5 + newer.len() + usize::from(is_apart) + image::SECTIONS;
    let mut writer = FileWriter::create(to, sections).unwrap();
    for (name, bytes, present) in [
        ("about", &about[..], 9),
        ("devices", &devices, 10),
        ("kernels", &section("kernels", 9), 9),
        ("launch", &section("launch", 10), 10),
    ] {
        let version = match versions {
            Versions::Present => present,
            Versions::Common(version) => version,
        };
        writer.begin(name, schema(name, version)).unwrap();
        writer.append(bytes).unwrap();
    }
    for name in newer {
        writer.begin(name, schema(name, 1)).unwrap();
        writer.append(&section(name, 1)).unwrap();
    }
    if let Some(model) = model.filter(|_| is_apart) {
        writer.begin("model 0", model_schema).unwrap();
        writer.append(&model).unwrap();
    }
    let told = journal::schema_of("saved run, steps, version 10");
    let mut records = JournalWriter::new(std::env::temp_dir());
    for step in JournalReader::open_as(&file, "steps", told).unwrap() {
        records.push(&step.unwrap()).unwrap();
    }
    let steps = match versions {
        Versions::Present => told,
        Versions::Common(_) => journal::schema(),
    };
    records.write_as(&mut writer, "steps", steps).unwrap();
    image::copy(&mut writer, &file, "memory 0", renewed).unwrap();
    (file.hash(), writer.finish(Durability::Unsynced).unwrap().hash)
}

/// Makes `old.vck` of the checkpoint `here.vck`.
fn of_another_build(place: &Workplace, versions: Versions) {
    as_of_another_build(&place.path("here.vck"), &place.path("old.vck"), versions, &HashMap::new());
}

/// Names of the files in a place.
fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The command refuses the file and says why, and leaves nothing behind.
fn refused(place: &Workplace, arguments: &[&str], told: &[&str]) {
    let before = files(place.folder.path());
    let outcome = place.voltsim(&[&["checkpoint", "convert"], arguments].concat());
    assert!((1..=99).contains(&outcome.status), "{arguments:?}: {}", outcome.status);
    for told in told.iter().chain(&["remedy"]) {
        assert!(outcome.stderr.contains(told), "{arguments:?}, {told}: {}", outcome.stderr);
    }
    assert_eq!(files(place.folder.path()), before, "{arguments:?}");
}

fn converted(place: &Workplace, arguments: &[&str]) -> String {
    let outcome = place.voltsim(&[&["checkpoint", "convert"], arguments].concat());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{arguments:?}");
    outcome.stdout
}

#[test]
fn checkpoint_of_another_build_resumes_after_conversion() {
    let captured = saved("kernel=2", &[]);
    let place = &captured.place;
    for version in [8, 9] {
        of_another_build(place, Versions::Common(version));
        let outcome = place.voltsim(&[&["resume", "old.vck"], &PROGRAM[..]].concat());
        assert!((1..=99).contains(&outcome.status), "{}", outcome.status);
        assert!(outcome.stderr.contains("voltsim checkpoint convert"), "{}", outcome.stderr);
        let said = converted(place, &["old.vck", "-o", "new.vck"]);
        for told in ["new.vck: made of old.vck", "build ", "section     devices, from version"] {
            assert!(said.contains(told), "{told}: {said}");
        }
        let resumed = place.voltsim(&[&["resume", "new.vck"], &PROGRAM[..]].concat());
        assert_eq!((resumed.status, resumed.stdout.as_str(), resumed.stderr.as_str()), (0, SUM, ""));
        let diff = place.voltsim(&["checkpoint", "diff", "here.vck", "new.vck"]);
        assert_eq!((diff.status, diff.stdout.as_str()), (0, ""), "{}", diff.stderr);
    }
    // Another program is still another program.
    let foreign = place.voltsim(&["resume", "new.vck", "--", "/bin/true"]);
    assert_eq!(foreign.status, 87, "{}", foreign.stderr);
}

#[test]
fn a_build_alone_is_lifted_too() {
    let captured = saved("kernel=2", &[]);
    let place = &captured.place;
    of_another_build(place, Versions::Present);
    let outcome = place.voltsim(&[&["resume", "old.vck"], &PROGRAM[..]].concat());
    assert_ne!(outcome.status, 0);
    for told in ["another build of Voltsim", "voltsim checkpoint convert"] {
        assert!(outcome.stderr.contains(told), "{told}: {}", outcome.stderr);
    }
    let said = converted(place, &["old.vck", "-o", "new.vck"]);
    assert!(said.contains("build ") && !said.contains("section "), "{said}");
    assert_eq!(fs::read(place.path("new.vck")).unwrap(), fs::read(place.path("here.vck")).unwrap());
}

#[test]
fn converted_timed_run_gives_equal_statistics() {
    let captured = saved("kernel=3", &TIMED);
    let place = &captured.place;
    let undisturbed = place.read("run.json");
    of_another_build(place, Versions::Present);
    converted(place, &["old.vck", "-o", "new.vck", "--cold"]);
    let resumed = place.voltsim(&[&["resume", "new.vck"], &TIMED[..], &PROGRAM].concat());
    assert_eq!((resumed.status, resumed.stdout.as_str(), resumed.stderr.as_str()), (0, SUM, ""));
    assert!(place.read("run.json") == undisturbed);
}

#[test]
fn only_cold_drops_the_state_of_an_older_timing_model() {
    let captured = saved("kernel=3", &TIMED);
    let place = &captured.place;
    let statistics = || serde_json::from_str::<serde_json::Value>(&place.read("run.json")).unwrap();
    let undisturbed = statistics();
    of_another_build(place, Versions::Common(8));
    refused(place, &["old.vck", "-o", "new.vck"], &["old.vck", "timing-model", "version 8", "--cold"]);
    let said = converted(place, &["old.vck", "-o", "new.vck", "--cold"]);
    assert!(said.contains("left out") && said.contains("version 8"), "{said}");
    let resumed = place.voltsim(&[&["resume", "new.vck"], &TIMED[..], &PROGRAM].concat());
    assert_eq!((resumed.status, resumed.stdout.as_str(), resumed.stderr.as_str()), (0, SUM, ""));
    let (first, third) = (&statistics()["launches"][0], &undisturbed["launches"][2]);
    assert_eq!(first["launch"], 3);
    // Events know nanoseconds, in which there is a core cycle and more.
    let starts = [first, third].map(|launch| launch["start"].as_u64().unwrap());
    assert!(starts[0].abs_diff(starts[1]) <= 2 && starts[1] > 100, "{starts:?}");
}

#[test]
fn launch_in_flight_of_another_build_is_refused() {
    for (point, options, is_refused) in [
        ("kernel=2,cta=0,ctas=2,instructions=3", &[][..], true),
        ("kernel=2,cycle=900", &TIMED[..], true),
        ("kernel=2,cta=1", &[][..], false),
    ] {
        let captured = saved(point, options);
        let place = &captured.place;
        of_another_build(place, Versions::Present);
        let arguments = ["old.vck", "-o", "new.vck"];
        if is_refused {
            refused(place, &arguments, &["launch 2", "remainder", "has begun", "kernel=N"]);
            refused(place, &[&arguments[..], &["--cold"]].concat(), &["has begun"]);
            continue;
        }
        converted(place, &arguments);
        let resumed = place.voltsim(&[&["resume", "new.vck"], options, &PROGRAM].concat());
        assert_eq!((resumed.status, resumed.stdout.as_str()), (0, SUM), "{}", resumed.stderr);
    }
}

#[test]
fn series_converts_as_a_folder_and_by_file() {
    let captured = Captured::program();
    let place = &captured.place;
    let every = ["run", "--checkpoint-every", "1", "-o", "here"];
    assert_eq!(place.voltsim(&[&every[..], &PROGRAM].concat()).status, 0);
    fs::create_dir(place.path("old")).unwrap();
    let (mut renewed, names) = (HashMap::new(), files(&place.path("here")));
    assert_eq!(names.len(), 6);
    for name in &names {
        let [from, to] = ["here", "old"].map(|folder| place.path(folder).join(name));
        let (before, after) = as_of_another_build(&from, &to, Versions::Common(9), &renewed);
        renewed.insert(before, after);
    }
    place.write("old/notes.txt", "mine");
    let last = format!("old/{}", names[5]);
    let said = converted(place, &[&last, "-o", "alone.vck"]);
    assert!(said.contains("files of before"), "{said}");
    converted(place, &["old", "-o", "new"]);
    assert_eq!(files(&place.path("new")), names);
    // Nobody needs the old ones any more.
    fs::remove_dir_all(place.path("old")).unwrap();
    for file in names.iter().map(|name| format!("new/{name}")).chain(["alone.vck".to_owned()]) {
        assert_eq!(place.voltsim(&["checkpoint", "verify", &file]).status, 0, "{file}");
        let resumed = place.voltsim(&[&["resume", &file], &PROGRAM[..]].concat());
        assert_eq!((resumed.status, resumed.stdout.as_str()), (0, SUM), "{file}: {}", resumed.stderr);
    }
    let info = place.voltsim(&["checkpoint", "info", &format!("new/{}", names[5])]);
    assert!(info.stdout.contains("needs "), "{}", info.stdout);
    let info = place.voltsim(&["checkpoint", "info", "alone.vck"]);
    assert!(!info.stdout.contains("needs "), "{}", info.stdout);
    // A series of this build is copied.
    assert!(converted(place, &["new", "-o", "again"]).contains("of this build already"));
    for name in &names {
        let [new, again] = ["new", "again"].map(|folder| fs::read(place.path(folder).join(name)).unwrap());
        assert!(new == again, "{name}");
    }
    fs::remove_file(place.path("new").join(&names[0])).unwrap();
    refused(place, &["new", "-o", "more"], &[&names[0], "keep all files of a series"]);
    refused(place, &["again", "-o", "new"], &["new"]);
    fs::create_dir(place.path("empty")).unwrap();
    refused(place, &["empty", "-o", "more"], &["no checkpoint"]);
}

#[test]
fn a_checkpoint_of_this_build_is_copied() {
    let captured = saved("kernel=2", &[]);
    let place = &captured.place;
    let said = converted(place, &["here.vck", "-o", "new.vck"]);
    assert_eq!(said, "new.vck: here.vck is of this build already, and was copied\n");
    assert_eq!(fs::read(place.path("here.vck")).unwrap(), fs::read(place.path("new.vck")).unwrap());
}

#[test]
fn refused_conversion_leaves_no_file() {
    let captured = saved("kernel=2", &[]);
    let place = &captured.place;
    of_another_build(place, Versions::Present);
    let bytes = fs::read(place.path("old.vck")).unwrap();
    let mut damaged = bytes.clone();
    damaged[bytes.len() - 100] ^= 1;
    place.write("damaged.vck", damaged);
    place.write("short.vck", &bytes[..bytes.len() / 2]);
    place.write("foreign.vck", "no checkpoint");
    let newer = (Versions::Common(11), HashMap::new());
    as_of_another_build(&place.path("here.vck"), &place.path("newer.vck"), newer.0, &newer.1);
    for (file, told) in [
        ("damaged.vck", "hash"),
        ("short.vck", "ends after"),
        ("foreign.vck", "VOLTSIM"),
        ("newer.vck", "version 11"),
        ("none.vck", "none.vck"),
    ] {
        refused(place, &[file, "-o", "new.vck"], &[file, told]);
    }
    refused(place, &["old.vck", "-o", "old.vck"], &["overwrite the old one"]);
    refused(place, &["old.vck", "-o", "none/new.vck"], &["none"]);
    place.write("new.vck", "mine");
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    let voltsim = env!("CARGO_BIN_EXE_voltsim");
    let arguments = ["-c", script, "sh", voltsim, "checkpoint", "convert", "old.vck", "-o", "new.vck"];
    let before = files(place.folder.path());
    let outcome = place.run(Path::new("sh"), &arguments);
    assert!((1..=99).contains(&outcome.status) && outcome.stderr.contains("remedy"), "{}", outcome.stderr);
    assert_eq!(files(place.folder.path()), before);
    assert_eq!(place.read("new.vck"), "mine");
    let stream = place.voltsim(&[&["run", "--image", "all.vks"], &PROGRAM[..]].concat());
    assert_eq!(stream.status, 0, "{}", stream.stderr);
    refused(place, &["all.vks", "-o", "new.vks"], &["kernel stream"]);
}
