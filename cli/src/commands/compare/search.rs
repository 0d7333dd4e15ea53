//! Finds the first instruction that writes different values to a register in the two ways of
//! running a launch.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use launch_capture::{Capture, Launch, Ranges};
use ptx_frontend::instrument::log::{ThreadLog, Window};
use ptx_frontend::instrument::{Instrumented, Write};
use ptx_frontend::isa::ScalarType;
use warp_stream::kernel_name::{readable, signature};

use super::side::Side;
use crate::difference::{Format, Tolerance, same_place};
use crate::failure::Failure;
use crate::instrumented;

/// Bytes of a log entry, for dividing the room among the threads.
const ENTRY: u64 = 16;
/// Writes of each thread that a log holds at least and at most.
const LEAST_WRITES: u64 = 32;
const MOST_WRITES: u64 = 1 << 16;

/// Result of the search.
pub(super) enum Finding {
    /// A register gets different values.
    Value(Box<ValueFinding>),
    /// A thread takes different ways, though what it has written to registers so far is the same.
    Way { thread: u64, write: u64, after: Option<Box<Write>>, a: Option<Box<Write>>, b: Option<Box<Write>> },
    /// All registers get the same values.
    Nothing,
}

/// A register that gets different values.
pub(super) struct ValueFinding {
    /// Thread of the grid.
    thread: u64,
    /// How many registers the thread has written before.
    write: u64,
    what: Write,
    a: u64,
    b: u64,
    /// How many threads differ somewhere.
    threads: usize,
}

/// The first difference of a thread.
#[derive(Clone, Copy)]
struct First {
    write: u64,
    numbers: [Option<u32>; 2],
    values: [u64; 2],
    after: Option<u32>,
}

