//! NVTX ranges of launches: the names that were open at each launch, and sums by path.

use std::collections::HashMap;

use serde_json::{Value, json};

/// Ranges of launches, names kept once.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    names: Vec<String>,
    places: HashMap<String, usize>,
    /// Places of the open ranges' names by launch, outermost first.
    of_launch: HashMap<u64, Vec<usize>>,
    /// Sums by path, in the order of first launches.
    sums: Vec<Sum>,
    sum_places: HashMap<Vec<usize>, usize>,
}

/// Launches in a range, those of inner ranges included.
#[derive(Debug)]
struct Sum {
    path: Vec<usize>,
    launches: u64,
    cycles: u64,
}

impl Ranges {
    /// Keeps the ranges of a launch; nothing without ranges.
    pub(super) fn add<'n>(&mut self, launch: u64, cycles: u64, ranges: impl IntoIterator<Item = &'n str>) {
        let path: Vec<usize> = ranges.into_iter().map(|name| self.place(plain(name))).collect();
        for depth in 1..=path.len() {
            let sum = self.sum_of(&path[..depth]);
            sum.launches += 1;
            sum.cycles += cycles;
        }
        if !path.is_empty() {
            self.of_launch.insert(launch, path);
        }
    }

    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        self.names.push(name.to_owned());
        self.places.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }

    fn sum_of(&mut self, path: &[usize]) -> &mut Sum {
        let place = match self.sum_places.get(path) {
            Some(place) => *place,
            None => {
                self.sum_places.insert(path.to_vec(), self.sums.len());
                self.sums.push(Sum { path: path.to_vec(), launches: 0, cycles: 0 });
                self.sums.len() - 1
            }
        };
        &mut self.sums[place]
    }

    fn named(&self, path: &[usize]) -> Vec<&str> {
        path.iter().filter_map(|place| self.names.get(*place)).map(String::as_str).collect()
    }

    /// Names of the ranges of a launch, outermost first.
    pub(super) fn of(&self, launch: u64) -> Option<Vec<&str>> {
        self.of_launch.get(&launch).map(|path| self.named(path))
    }

    /// Sums by path; `cycles` are those of all launches.
    pub(super) fn json(&self, cycles: u64) -> impl Iterator<Item = Value> {
        self.sums.iter().map(move |sum| {
            json!({
                "path": self.named(&sum.path),
                "launches": sum.launches,
                "cycles": sum.cycles,
                "share": 100.0 * sum.cycles as f64 / cycles.max(1) as f64,
            })
        })
    }
}

/// A range without the numbers that PyTorch adds to an operator: `aten::conv2d, seq = 5`.
fn plain(name: &str) -> &str {
    name.split_once(", seq =").map_or(name, |(operator, _)| operator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_a_range_include_those_inside() {
        let mut ranges = Ranges::default();
        ranges.add(1, 100, ["forward", "aten::conv2d, seq = 5, op_id = 7"]);
        ranges.add(2, 50, ["forward", "aten::conv2d, seq = 6"]);
        ranges.add(3, 50, []);
        ranges.add(4, 200, ["backward"]);
        let sums: Vec<Value> = ranges.json(400).collect();
        let of = |place: usize| (sums[place]["path"].clone(), sums[place]["cycles"].clone());
        assert_eq!(of(0), (json!(["forward"]), json!(150)));
        assert_eq!(of(1), (json!(["forward", "aten::conv2d"]), json!(150)));
        assert_eq!(of(2), (json!(["backward"]), json!(200)));
        assert_eq!(sums[2]["share"], json!(50.0));
        assert_eq!(ranges.of(3), None);
    }
}
