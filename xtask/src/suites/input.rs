//! Input files of the suites' programs, generated for each run with equal bytes.

use super::graph::{Format, Graph, Shape};
use crate::error::{Error, Result};
use crate::random::Random;
use serde::Deserialize;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// One input file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// File name in the run's folder, possibly with subfolders.
    pub(super) file: String,
    /// File or folder of the suite to link to, below the suite's root.
    copy: Option<String>,
    /// Lines of text.
    lines: Option<Vec<Line>>,
    /// Repetitions of the lines.
    #[serde(default = "once")]
    times: usize,
    /// Numbers in binary form.
    values: Option<Vec<Values>>,
    /// A graph or its solution.
    graph: Option<Format>,
    shape: Option<Shape>,
    /// Points along a side of a triangulated square. The name gets the endings `.node`, `.ele`
    /// and `.poly`.
    mesh: Option<usize>,
}

fn once() -> usize {
    1
}

/// Lines of one form.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Number of lines.
    #[serde(default = "once")]
    count: usize,
    /// The line. `{row}` is the line's number from 1, and `{row+n}` a later one. `{a..b}` is a
    /// random number of that range, and `{+a..b}` such a number or its negative; bounds with a
    /// point give six decimals. `{LETTERS:n}` is a word of n random letters.
    line: String,
}

/// Numbers, little-endian by default.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Values {
    Words {
        words: Vec<u32>,
        #[serde(default)]
        big_endian: bool,
    },
    Halves {
        halves: Vec<u16>,
    },
    Random {
        random: Kind,
        count: usize,
        low: f64,
        high: f64,
    },
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    F32,
    U8,
    U16,
    U32,
}

impl Input {
    /// Writes the file into `folder`; `root` is the suite's folder.
    pub(super) fn write(&self, folder: &Path, root: &Path) -> Result<()> {
        let file = folder.join(&self.file);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(Error::file(parent))?;
        }
        if let Some(copy) = &self.copy {
            let source = root.join(copy);
            let source = fs::canonicalize(&source).map_err(Error::file(&source))?;
            return std::os::unix::fs::symlink(source, &file).map_err(Error::file(&file));
        }
        if let Some(side) = self.mesh {
            for (ending, text) in mesh(side) {
                let file = file.with_added_extension(ending);
                fs::write(&file, text).map_err(Error::file(&file))?;
            }
            return Ok(());
        }
        fs::write(&file, self.bytes()).map_err(Error::file(&file))
    }

    /// True if the input has content.
    #[cfg(test)]
    pub(super) fn is_whole(&self) -> bool {
        let sources = [
            self.copy.is_some(),
            self.lines.is_some(),
            self.values.is_some(),
            self.graph.is_some() && self.shape.is_some(),
            self.mesh.is_some(),
        ];
        sources.into_iter().filter(|source| *source).count() == 1
    }

    #[cfg(test)]
    pub(super) fn graph(&self) -> Option<Graph> {
        self.shape.map(Graph::new)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut random = Random::new(1);
        let mut bytes = Vec::new();
        for _ in 0..self.times {
            for form in self.lines.iter().flatten() {
                for row in 1..=form.count {
                    bytes.extend(fill(&form.line, row, &mut random).into_bytes());
                    bytes.push(b'\n');
                }
            }
        }
        self.values.iter().flatten().for_each(|values| values.append(&mut bytes, &mut random));
        if let (Some(format), Some(shape)) = (self.graph, self.shape) {
            bytes.extend(Graph::new(shape).file(format));
        }
        bytes
    }
}

impl Values {
    fn append(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        match self {
            Self::Words { words, big_endian: true } => {
                bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()))
            }
            Self::Words { words, .. } => bytes.extend(words.iter().flat_map(|word| word.to_le_bytes())),
            Self::Halves { halves } => bytes.extend(halves.iter().flat_map(|half| half.to_le_bytes())),
            Self::Random { random: kind, count, low, high } => {
                for _ in 0..*count {
                    let value = random.between(*low, *high);
                    match kind {
                        Kind::F32 => bytes.extend((value as f32).to_le_bytes()),
                        Kind::U8 => bytes.push(value as u8),
                        Kind::U16 => bytes.extend((value as u16).to_le_bytes()),
                        Kind::U32 => bytes.extend((value as u32).to_le_bytes()),
                    }
                }
            }
        }
    }
}

/// A line of a form.
fn fill(form: &str, row: usize, random: &mut Random) -> String {
    let mut text = String::new();
    let mut rest = form;
    while let Some((before, behind)) = rest.split_once('{') {
        let (place, after) = behind.split_once('}').unwrap_or((behind, ""));
        text.push_str(before);
        text.push_str(&value(place, row, random));
        rest = after;
    }
    text + rest
}

