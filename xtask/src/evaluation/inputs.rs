//! Input files of programs, the same bytes in every run. Sizes are those of the measured launches;
//! contents are made up.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::error::{Error, Result};

/// An input file of a program.
pub(super) enum Input {
    /// Words.
    Text(&'static str, &'static str),
    /// A count, then the numbers from 0, one a line.
    Keys(&'static str, u32),
    /// Numbers between two bounds, one a line.
    Numbers(&'static str, u32, f64, f64),
    /// Rows, columns and values of a matrix, as Parboil writes it.
    Matrix(&'static str, u32, u32),
    /// Grey values of a portable graymap of a width and a height.
    Graymap(&'static str, u32, u32),
    /// Width, height and 16-bit values of a picture.
    Picture(&'static str, u16, u16),
    /// Numbers of samples and of voxels; seven lists of values.
    Trajectory(&'static str, u32, u32),
    /// Lines of a number and features.
    Points(&'static str, u32, u32),
}

/// Commands of Rodinia's `b+tree`. The program reads behind the end of the file up to a byte of zero.
/// Without that byte, garbage there can be a command that reads standard input for ever.
pub(super) const TREE_COMMANDS: Input = Input::Text("commands.txt", "j 6000 3000\nk 10000\n\0");

impl Input {
    /// Writes the file into a folder.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let mut values = Values(1);
        let (name, bytes) = match *self {
            Input::Text(name, text) => (name, text.as_bytes().to_vec()),
            Input::Keys(name, count) => (name, lines(std::iter::once(count).chain(0..count))),
            Input::Numbers(name, count, low, high) => {
                (name, lines((0..count).map(|_| format!("{:.6}", low + (high - low) * values.share()))))
            }
            Input::Matrix(name, rows, columns) => {
                let mut text = format!("{rows} {columns} ");
                for _ in 0..rows * columns {
                    // Writing to a string cannot fail.
                    let _ = write!(text, "{:.3} ", values.share());
                }
                (name, text.into_bytes())
            }
            Input::Graymap(name, width, height) => {
                let mut text = format!("P2\n# made up\n{width} {height}\n255\n").into_bytes();
                text.extend(lines((0..width * height).map(|_| 1 + (254.0 * values.share()) as u32)));
                (name, text)
            }
            Input::Picture(name, width, height) => {
                let pixels =
                    (0..u32::from(width) * u32::from(height)).map(|_| (256.0 * values.share()) as u16);
                (name, [width, height].into_iter().chain(pixels).flat_map(u16::to_le_bytes).collect())
            }
            Input::Trajectory(name, samples, voxels) => {
                let floats = (0..5 * samples + 3 * voxels).map(|_| values.share() as f32);
                let mut bytes: Vec<u8> = [samples, voxels].into_iter().flat_map(u32::to_le_bytes).collect();
                bytes.extend(floats.flat_map(f32::to_le_bytes));
                (name, bytes)
            }
            Input::Points(name, points, features) => {
                let line = |point| {
                    let features: Vec<String> =
                        (0..features).map(|_| format!("{:.3}", values.share())).collect();
                    format!("{point} {}", features.join(" "))
                };
                (name, lines((0..points).map(line)))
            }
        };
        let file = folder.join(name);
        fs::write(&file, bytes).map_err(Error::file(&file))
    }
}

fn lines(values: impl Iterator<Item = impl std::fmt::Display>) -> Vec<u8> {
    let mut text = String::new();
    for value in values {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{value}");
    }
    text.into_bytes()
}

/// Reproducible numbers (Knuth's linear congruential generator MMIX).
struct Values(u64);

impl Values {
    /// The next number from 0 to 1.
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1_u32 << 31)
    }
}
