//! Measured times of kernel configurations: a row a configuration.

use crate::error::{Error, Result};
use std::path::Path;

/// A card with measured configurations.
pub(super) struct Card {
    /// Name on the command line.
    pub(super) name: &'static str,
    /// GPU of Voltsim.
    pub(super) gpu: &'static str,
    /// Virtual architecture that the configurations are compiled for.
    pub(super) architecture: &'static str,
    /// Measurements, from the root of the checkout.
    pub(super) table: &'static str,
    /// Column with the time in milliseconds. The columns before it are parameters.
    time: &'static str,
}

/// The measured cards.
pub(super) const CARDS: [Card; 2] = [
    Card {
        name: "v100",
        gpu: "v100",
        architecture: "compute_70",
        table: "evaluation/measurements/tuning-convolution-v100.csv",
        time: "median_ms",
    },
    Card {
        name: "rtx2070s",
        gpu: "rtx2070s",
        architecture: "compute_75",
        table: "evaluation/measurements/tuning-convolution-rtx2070s.csv",
        time: "median_ms",
    },
];

impl Card {
    /// The card with a name.
    pub(super) fn named(name: &str) -> Option<&'static Card> {
        CARDS.iter().find(|card| card.name == name)
    }
}

/// A configuration with its measured time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Names and values of the parameters.
    pub(super) parameters: Vec<(String, u64)>,
    /// Time of a launch on the card in microseconds.
    pub(super) microseconds: f64,
}

impl Row {
    /// The values, as the page names a row: `15,15,32,4,1,4,0,0`.
    pub(super) fn name(&self) -> String {
        let values: Vec<String> = self.parameters.iter().map(|(_, value)| value.to_string()).collect();
        values.join(",")
    }

    /// Value of a parameter.
    pub(super) fn value(&self, parameter: &str) -> Option<u64> {
        self.parameters.iter().find(|(name, _)| name == parameter).map(|(_, value)| *value)
    }
}

/// Reads the measurements of a card. Lines that start with `#` are remarks.
pub(super) fn read(path: &Path, text: &str, card: &Card) -> Result<Vec<Row>> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
    let wrong = |line, form| Error::Table { path: path.to_owned(), line, form };
    let (line, head) = lines.next().ok_or_else(|| wrong(1, "a row of column names"))?;
    let names: Vec<&str> = head.split(',').map(str::trim).collect();
    let time = names.iter().position(|name| *name == card.time);
    let time = time.ok_or_else(|| wrong(line, "a row of column names with the column of times"))?;
    let row = |(line, text): (usize, &str)| {
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        let number =
            |field: &&str| field.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
        let milliseconds = fields.get(time).and_then(number);
        let values: Option<Vec<u64>> = fields.iter().take(time).map(|field| field.parse().ok()).collect();
        match (milliseconds, values) {
            (Some(milliseconds), Some(values)) if fields.len() == names.len() => {
                let names = names.iter().map(|name| (*name).to_owned());
                let parameters = names.zip(values).collect();
                Ok(Row { parameters, microseconds: 1e3 * milliseconds })
            }
            _ => Err(wrong(line, "whole parameters, a positive time, and a field for each column")),
        }
    };
    lines.map(row).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const TABLE: &str = "# origin\nwidth,tile,median_ms,cv\n32,4,0.7,0.01\n64,1,1.5,0.02\n";

    fn rows(text: &str) -> Result<Vec<Row>> {
        read(Path::new("table.csv"), text, &CARDS[0])
    }

    #[test]
    fn columns_before_the_time_are_parameters() {
        let rows = rows(TABLE).unwrap();
        let parameters = vec![("width".to_owned(), 32), ("tile".to_owned(), 4)];
        assert_eq!(rows[0], Row { parameters, microseconds: 700.0 });
        assert_eq!((rows[1].name(), rows[1].value("tile"), rows.len()), ("64,1".to_owned(), Some(1), 2));
    }

    #[test]
    fn malformed_lines_are_named() {
        for (text, line) in [
            ("", 1),
            ("a,b\n1,2\n", 1),
            ("a,median_ms\n1,2\nx,2\n", 3),
            ("a,median_ms\n1,0\n", 2),
            ("a,median_ms\n1,nan\n", 2),
            ("a,median_ms\n1\n", 2),
            ("a,median_ms\n1,2,3\n", 2),
        ] {
            let said = rows(text).unwrap_err().to_string();
            assert!(said.starts_with(&format!("table.csv:{line}: ")), "{said}");
        }
    }

    #[test]
    fn committed_measurements_are_read() {
        let root = crate::workspace::Workspace::find().root;
        for card in &CARDS {
            let path = root.join(card.table);
            let rows = read(&path, &std::fs::read_to_string(&path).unwrap(), card).unwrap();
            assert_eq!((rows.len(), rows[0].parameters.len()), (2884, 8));
        }
    }
}