/// Value of a placeholder in a form; unknown ones stay.
fn value(place: &str, row: usize, random: &mut Random) -> String {
    if let Some(later) = place.strip_prefix("row") {
        return (row + later.trim_start_matches('+').parse().unwrap_or(0)).to_string();
    }
    if let Some((letters, count)) = place.split_once(':') {
        let letters: Vec<char> = letters.chars().collect();
        let mut letter = |_| letters.get(random.below(letters.len())).copied().unwrap_or_default();
        return (0..count.parse().unwrap_or(0)).map(&mut letter).collect();
    }
    let (sign, range) = match place.strip_prefix('+') {
        Some(range) if random.below(2) == 0 => ("-", range),
        Some(range) => ("", range),
        None => ("", place),
    };
    let bounds = range.split_once("..");
    let Some((low, high)) = bounds.and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)))
    else {
        return format!("{{{place}}}");
    };
    let number = random.between(low, high);
    let is_whole = bounds.is_some_and(|(low, high)| !low.contains('.') && !high.contains('.'));
    if is_whole { format!("{sign}{}", number.floor()) } else { format!("{sign}{number:.6}") }
}

/// Files of a triangulated unit square with `side` points along an edge. Cells are rectangles, so
/// the triangulation is Delaunay; cells near the left edge are thin.
fn mesh(side: usize) -> [(&'static str, String); 3] {
    let at = |x: usize, y: usize| y * side + x;
    let along = |index: usize, axis: usize| {
        let is_inside = index > 0 && index + 1 < side;
        let shift = if is_inside { (index * 7919 + axis * 31) % 5 } else { 0 };
        (index as f64 + 0.026 * shift as f64) / (side - 1) as f64
    };
    let mut nodes = format!("{} 2 0 0\n", side * side);
    for y in 0..side {
        for x in 0..side {
            let _ = writeln!(nodes, "{} {} {}", at(x, y), along(x, 0).powf(1.5), along(y, 1));
        }
    }
    let cells = side - 1;
    let mut triangles = format!("{} 3 0\n", 2 * cells * cells);
    for y in 0..cells {
        for x in 0..cells {
            let first = 2 * (y * cells + x);
            let _ = writeln!(triangles, "{first} {} {} {}", at(x, y), at(x + 1, y), at(x + 1, y + 1));
            let _ = writeln!(triangles, "{} {} {} {}", first + 1, at(x, y), at(x + 1, y + 1), at(x, y + 1));
        }
    }
    let mut border = format!("0 2 0 1\n{} 0\n", 4 * cells);
    for step in 0..cells {
        let next = step + 1;
        let sides = [
            (at(step, 0), at(next, 0)),
            (at(cells, step), at(cells, next)),
            (at(next, cells), at(step, cells)),
            (at(0, next), at(0, step)),
        ];
        for (index, (from, to)) in sides.into_iter().enumerate() {
            let _ = writeln!(border, "{} {from} {to}", 4 * step + index);
        }
    }
    border.push_str("0\n");
    [("node", nodes), ("ele", triangles), ("poly", border)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(toml: &str) -> Input {
        toml::from_str(toml).unwrap()
    }

    #[test]
    fn placeholders_of_a_line_are_filled() {
        let input = input(
            "file = 'a'\ntimes = 2\nlines = [{ line = 'head' }, { count = 2, line = '{row+5} {3..4} {+7..8} {2.0..2.0} {C:3}' }]",
        );
        let text = String::from_utf8(input.bytes()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 6);
        assert_eq!(lines[0], "head");
        assert!(["7 3 7 2.000000 CCC", "7 3 -7 2.000000 CCC"].contains(&lines[2]));
        assert_eq!(input.bytes(), input.bytes());
    }

    #[test]
    fn values_are_written_in_order() {
        let input = input(
            "file = 'a'\nvalues = [{ words = [1], big_endian = true }, { halves = [2, 3] }, { random = 'u8', count = 2, \
             low = 5, high = 5.5 }]",
        );
        assert_eq!(input.bytes(), [0, 0, 0, 1, 2, 0, 3, 0, 5, 5]);
    }

    #[test]
    fn mesh_has_two_triangles_a_cell_and_a_closed_border() {
        let [(_, nodes), (_, triangles), (_, border)] = mesh(4);
        assert_eq!(nodes.lines().count(), 17);
        assert_eq!(triangles.lines().count(), 1 + 18);
        assert_eq!(border.lines().count(), 3 + 12);
        let mut degree = [0; 16];
        for line in border.lines().skip(2).take(12) {
            let ends: Vec<usize> = line.split(' ').skip(1).map(|word| word.parse().unwrap()).collect();
            ends.into_iter().for_each(|node| degree[node] += 1);
        }
        assert!(degree.iter().all(|degree| [0, 2].contains(degree)));
    }
}