/// The two ways with their instrumented texts.
pub(super) struct Search<'a> {
    capture: &'a Capture,
    sides: [&'a Side; 2],
    texts: [Instrumented; 2],
    tolerance: &'a Tolerance,
    /// Bytes of a log, about.
    room: u64,
    scratch: &'a Path,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        capture: &'a Capture,
        sides: [&'a Side; 2],
        tolerance: &'a Tolerance,
        room: u64,
        scratch: &'a Path,
    ) -> Result<Search<'a>, Failure> {
        let kernel = &capture.launch().kernel;
        let rewrite = |side: &Side| instrumented::rewrite(&side.text(capture)?, side.name, kernel);
        let texts = [rewrite(sides[0])?, rewrite(sides[1])?];
        let registers = |text: &Instrumented| -> Vec<_> {
            text.writes.iter().map(|write| (write.register.clone(), write.bits)).collect()
        };
        if registers(&texts[0]) != registers(&texts[1]) {
            return Err(Failure::new("the two PTX texts do not write the same registers in the same order")
                .remedy("Compare texts that differ in opcodes and sources alone"));
        }
        Ok(Search { capture, sides, texts, tolerance, room, scratch })
    }

    /// Runs both ways, window after window, until the first difference is known.
    ///
    /// A thread whose first difference is a value read from memory may suffer from another thread's
    /// writes. The search therefore ends at a thread whose first difference is of another kind, or
    /// after the last window.
    pub(super) fn run(&self) -> Result<Finding, Failure> {
        let threads = self.capture.launch().shape().thread_count();
        let capacity = (self.room / ENTRY / threads.max(1)).clamp(LEAST_WRITES, MOST_WRITES);
        let at_once = (self.room / ENTRY / capacity).clamp(1, threads.max(1));
        let mut found: BTreeMap<u64, First> = BTreeMap::new();
        for first in (0..=u64::from(u32::MAX)).step_by(capacity as usize) {
            let mut more = false;
            for first_thread in (0..threads).step_by(at_once as usize) {
                let window = Window {
                    first_thread,
                    threads: at_once.min(threads - first_thread),
                    first: first as u32,
                    capacity: capacity as u32,
                };
                more |= self.window(&window, &mut found)?;
            }
            if !more || found.values().any(|first| !self.loads(first)) {
                break;
            }
        }
        Ok(self.choose(&found))
    }

    /// Looks through one window; are there writes behind it?
    fn window(&self, window: &Window, found: &mut BTreeMap<u64, First>) -> Result<bool, Failure> {
        let log = self.capture.launch().buffers.len();
        let run = |side: &Side, text: &Instrumented| -> Result<(Vec<u8>, Ranges), Failure> {
            let place =
                tempfile::tempdir_in(self.scratch).map_err(|error| Failure::in_file(self.scratch, error))?;
            let folder = place.path().join("launch");
            instrumented::with_log(self.capture, &text.text, window, &folder)?;
            let results = side.replay(&folder, &place.path().join("results"))?;
            let list = results.list();
            let buffer = list.buffers.get(log).ok_or_else(|| {
                Failure::new(format_args!(
                    "{}: the instrumented kernel ends with {}",
                    side.name, list.outcome
                ))
                .remedy("Replay the launch, and see the message of its fault")
            })?;
            Ok((results.contents(buffer)?, results.ranges()))
        };
        let (log_a, ranges_a) = run(self.sides[0], &self.texts[0])?;
        let (log_b, ranges_b) = run(self.sides[1], &self.texts[1])?;
        let mut more = false;
        for thread in 0..window.threads {
            let (Some(a), Some(b)) = (window.thread(&log_a, thread), window.thread(&log_b, thread)) else {
                return Err(Failure::new("a log is shorter than it should be"));
            };
            let end = u64::from(window.first) + u64::from(window.capacity);
            more |= a.count.max(b.count) > end;
            if let Some(first) = self.first_difference(window, &a, &b, &ranges_a, &ranges_b) {
                found.entry(window.first_thread + thread).or_insert(first);
            }
        }
        Ok(more)
    }

    fn first_difference(
        &self,
        window: &Window,
        a: &ThreadLog,
        b: &ThreadLog,
        ranges_a: &Ranges,
        ranges_b: &Ranges,
    ) -> Option<First> {
        let longest = a.entries.len().max(b.entries.len());
        (0..longest).find_map(|position| {
            let (in_a, in_b) = (a.entries.get(position), b.entries.get(position));
            let same = match (in_a, in_b) {
                (Some((number, a)), Some((other, b))) => {
                    let write = self.texts[0].writes.get(*number as usize);
                    number == other
                        && (a == b
                            || same_place(ranges_a, *a, ranges_b, *b)
                            || write.is_some_and(|write| accepts(self.tolerance, write.ty, *a, *b)))
                }
                _ => false,
            };
            let before = position.checked_sub(1).and_then(|before| a.entries.get(before));
            let number = |entry: Option<&(u32, u64)>| entry.map(|(number, _)| *number);
            (!same).then(|| First {
                write: u64::from(window.first) + position as u64,
                numbers: [number(in_a), number(in_b)],
                values: [in_a, in_b].map(|entry| entry.map_or(0, |(_, value)| *value)),
                after: number(before),
            })
        })
    }

    fn write(&self, side: usize, number: Option<u32>) -> Option<&Write> {
        self.texts.get(side)?.writes.get(number? as usize)
    }

    /// Is it a value read from memory?
    fn loads(&self, first: &First) -> bool {
        let [a, b] = first.numbers;
        a == b && self.write(0, a).is_some_and(|write| write.loads)
    }

    fn choose(&self, found: &BTreeMap<u64, First>) -> Finding {
        let rank = |(thread, first): &(&u64, &First)| (self.loads(first), first.write, **thread);
        let Some((thread, first)) = found.iter().min_by_key(rank) else { return Finding::Nothing };
        let [a, b] = first.numbers;
        let boxed = |side, number| self.write(side, number).cloned().map(Box::new);
        match self.write(0, a) {
            Some(what) if a == b => Finding::Value(Box::new(ValueFinding {
                thread: *thread,
                write: first.write,
                what: what.clone(),
                a: first.values[0],
                b: first.values[1],
                threads: found.len(),
            })),
            _ => Finding::Way {
                thread: *thread,
                write: first.write,
                after: boxed(0, first.after),
                a: boxed(0, a),
                b: boxed(1, b),
            },
        }
    }
}

