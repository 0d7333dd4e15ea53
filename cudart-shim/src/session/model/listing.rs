//! Listings: PTX of timed kernels with their lines of CUDA source, for counts by program counter.

use functional::engine::program::Program;
use functional::fault::Spot;
use launch_report::{ListedFile, ListedLine, Listing};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Most bytes of a source file that is read.
const MOST_BYTES: u64 = 4 << 20;
/// Most characters of a line.
const MOST_CHARACTERS: usize = 200;

/// The listing of a kernel with every function that it can call.
pub(super) fn of(program: &Program) -> Listing {
    let mut files: Vec<String> = Vec::new();
    let mut lines = Vec::new();
    for spot in program.spots() {
        let source = (spot.line > 0 && !spot.file.is_empty()).then(|| {
            let known = files.iter().position(|file| *file == spot.file);
            let file = known.unwrap_or_else(|| {
                files.push(spot.file.clone());
                files.len() - 1
            });
            (file as u32, spot.line)
        });
        let Spot { function, instruction, place, .. } = spot;
        lines.push(ListedLine { line: place.line, function, text: cut(&instruction), source });
    }
    let of_file = |(number, name): (u32, String)| {
        let sources = lines.iter().filter_map(|line: &ListedLine| line.source);
        let wanted: BTreeSet<u32> =
            sources.filter(|(file, _)| *file == number).map(|(_, line)| line).collect();
        ListedFile { lines: texts(Path::new(&name), &wanted), name }
    };
    let files = (0..).zip(files).map(of_file).collect();
    Listing { number: program.number, kernel: program.kernel().name.clone(), files, lines }
}

/// These lines of a source file; none if it is unreadable or no text.
fn texts(file: &Path, wanted: &BTreeSet<u32>) -> Vec<(u32, String)> {
    let is_small = fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() <= MOST_BYTES);
    let text = is_small.then(|| fs::read_to_string(file).ok()).flatten().unwrap_or_default();
    let numbered = (1..).zip(text.lines());
    numbered.filter(|(number, _)| wanted.contains(number)).map(|(number, line)| (number, cut(line))).collect()
}

fn cut(line: &str) -> String {
    line.chars().take(MOST_CHARACTERS).collect()
}
