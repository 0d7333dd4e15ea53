//! Comparison of two saved runs.

use std::collections::BTreeMap;
use std::fmt::Display;

use functional::memory::{Allocation, OtherRequest};

use crate::file::{DeviceState, SavedError, SavedRun};
use crate::step::{Asked, Step};

/// Most allocations of a device reported as present in one run only.
const MOST: usize = 20;

/// A run that could not be read.
#[derive(Debug)]
pub struct Unreadable {
    /// First (0) or second (1).
    pub run: usize,
    /// Reason.
    pub error: Box<SavedError>,
}

/// Differences of two runs, from their origin down to bytes of memory.
pub fn differences(one: &SavedRun, other: &SavedRun) -> Result<Vec<String>, Unreadable> {
    let (about, others) = of_both(one, other, SavedRun::about)?;
    let (about, others) = (about.to_string(), others.to_string());
    let mut found: Vec<String> =
        about.lines().zip(others.lines()).filter(|(line, other)| line != other).map(both).collect();
    found.extend(first_other_step(one, other)?);
    let (launch, other_launch) = of_both(one, other, SavedRun::launch)?;
    if launch != other_launch {
        found.push("the launch at the point differs".to_owned());
    }
    let (devices, mut others) = of_both(one, other, SavedRun::devices)?;
    for device in devices {
        match others.iter().position(|other| other.number == device.number) {
            Some(place) => found.extend(of_device(one, other, &device, &others.swap_remove(place))?),
            None => found.push(format!("device {}: in the first run only", device.number)),
        }
    }
    found.extend(others.iter().map(|device| format!("device {}: in the second run only", device.number)));
    Ok(found)
}

/// Reads a value of both runs.
fn of_both<T>(
    one: &SavedRun,
    other: &SavedRun,
    read: impl Fn(&SavedRun) -> Result<T, SavedError>,
) -> Result<(T, T), Unreadable> {
    Ok((read(one).map_err(of_run(0))?, read(other).map_err(of_run(1))?))
}

fn of_run(run: usize) -> impl Fn(SavedError) -> Unreadable {
    move |error| Unreadable { run, error: Box::new(error) }
}

/// First differing step. Files hold steps in the order of completion, which varies between streams
/// from run to run.
fn first_other_step(one: &SavedRun, other: &SavedRun) -> Result<Option<String>, Unreadable> {
    let (mut steps, mut others) = (one.steps().map_err(of_run(0))?, other.steps().map_err(of_run(1))?);
    // Steps read from one run only, by number.
    let [mut ahead, mut others_ahead] = [(); 2].map(|()| BTreeMap::<u64, Step>::new());
    loop {
        let step = steps.next().transpose().map_err(of_run(0))?;
        let other = others.next().transpose().map_err(of_run(1))?;
        if step.is_none() && other.is_none() {
            break;
        }
        let numbers = [&step, &other].map(|step| step.as_ref().map(|step| step.number));
        for (step, ahead) in [(step, &mut ahead), (other, &mut others_ahead)] {
            ahead.extend(step.map(|step| (step.number, step)));
        }
        for number in numbers.into_iter().flatten() {
            let Some(other) = others_ahead.get(&number) else { continue };
            let Some(difference) = ahead.get(&number).map(|step| of_step(step, other)) else { continue };
            if difference.is_some() {
                return Ok(difference);
            }
            ahead.remove(&number);
            others_ahead.remove(&number);
        }
    }
    let only = |ahead: &BTreeMap<u64, Step>, which: &str| {
        let (number, step) = ahead.first_key_value()?;
        Some((*number, format!("{}: in the {which} run only", named(step))))
    };
    let left = [only(&ahead, "first"), only(&others_ahead, "second")];
    Ok(left.into_iter().flatten().min().map(|(_, difference)| difference))
}

/// Difference of two steps of one number.
fn of_step(step: &Step, other: &Step) -> Option<String> {
    let same = step.asked == other.asked || have_noted_other_bytes(&step.asked, &other.asked);
    if same && step.outcome == other.outcome {
        return None;
    }
    Some(match same {
        true => format!("{}: the host received other bytes", named(step)),
        false => both((named(step), named(other))),
    })
}

/// True for launches that differ only in which argument bytes count. A launch resumed inside lacks
/// the bytes it loaded before.
fn have_noted_other_bytes(asked: &Asked, other: &Asked) -> bool {
    let (Asked::Kernel { arguments, .. }, Asked::Kernel { arguments: others, .. }) = (asked, other) else {
        return false;
    };
    arguments.read != others.read && asked.differs_by_arguments(other)
}

fn named(step: &Step) -> String {
    format!("step {}, {}", step.number, step.asked)
}

/// Allocations of one run only, and differing bytes of common ones.
fn of_device(
    one: &SavedRun,
    other: &SavedRun,
    device: &DeviceState,
    there: &DeviceState,
) -> Result<Vec<String>, Unreadable> {
    let (number, live, live_there) = (device.number, &device.memory.allocations, &there.memory.allocations);
    let mut found = Vec::new();
    for (which, list, others) in [("first", live, live_there), ("second", live_there, live)] {
        let only = list.iter().filter(|allocation| !others.iter().any(|other| same(allocation, other)));
        found.extend(only.take(MOST).map(|allocation| {
            format!("device {number}: only the {which} run has {}", described(allocation))
        }));
    }
    let (model, other_model) = of_both(one, other, |run| run.model(number))?;
    if model != other_model {
        found.push(format!("device {number}: the states of the timing model differ"));
    }
    let (requests, others) = of_both(one, other, SavedRun::requests)?;
    if let Some((requests, others)) = requests.get(&number).zip(others.get(&number))
        && let Some(OtherRequest { kind, number: count, sizes }) = requests.first_difference(others)
    {
        let [size, other] = sizes.map(|size| size.map_or("none".to_owned(), |size| format!("{size} bytes")));
        found.push(format!("device {number}: {kind:?} allocation {count} has {size} and {other}"));
    }
    let (pages, pages_there) = of_both(one, other, |run| run.pages(number))?;
    for allocation in live.iter().filter(|one| live_there.iter().any(|other| same(one, other))) {
        let mut differing = pages.differences(&pages_there, allocation.address..allocation.end());
        if let Some((address, byte, other)) = differing.next() {
            found.push(format!(
                "device {number}: {} bytes of {}, first at {address:#x}: {byte:#04x} and {other:#04x}",
                differing.count() + 1,
                described(allocation)
            ));
        }
    }
    Ok(found)
}

fn both((one, other): (impl Display, impl Display)) -> String {
    format!("first:  {one}\nsecond: {other}")
}

fn same(one: &Allocation, other: &Allocation) -> bool {
    (one.address, one.size, one.kind) == (other.address, other.size, other.kind)
}

fn described(allocation: &Allocation) -> String {
    let Allocation { address, size, kind, .. } = allocation;
    format!("the {size} bytes at {address:#x} ({kind:?})")
}