/// Are two values of this type equal, as far as the tolerance goes? Untyped bits may be floats on
/// their way.
fn accepts(tolerance: &Tolerance, ty: ScalarType, a: u64, b: u64) -> bool {
    let (format, bits) = match ty {
        ScalarType::F16 | ScalarType::B16 => (Format::F16, 16),
        ScalarType::Bf16 => (Format::Bf16, 16),
        ScalarType::F32 | ScalarType::Tf32 | ScalarType::B32 => (Format::F32, 32),
        ScalarType::F64 | ScalarType::B64 => (Format::F64, 64),
        ScalarType::F16x2 => (Format::F16, 32),
        ScalarType::Bf16x2 => (Format::Bf16, 32),
        ScalarType::F32x2 => (Format::F32, 64),
        _ => return false,
    };
    tolerance.accepts_each(format, bits, a, b)
}

/// Thread `number` of a launch, as the kernel names it.
fn thread_name(launch: &Launch, number: u64) -> String {
    let shape = launch.shape();
    let per_cta = u64::from(shape.threads_per_cta().max(1));
    let [bx, by, bz] = shape.cta_at(number / per_cta);
    let [x, y, z] = shape.thread_at((number % per_cta) as u32);
    format!("CTA ({bx},{by},{bz}), thread ({x},{y},{z})")
}

/// A register's value as its type reads it, with its bits.
fn value(write: &Write, bits: u64) -> String {
    let digits = (write.bits as usize).div_ceil(4);
    let read = match write.ty {
        ScalarType::F32 => f32::from_bits(bits as u32).to_string(),
        ScalarType::F64 => f64::from_bits(bits).to_string(),
        ScalarType::S16 => (bits as i16).to_string(),
        ScalarType::S32 => (bits as i32).to_string(),
        ScalarType::S64 => (bits as i64).to_string(),
        ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => bits.to_string(),
        ScalarType::Pred => return if bits == 0 { "false".to_owned() } else { "true".to_owned() },
        _ => return format!("0x{bits:0digits$x}"),
    };
    format!("0x{bits:0digits$x} ({read})")
}

fn place(write: &Write) -> String {
    format!("{}, PTX line {}: {}", signature(&write.function), write.place.line, readable(&write.line))
}

impl Finding {
    /// The finding as lines of text.
    pub(super) fn describe(&self, launch: &Launch) -> impl fmt::Display {
        match self {
            Finding::Value(found) => {
                let ValueFinding { thread, write, what, a, b, threads } = found.as_ref();
                let half = if what.upper { ", upper half" } else { "" };
                format!(
                    "first different value: {}, its write {write} ({threads} threads differ)\n  {}\n  {} (.{}{half}): \
                     A {}, B {}",
                    thread_name(launch, *thread),
                    place(what),
                    what.register,
                    what.ty.name(),
                    value(what, *a),
                    value(what, *b)
                )
            }
            Finding::Way { thread, write, after, a, b } => {
                let next = |write: &Option<Box<Write>>| write.as_deref().map_or("its end".to_owned(), place);
                format!(
                    "first different way: {}, its write {write}; all values before are the same\n  after {}\n  \
                     A comes to {}\n  B comes to {}",
                    thread_name(launch, *thread),
                    after.as_deref().map_or("its start".to_owned(), place),
                    next(a),
                    next(b)
                )
            }
            Finding::Nothing => {
                "every register gets the same values: the difference arises in a store, a reduction or a copy of memory"
                    .to_owned()
            }
        }
    }
}
