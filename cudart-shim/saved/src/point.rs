//! Where in a run a checkpoint is made.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A point of a run: before launch `kernel`, or inside it (Lew et al., section III-F).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Number of the launch, from 1. All launches before it are over.
    pub kernel: u64,
    /// Where inside of the launch; without, none of its CTAs has started.
    pub inside: Option<Inside>,
}

/// Where inside of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inside {
    /// CTAs have begun. Of a launch that is timed, as many have ended as are before the window, which is empty.
    Window(Window),
    /// The launch is timed, and so many core cycles have passed: the first end of an epoch.
    Cycle(u64),
}

/// CTAs of a launch that have begun and not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The CTAs before this one, x fastest, are over.
    pub cta: u64,
    /// So many CTAs from that one on have begun.
    pub ctas: u64,
    /// Warp instructions that each of these has executed, if it had as many.
    pub instructions: u64,
}

/// Text that names no point.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no point of a run; write kernel=N, kernel=N,cta=M,ctas=T,instructions=Y, or of a launch that is timed \
     kernel=N,cycle=C, where N counts launches from 1"
)]
pub struct BadPoint(String);

impl FromStr for Point {
    type Err = BadPoint;

    fn from_str(text: &str) -> Result<Point, BadPoint> {
        let bad = || BadPoint(text.to_owned());
        let mut kernel = None;
        let [mut cta, mut ctas, mut instructions, mut cycle] = [None; 4];
        for part in text.split(',').map(str::trim) {
            let (name, value) = part.split_once('=').ok_or_else(bad)?;
            let place = match name {
                "kernel" => &mut kernel,
                "cta" => &mut cta,
                "ctas" => &mut ctas,
                "instructions" => &mut instructions,
                "cycle" => &mut cycle,
                _ => return Err(bad()),
            };
            if place.replace(value.parse::<u64>().map_err(|_| bad())?).is_some() {
                return Err(bad());
            }
        }
        let has_window = cta.is_some() || ctas.is_some() || instructions.is_some();
        let window = Window {
            cta: cta.unwrap_or(0),
            ctas: ctas.unwrap_or(u64::from(instructions.is_some())),
            instructions: instructions.unwrap_or(0),
        };
        let kernel = kernel.filter(|number| *number > 0).ok_or_else(bad)?;
        let inside = match (has_window, cycle) {
            (true, Some(_)) => return Err(bad()),
            (true, None) => Some(Inside::Window(window)),
            (false, cycle) => cycle.map(Inside::Cycle),
        };
        Ok(Point { kernel, inside })
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel={}", self.kernel)?;
        match self.inside {
            Some(Inside::Window(Window { cta, ctas: 0, instructions: 0 })) => write!(f, ",cta={cta}"),
            Some(Inside::Window(Window { cta, ctas, instructions })) => {
                write!(f, ",cta={cta},ctas={ctas},instructions={instructions}")
            }
            Some(Inside::Cycle(cycle)) => write!(f, ",cycle={cycle}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_written_as_it_is_read() {
        for text in [
            "kernel=7",
            "kernel=7,cta=128,ctas=16,instructions=1000",
            "kernel=7,cta=9",
            "kernel=7,cycle=20000",
        ] {
            assert_eq!(text.parse::<Point>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn instructions_without_a_number_of_ctas_are_those_of_one() {
        let point: Point = "kernel=1,cta=3,instructions=5".parse().unwrap();
        assert_eq!(point.inside, Some(Inside::Window(Window { cta: 3, ctas: 1, instructions: 5 })));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "7",
            "kernel=0",
            "kernel=x",
            "cta=1",
            "cycle=1",
            "kernel=1,kernel=2",
            "kernel=1,warp=2",
            "kernel=-1",
            "kernel=1,cta=2,cycle=3",
        ] {
            assert!(text.parse::<Point>().is_err(), "{text}");
        }
    }
}
