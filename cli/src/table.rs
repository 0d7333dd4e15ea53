//! Plain text tables with aligned columns.

use std::io::{self, Write};

/// Writes `rows` under `heading`, each column as wide as its widest cell, two spaces between
/// columns.
pub(crate) fn write<const COLUMNS: usize>(
    out: &mut dyn Write,
    heading: [&str; COLUMNS],
    rows: &[[String; COLUMNS]],
) -> io::Result<()> {
    let mut widths = heading.map(|cell| cell.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    write_row(out, &heading, &widths)?;
    rows.iter().try_for_each(|row| write_row(out, row, &widths))
}

fn write_row(out: &mut dyn Write, cells: &[impl AsRef<str>], widths: &[usize]) -> io::Result<()> {
    let padded: Vec<String> =
        cells.iter().zip(widths).map(|(cell, &width)| format!("{:<width$}", cell.as_ref())).collect();
    writeln!(out, "{}", padded.join("  ").trim_end())
}
