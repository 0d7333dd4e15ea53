//! Values that are combined with each GPU of a plan: `l1.size=32..128KiB, dram.scheduler=fcfs|fr-fcfs`.

use std::iter::successors;

use launch_capture::Configuration;

use crate::failure::Failure;

/// Most configurations of a sweep.
const MOST: usize = 100_000;

/// All combinations of the configurations and the values, the last key fastest.
pub(super) fn combined(all: Vec<Configuration>, text: &str) -> Result<Vec<Configuration>, Failure> {
    let mut all = all;
    let mut keys: Vec<&str> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let refused = |reason: String| {
            Failure::new(format_args!("--vary {part}: {reason}"))
                .remedy("write KEY=A|B, KEY=A..B (doubling) or KEY=A..B:STEP, as in l1.size=16..128KiB")
        };
        let (key, values) = part.split_once('=').ok_or_else(|| refused("no `=` and no value".to_owned()))?;
        let key = key.trim();
        if keys.contains(&key) {
            return Err(refused("the key is given twice".to_owned()));
        }
        keys.push(key);
        let values = values.split('|').map(|value| of_range(value.trim())).collect::<Result<Vec<_>, _>>();
        let values = values.map_err(&refused)?.concat();
        let count = all.len().saturating_mul(values.len());
        if count > MOST {
            return Err(refused(format!("these are {count} configurations; {MOST} are possible")));
        }
        let with = |configuration: &Configuration, value: &String| {
            let change = format!("{key}={value}");
            let Configuration { name, gpu, set } = configuration;
            let set = set.iter().chain([&change]).cloned().collect();
            Configuration { name: format!("{name} {change}"), gpu: gpu.clone(), set }
        };
        all = all.iter().flat_map(|one| values.iter().map(|value| with(one, value))).collect();
    }
    Ok(all)
}

/// The values of `A`, `A..B` or `A..B:STEP`. The end's unit is the unit of all values.
fn of_range(text: &str) -> Result<Vec<String>, String> {
    let Some((start, rest)) = text.split_once("..") else {
        return if text.is_empty() { Err("a value is empty".to_owned()) } else { Ok(vec![text.to_owned()]) };
    };
    let (end, step) = rest.split_once(':').map_or((rest, None), |(end, step)| (end, Some(step)));
    let (end, unit) = number(end)?;
    let of_unit = |text: &str| match number(text)? {
        (number, of) if of.is_empty() || of == unit => Ok(number),
        _ => Err(format!("{text} has another unit than the end")),
    };
    let start = of_unit(start)?;
    let step = step.map(of_unit).transpose()?;
    match step {
        _ if start > end => return Err("the start is above the end".to_owned()),
        Some(0) => return Err("the step is 0".to_owned()),
        None if start == 0 => return Err("a range that doubles starts above 0".to_owned()),
        _ => {}
    }
    let next = |value: &u64| step.map_or_else(|| value.checked_mul(2), |step| value.checked_add(step));
    let values = successors(Some(start), next).take_while(|value| *value <= end).take(MOST + 1);
    Ok(values.map(|value| format!("{value}{unit}")).collect())
}

/// A whole number and its unit.
fn number(text: &str) -> Result<(u64, &str), String> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let number = digits.parse().map_err(|_| format!("`{text}` is no whole number"))?;
    Ok((number, unit.trim()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn of(text: &str) -> Result<Vec<String>, String> {
        let one =
            Configuration { name: "tiny".to_owned(), gpu: "tiny".to_owned(), set: vec!["a.b=1".to_owned()] };
        let all = combined(vec![one], text).map_err(|failure| failure.to_string())?;
        assert!(all.iter().all(|it| it.gpu == "tiny" && it.set[0] == "a.b=1"), "{all:?}");
        Ok(all.into_iter().map(|it| it.set[1..].join(" ")).collect())
    }

    #[test]
    fn ranges_double_or_step_in_the_unit_of_their_end() {
        assert_eq!(of("l1.size=16..64KiB").unwrap(), ["l1.size=16KiB", "l1.size=32KiB", "l1.size=64KiB"]);
        assert_eq!(
            of("l2.latency=80..100:10").unwrap(),
            ["l2.latency=80", "l2.latency=90", "l2.latency=100"]
        );
        assert_eq!(of("l1.size=16KiB..16KiB").unwrap(), ["l1.size=16KiB"]);
    }

    #[test]
    fn all_combinations_are_made_the_last_key_fastest() {
        let all = of("dram.scheduler=fcfs|fr-fcfs, l1.sets=1..2").unwrap();
        let first = ["dram.scheduler=fcfs l1.sets=1", "dram.scheduler=fcfs l1.sets=2"];
        assert_eq!(all[..2], first);
        assert_eq!(all.len(), 4);
        assert_eq!(of("").unwrap(), [""]);
    }

    #[test]
    fn wrong_values_are_refused_with_the_reason() {
        for (text, reason) in [
            ("l1.size", "no `=`"),
            ("l1.size=", "empty"),
            ("l1.size=4..2", "above the end"),
            ("l1.size=0..2", "above 0"),
            ("l1.size=1..9:0", "the step is 0"),
            ("l1.size=1MiB..4KiB", "another unit"),
            ("l1.size=a..b", "no whole number"),
            ("l1.size=1, l1.size=2", "twice"),
            ("l1.size=1..99999:1, l1.sets=1|2", "configurations"),
        ] {
            let said = of(text).unwrap_err();
            assert!(said.contains(reason), "{text}: {said}");
        }
    }
}
