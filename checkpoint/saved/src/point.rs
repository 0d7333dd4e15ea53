//! Points of a run at which checkpoints are made.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A point of a run: before launch `kernel`, or inside it (Lew et al., section III-F).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Launch number, from 1. All earlier launches have completed.
    pub kernel: u64,
    /// Position inside the launch; `None` before its first CTA.
    pub inside: Option<Inside>,
}

/// Position inside a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inside {
    /// CTAs have begun. In a timed launch the window is empty: as many CTAs as precede it have
    /// completed.
    Window(Window),
    /// Core cycles into a timed launch, rounded up to the end of an epoch.
    Cycle(u64),
}

/// CTAs of a launch that have begun and not completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// CTAs completed, x fastest.
    pub cta: u64,
    /// CTAs in flight, from that one on.
    pub ctas: u64,
    /// Warp instructions executed by each of them, at most.
    pub instructions: u64,
}

/// A malformed point.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a point of a run; write kernel=N, kernel=N,cta=M,ctas=T,instructions=Y, or for a timed launch \
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
    fn point_round_trips_as_text() {
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
    fn instructions_without_ctas_mean_one_cta() {
        let point: Point = "kernel=1,cta=3,instructions=5".parse().unwrap();
        assert_eq!(point.inside, Some(Inside::Window(Window { cta: 3, ctas: 1, instructions: 5 })));
    }

    #[test]
    fn malformed_point_is_rejected() {
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
