//! Statistics as Parquet.

use std::fs::File;
use std::path::Path;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Row;
use serde_json::Value;

use super::Workplace;
use super::launches::{Captured, SUM};

/// Rows of a Parquet file, and its metadata as text.
fn rows(place: &Workplace, file: &str) -> (Vec<Row>, String) {
    let reader = SerializedFileReader::new(File::open(place.path(file)).unwrap()).unwrap();
    let about = format!("{:?}", reader.metadata().file_metadata().key_value_metadata());
    (reader.get_row_iter(None).unwrap().collect::<Result<_, _>>().unwrap(), about)
}

fn column(rows: &[Row], name: &str) -> Vec<String> {
    let value = |row: &Row| row.get_column_iter().find(|(column, _)| *column == name).unwrap().1.to_string();
    rows.iter().map(value).collect()
}

/// A field of all launches in JSON.
fn field(statistics: &Value, path: &str) -> Vec<String> {
    let launches = statistics["launches"].as_array().unwrap();
    launches.iter().map(|launch| launch.pointer(path).unwrap().to_string()).collect()
}

#[test]
fn parquet_has_the_launches_of_json() {
    let place = Captured::program().place;
    let timed = ["run", "--mode", "detailed", "--gpu", "tiny", "--series", "100", "--statistics"];
    for file in ["run.json", "run.parquet"] {
        let outcome = place.voltsim(&[&timed[..], &[file, "--", "./launches", "2"]].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (0, SUM), "{}", outcome.stderr);
    }
    let json: Value = serde_json::from_str(&place.read("run.json")).unwrap();
    let (launches, about) = rows(&place, "run.parquet");
    assert!(!launches.is_empty() && about.contains("tiny"), "{about}");
    assert_eq!(column(&launches, "cycles"), field(&json, "/cycles"));
    assert_eq!(column(&launches, "grid_x"), field(&json, "/grid/0"));
    assert_eq!(column(&launches, "kernel"), field(&json, "/kernel"));
    let issued = column(&launches, "sm.warp_instructions");
    assert_eq!(issued, field(&json, "/counters/sm.warp_instructions"));
    // The points of a counter add up to the counter of the launch.
    let (points, _) = rows(&place, "run.series.parquet");
    let number = |text: String| text.parse::<u64>().unwrap();
    let sum = column(&points, "sm.warp_instructions").into_iter().map(number).sum::<u64>();
    assert_eq!(sum, issued.into_iter().map(number).sum::<u64>());
    let names = std::fs::read_dir(place.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with(".voltsim")));
}

#[test]
fn variable_may_name_a_parquet_file_too() {
    let place = Captured::program().place;
    let settings = [("VOLTSIM_STATISTICS", "run.parquet".into()), ("VOLTSIM_GPU", "tiny".into())];
    let arguments = ["run", "--mode", "detailed", "--", "./launches", "2"];
    let outcome = place.run_with(Path::new(env!("CARGO_BIN_EXE_voltsim")), &arguments, &settings);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, SUM), "{}", outcome.stderr);
    assert!(!rows(&place, "run.parquet").0.is_empty());
    assert!(!place.path("run.series.parquet").exists(), "no series were asked for");
}

#[test]
fn recorded_launches_are_timed_into_parquet() {
    let place = Captured::program().place;
    assert_eq!(place.voltsim(&["record", "-o", "recorded", "--", "./launches", "2"]).status, 0);
    for file in ["timed.json", "timed.parquet"] {
        let outcome = place.voltsim(&["time", "recorded", "--gpu", "tiny", "--statistics", file]);
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    }
    let json: Value = serde_json::from_str(&place.read("timed.json")).unwrap();
    assert_eq!(column(&rows(&place, "timed.parquet").0, "cycles"), field(&json, "/cycles"));
}
