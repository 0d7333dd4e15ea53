use std::io;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};

use crate::{ColumnsError, write_launches, write_series};

const RUN: &str = r#"{
  "gpu": "titan-v",
  "launches": [
    {
      "launch": 1, "kernel": "f(int)", "mangled": "_Z1fi", "grid": [4, 2, 1], "shared": false,
      "occupancy": { "limit": "warps", "theoretical": 50.0 },
      "counters": { "gpu.cycles": 100, "l1.hits": null, "l2.hits": 7 },
      "derived": { "l1.hit_rate": null, "l2.hit_rate": 25.0 },
      "dram_channels": [ { "banks": [1, 2] } ],
      "series": { "points": 2, "counters": { "gpu.cycles": [60, 40], "l2.hits": [7, 0] } }
    },
    {
      "launch": 3, "kernel": "main", "grid": [1, 1, 1], "shared": true,
      "occupancy": { "limit": "ctas", "theoretical": 100.0 },
      "counters": { "gpu.cycles": 9, "l1.hits": null, "l2.hits": 0 },
      "derived": { "l1.hit_rate": null, "l2.hit_rate": 1.5 },
      "series": { "points": 1, "counters": { "gpu.cycles": [9] } }
    }
  ],
  "partial": "ended by SIGTERM",
  "total": { "counters": {} },
  "version": 1
}"#;

fn rows(file: Vec<u8>) -> (Vec<Row>, Vec<(String, String)>) {
    let reader = SerializedFileReader::new(bytes::Bytes::from(file)).expect("a Parquet file");
    let about = reader.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
    let about = about.into_iter().map(|entry| (entry.key, entry.value.unwrap_or_default()));
    let rows = reader.get_row_iter(None).expect("rows").collect::<Result<_, _>>().expect("whole rows");
    (rows, about.collect())
}

fn launches(statistics: &str) -> Result<Vec<u8>, ColumnsError> {
    write_launches(statistics.as_bytes(), Vec::new())
}

fn value<'a>(row: &'a Row, name: &str) -> &'a Field {
    let column = row.get_column_iter().find(|(column, _)| *column == name);
    column.unwrap_or_else(|| panic!("no column {name}")).1
}

#[test]
fn row_has_the_fields_and_counters_of_a_launch() {
    let (rows, about) = rows(launches(RUN).expect("written"));
    assert_eq!(rows.len(), 2);
    assert_eq!(value(&rows[0], "kernel"), &Field::Str("f(int)".to_owned()));
    assert_eq!(value(&rows[0], "mangled"), &Field::Str("_Z1fi".to_owned()));
    assert_eq!(value(&rows[1], "mangled"), &Field::Str("main".to_owned()));
    assert_eq!(value(&rows[0], "grid_y"), &Field::Long(2));
    assert_eq!(value(&rows[1], "shared"), &Field::Bool(true));
    assert_eq!(value(&rows[1], "occupancy.theoretical"), &Field::Double(100.0));
    assert_eq!(value(&rows[0], "l2.hits"), &Field::Long(7));
    assert_eq!(value(&rows[1], "l2.hit_rate"), &Field::Double(1.5));
    assert!(about.contains(&("voltsim.partial".to_owned(), "ended by SIGTERM".to_owned())), "{about:?}");
    assert!(about.contains(&("voltsim.version".to_owned(), "1".to_owned())), "{about:?}");
}

#[test]
fn counter_that_is_not_modelled_is_null() {
    let (rows, _) = rows(launches(RUN).expect("written"));
    assert_eq!(value(&rows[0], "l1.hits"), &Field::Null);
    assert_eq!(value(&rows[0], "l1.hit_rate"), &Field::Null);
}

#[test]
fn series_have_a_row_for_each_point() {
    let series = write_series(RUN.as_bytes(), || Ok(Vec::new())).expect("written").expect("series");
    let (rows, _) = rows(series);
    let of = |name: &str| rows.iter().map(|row| value(row, name).to_string()).collect::<Vec<_>>();
    assert_eq!(of("launch"), ["1", "1", "3"]);
    assert_eq!(of("first_cycle"), ["0", "60", "0"]);
    assert_eq!(of("gpu.cycles"), ["60", "40", "9"]);
    assert_eq!(of("l2.hits"), ["7", "0", "0"]);
    assert_eq!(of("l1.hits"), ["null", "null", "null"]);
}

#[test]
fn run_without_series_makes_no_file_of_series() {
    let run = RUN.replace("\"series\"", "\"source_counts\"");
    let made = write_series(run.as_bytes(), || -> Result<Vec<u8>, _> { panic!("a file was made") });
    assert!(made.expect("read").is_none());
}

#[test]
fn many_launches_are_several_row_groups() {
    let launch = |number: usize| format!("{{\"launch\": {number}, \"kernel\": \"k\"}}");
    let all: Vec<String> = (1..=5000).map(launch).collect();
    let file = launches(&format!("{{\"launches\": [{}]}}", all.join(","))).expect("written");
    assert!(file.len() < 100_000, "{} bytes", file.len());
    let reader = SerializedFileReader::new(bytes::Bytes::from(file.clone())).expect("a Parquet file");
    assert_eq!(reader.num_row_groups(), 3);
    let (rows, _) = rows(file);
    let numbers = rows.iter().map(|row| value(row, "launch").to_string());
    assert!(numbers.eq((1..=5000).map(|number| number.to_string())));
}

#[test]
fn run_without_launches_has_no_rows() {
    let (rows, about) = rows(launches("{\"gpu\": \"v100\", \"launches\": []}").expect("written"));
    assert!(rows.is_empty());
    assert_eq!(about.first(), Some(&("voltsim.gpu".to_owned(), "v100".to_owned())));
}

#[test]
fn launch_with_other_fields_is_an_error() {
    let said = |run: &str| launches(run).expect_err("refused").to_string();
    let more = r#"{"launches": [{"launch": 1, "kernel": "k"}, {"launch": 2, "kernel": "k", "x": 1}]}"#;
    assert_eq!(said(more), "launch 2: the first launch has no field x");
    let other = r#"{"launches": [{"launch": 1, "kernel": "k"}, {"launch": 2, "kernel": 5}]}"#;
    assert_eq!(said(other), "launch 2: field kernel must be a text");
    assert!(said("[1]").contains("an object with the launches of a run"), "{}", said("[1]"));
    assert_eq!(said("{}"), "the statistics have no list of launches");
}

#[test]
fn output_that_fails_is_an_error_of_the_system() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let failed = write_launches(RUN.as_bytes(), Full).map(|_| ()).expect_err("full");
    let ColumnsError::Output(error) = failed else { panic!("{failed}") };
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn same_statistics_give_the_same_bytes() {
    let (first, second) = (launches(RUN).expect("written"), launches(RUN).expect("written"));
    assert_eq!(first, second);
}
