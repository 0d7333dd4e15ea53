//! What a run has counted, launch by launch, and how it is written.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::statistics::Counter;

/// Version of the JSON form.
const VERSION: u32 = 1;

/// How statistics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// An object with the launches and their counters.
    Json,
    /// A row for each launch, a column for each counter.
    Csv,
    /// For people.
    Text,
}

impl Format {
    /// By the ending of a file's name; text for all but `.json` and `.csv`.
    pub fn of_file(path: &Path) -> Format {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => Format::Json,
            Some("csv") => Format::Csv,
            _ => Format::Text,
        }
    }
}

/// What one launch has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchRecord {
    /// Number of the launch in the run, from 1.
    pub launch: u64,
    /// Name of the kernel, as in the module (mangled).
    pub kernel: String,
    /// Number of the stream.
    pub stream: u64,
    /// CTAs along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA along x, y, z.
    pub block: [u32; 3],
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Bytes of shared memory of a CTA.
    pub shared_bytes: u32,
    /// Core cycle at which it began.
    pub start: u64,
    /// Core cycles that it took.
    pub cycles: u64,
    /// What was counted meanwhile, in the order of the units.
    pub counters: Vec<(&'static Counter, u64)>,
}

/// All launches of a run.
#[derive(Debug, Clone, Default)]
pub struct Report {
    gpu: String,
    launches: Vec<LaunchRecord>,
}

impl Report {
    /// Of a run on a GPU of this name.
    pub fn new(gpu: &str) -> Report {
        Report { gpu: gpu.to_owned(), launches: Vec::new() }
    }

    /// Adds a launch.
    pub fn add(&mut self, launch: LaunchRecord) {
        self.launches.push(launch);
    }

    /// The launches.
    pub fn launches(&self) -> &[LaunchRecord] {
        &self.launches
    }

    /// All of it, written in a format.
    pub fn text(&self, format: Format) -> String {
        match format {
            Format::Json => self.json(),
            Format::Csv => self.csv(),
            Format::Text => self.plain(),
        }
    }

    fn json(&self) -> String {
        let launches: Vec<Value> = self.launches.iter().map(launch_json).collect();
        let all = json!({ "version": VERSION, "gpu": self.gpu, "launches": launches });
        format!("{all:#}\n")
    }

    fn csv(&self) -> String {
        let mut text = "launch,kernel,stream,grid,block,registers,shared_bytes,start,cycles".to_owned();
        let columns = self.launches.first().map_or(&[][..], |launch| &launch.counters);
        for (counter, _) in columns {
            let _ = write!(text, ",{}.{}", counter.section, counter.name);
        }
        text.push('\n');
        for launch in &self.launches {
            let LaunchRecord {
                launch: number, kernel, stream, registers, shared_bytes, start, cycles, ..
            } = launch;
            let (grid, block) = (size(launch.grid), size(launch.block));
            let _ = write!(
                text,
                "{number},\"{kernel}\",{stream},{grid},{block},{registers},{shared_bytes},{start},{cycles}"
            );
            for (_, value) in &launch.counters {
                let _ = write!(text, ",{value}");
            }
            text.push('\n');
        }
        text
    }

    fn plain(&self) -> String {
        let mut text = String::new();
        for launch in &self.launches {
            let (grid, block) = (size(launch.grid), size(launch.block));
            let _ = writeln!(
                text,
                "launch {} {} grid {grid} block {block}: {} cycles",
                launch.launch, launch.kernel, launch.cycles
            );
            for (counter, value) in &launch.counters {
                let name = format!("{}.{}", counter.section, counter.name);
                let _ = writeln!(text, "  {name:<40} {value:>16} {}", counter.unit);
            }
        }
        text
    }
}

fn launch_json(launch: &LaunchRecord) -> Value {
    let counters: Map<String, Value> = launch
        .counters
        .iter()
        .map(|(counter, value)| (format!("{}.{}", counter.section, counter.name), json!(value)))
        .collect();
    json!({
        "launch": launch.launch,
        "kernel": launch.kernel,
        "stream": launch.stream,
        "grid": launch.grid,
        "block": launch.block,
        "registers": launch.registers,
        "shared_bytes": launch.shared_bytes,
        "start": launch.start,
        "cycles": launch.cycles,
        "counters": counters,
    })
}

fn size([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}

#[cfg(test)]
mod tests {
    use super::*;

    static SECTORS: Counter =
        Counter { section: "l1", name: "sectors", meaning: "", unit: "sectors", metric: "" };

    fn report() -> Report {
        let mut report = Report::new("tiny");
        report.add(LaunchRecord {
            launch: 1,
            kernel: "sum".to_owned(),
            stream: 0,
            grid: [2, 1, 1],
            block: [32, 1, 1],
            registers: 16,
            shared_bytes: 0,
            start: 10,
            cycles: 100,
            counters: vec![(&SECTORS, 4)],
        });
        report
    }

    #[test]
    fn the_json_form_has_each_counter_under_its_section_and_name() {
        let value: Value = serde_json::from_str(&report().text(Format::Json)).unwrap();
        assert_eq!(value["launches"][0]["counters"]["l1.sectors"], 4);
    }

    #[test]
    fn the_csv_form_has_a_row_for_each_launch() {
        let text = report().text(Format::Csv);
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows[0].ends_with(",cycles,l1.sectors"));
        assert_eq!(rows[1], "1,\"sum\",0,2x1x1,32x1x1,16,0,10,100,4");
    }

    #[test]
    fn the_ending_of_a_file_chooses_the_format() {
        assert_eq!(Format::of_file(Path::new("a.json")), Format::Json);
        assert_eq!(Format::of_file(Path::new("a")), Format::Text);
    }
}
