//! Hang report: each warp with its instructions in flight, the lines that they wait for, and the
//! location of the lines' requests.

use std::collections::HashMap;
use std::fmt;
use std::mem::discriminant;
use std::sync::Mutex;

use super::epoch_workers::lock;
use super::epochs::Epochs;
use super::launch::Launch;
use super::slot::Slot;
use super::transfer::RunningTransfer;
use crate::hang_report::{Located, Place};
use crate::message::Requester;
use crate::sm::memory::Request;
use crate::sm::{Stage, WaitingWarp};

/// A deadlock, with each warp's wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// Core cycle of the report.
    pub cycle: u64,
    /// Uncompleted CTAs by kernel, then remaining device copies and fills.
    pub kernels: Vec<String>,
    /// Waits: a line per warp and per awaited line of memory.
    pub warps: Vec<String>,
    /// Busy units of the memory side, DRAM banks included.
    pub units: Vec<String>,
}

/// Warps, and units, printed.
const SHOWN: usize = 24;

/// Lines printed per warp.
const LINES: usize = 8;

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deadlock: no progress since cycle {}", self.cycle)?;
        self.kernels.iter().try_for_each(|kernel| write!(f, "\n  {kernel}"))?;
        for (name, lines) in [("warps", &self.warps), ("units", &self.units)] {
            lines.iter().take(SHOWN).try_for_each(|line| write!(f, "\n  {line}"))?;
            match lines.len().saturating_sub(SHOWN) {
                0 => {}
                more => write!(f, "\n  and {more} more {name}")?,
            }
        }
        Ok(())
    }
}

/// Requests in flight by the SM's identification.
#[derive(Default)]
struct UnderWay(HashMap<(u16, Key), Vec<Located>>);

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Tag(u32),
    InstructionLine(u64),
}

impl UnderWay {
    fn add(&mut self, located: impl IntoIterator<Item = Located>) {
        for located in located {
            let reply = &located.reply;
            let key = match reply.requester {
                Requester::Copy => continue,
                requester if requester.is_instruction_cache() => Key::InstructionLine(reply.line),
                _ => Key::Tag(reply.tag),
            };
            self.0.entry((reply.sm, key)).or_default().push(located);
        }
    }

    fn of(&self, sm: u16, request: Option<Request>) -> &[Located] {
        let key = match request {
            None => return &[],
            Some(Request::Tag(tag)) => Key::Tag(tag),
            Some(Request::InstructionLine(line)) => Key::InstructionLine(line),
        };
        self.0.get(&(sm, key)).map_or(&[], Vec::as_slice)
    }
}

impl<'a> Epochs<'_, 'a> {
    /// Builds the hang report.
    pub(super) fn stuck(&self, slots: &[Mutex<Slot<'a>>]) -> Stuck {
        let mut under_way = UnderWay::default();
        under_way.add(self.gpu.memory.locate());
        for slot in slots {
            let slot = lock(slot);
            under_way.add(slot.sm.locate());
            let inbox = slot.inbox.iter();
            under_way.add(inbox.map(|reply| Located { reply: reply.message, place: Place::Inbox }));
        }
        let warps = (0..).zip(slots).flat_map(|(number, slot)| {
            let waiting = lock(slot).sm.waiting();
            waiting.iter().map(|warp| told(number, warp, &under_way)).collect::<Vec<_>>()
        });
        let kernels = self.launches.iter().map(Launch::to_string);
        Stuck {
            cycle: self.gpu.run_to,
            kernels: kernels.chain(self.transfers.iter().map(RunningTransfer::to_string)).collect(),
            warps: warps.collect(),
            units: self.gpu.memory.waiting(),
        }
    }
}

/// Waits of a warp: for each instruction the first line of memory at each kind of location.
fn told(sm: u16, warp: &WaitingWarp, under_way: &UnderWay) -> String {
    let mut lines: Vec<(_, String, usize)> = Vec::new();
    let mut tell = |kind, line: &dyn Fn() -> String| match lines.iter_mut().find(|(of, ..)| *of == kind) {
        Some((_, _, count)) => *count += 1,
        None => lines.push((kind, line(), 0)),
    };
    for (number, access) in warp.accesses.iter().enumerate() {
        let Stage::Lines(awaited) = &access.stage else {
            tell((number, None, None), &|| access.to_string());
            continue;
        };
        for line in awaited {
            let holder = Some(discriminant(&line.holder));
            let requests = under_way.of(sm, line.request);
            if requests.is_empty() {
                tell((number, holder, None), &|| format!("{access}: {line}"));
            }
            for Located { reply, place } in requests {
                let of =
                    if line.address.is_none() { format!(", line {:#x}", reply.line) } else { String::new() };
                let text = || format!("{access}: {line}{of}, {place}");
                tell((number, holder, Some(discriminant(place))), &text);
            }
        }
    }
    let mut told = format!("SM {sm}, {warp}");
    for (_, line, like_it) in lines.iter().take(LINES) {
        told.extend(["\n    ", line]);
        if *like_it > 0 {
            told.push_str(&format!(" (and {like_it} similar)"));
        }
    }
    match lines.len().saturating_sub(LINES) {
        0 => {}
        more => told.push_str(&format!("\n    and {more} more")),
    }
    told
}
