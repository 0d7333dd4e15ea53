//! Launches, copies and fills of different streams that the model executes beside each other.
//!
//! The streams' work starts on demand ([`Start::OnDemand`](stream_engine::Start)): each item that the model gives its time comes here
//! and waits. Once no other can come, a thread of this module looks at what is there. One item alone goes on by itself, as do
//! those that the model does not overlap, one after the other; several are run in one [`Session`](timing::gpu::Session) until none is
//! left, and whenever one of them ends, what the program and its streams make of that joins them at that time.

use super::Model;
use super::progress::Display;
use crate::abi::error::Error;
use crate::session::simulator::{DeviceFault, Simulator, simulator_of, start_without_signals};
use functional::timed::LiveKernel;
use std::collections::VecDeque;
use std::mem;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::thread;
use stream_engine::{Running, running_item};
use timing::gpu::{Copy, Ended, LaunchError, LaunchId, Session, Transfer};
use timing::report::{LaunchRecord, TransferRecord};
use warp_stream::KernelSource;

/// Who waits for the model.
#[derive(Default)]
pub(super) struct Waiting {
    requests: Vec<Request>,
    /// A thread looks after them.
    attended: bool,
}

/// An item that waits for its time.
struct Request {
    item: Running,
    wish: Wish,
    answer: SyncSender<Answer>,
}

/// What an item has the model do.
enum Wish {
    /// Something that nothing else may run beside.
    Alone,
    /// A launch of which the item keeps the source until it has an answer.
    Launch(&'static dyn KernelSource),
    Copy(Copy),
    /// In the stream of a number.
    Transfer(Transfer, u64),
}

enum Answer {
    /// The item does what it wants; nothing else runs.
    Alone(Turn),
    Launched(Box<LaunchRecord>),
    Copied,
    Transferred(Box<TransferRecord>),
    Failed(LaunchError),
    /// Another item has failed, and says so itself.
    GivenUp,
}

/// Lasts while an item executes something alone.
pub(super) struct Turn(
    #[expect(dead_code, reason = "that it is dropped tells who waits for the turn's end")] Sender<()>,
);

/// What has become of an item.
pub(super) enum Met {
    /// It is to execute what it wants. Without a turn nothing else ever runs.
    Alone(Option<Turn>),
    /// Its launch was executed.
    Launched(Box<LaunchRecord>),
    /// Its copy was.
    Copied,
    /// Its copy within the device was, or its fill.
    Transferred(Box<TransferRecord>),
    /// Nothing was, as another item has failed.
    GivenUp,
}

impl Model {
    /// Waits until nothing else runs, where work starts on demand.
    pub(super) fn meet_alone(&self, simulator: &Simulator) -> Result<Option<Turn>, LaunchError> {
        match self.meet(simulator, Wish::Alone)? {
            Met::Alone(turn) => Ok(turn),
            _ => Ok(None),
        }
    }

    /// Has a launch executed beside others, if there are any.
    pub(super) fn meet_with_launch(
        &self,
        simulator: &Simulator,
        source: &LiveKernel<'_>,
    ) -> Result<Met, LaunchError> {
        let source: &dyn KernelSource = source;
        // SAFETY: only the lifetime is another. Whoever has the reference drops it before the answer is sent, or its sender
        // dropped (`answer`, `execute_together`), and `meet` does not return before that.
        let source: &'static dyn KernelSource = unsafe { mem::transmute(source) };
        self.meet(simulator, Wish::Launch(source))
    }

    /// Has a copy executed beside others, if there are any.
    pub(super) fn meet_with_copy(&self, simulator: &Simulator, copy: Copy) -> Result<Met, LaunchError> {
        self.meet(simulator, Wish::Copy(copy))
    }

    /// Has a copy within the device executed beside others, or a fill, if there are any.
    pub(super) fn meet_with_transfer(
        &self,
        simulator: &Simulator,
        transfer: Transfer,
        stream: u64,
    ) -> Result<Met, LaunchError> {
        self.meet(simulator, Wish::Transfer(transfer, stream))
    }

    fn meet(&self, simulator: &Simulator, wish: Wish) -> Result<Met, LaunchError> {
        let Some(item) = running_item().filter(|_| simulator.engine.is_on_demand()) else {
            return Ok(Met::Alone(None));
        };
        let (answer, answered) = sync_channel(1);
        self.add(simulator, Request { item, wish, answer });
        match answered.recv() {
            Ok(Answer::Alone(turn)) => Ok(Met::Alone(Some(turn))),
            Ok(Answer::Launched(record)) => Ok(Met::Launched(record)),
            Ok(Answer::Copied) => Ok(Met::Copied),
            Ok(Answer::Transferred(record)) => Ok(Met::Transferred(record)),
            Ok(Answer::GivenUp) => Ok(Met::GivenUp),
            Ok(Answer::Failed(error)) => Err(error),
            // There is no thread that would have answered.
            Err(_) => Err(LaunchError::Cancelled),
        }
    }

    /// Adds a request, and a thread if there is none to look after it; if it cannot be started, all are dropped.
    fn add(&self, simulator: &Simulator, request: Request) {
        // Whoever takes requests finds all that are gathered.
        let mut waiting = self.waiting.lock();
        waiting.requests.push(request);
        // An error says that the process is a forked child, in which nothing runs.
        let _ = simulator.engine.gather();
        if mem::replace(&mut waiting.attended, true) {
            return;
        }
        let number = simulator.ordinal;
        let attend = move || {
            if let Ok(simulator) = simulator_of(number)
                && let Some(model) = &simulator.model
            {
                model.attend(simulator);
            }
        };
        start_without_signals(&mut || {
            let builder = thread::Builder::new().name("voltsim-model".into());
            if builder.spawn(attend).is_err() {
                *waiting = Waiting::default();
            }
        });
    }

    /// Looks after those who wait, until nobody does.
    fn attend(&self, simulator: &Simulator) {
        let mut next = VecDeque::new();
        loop {
            if next.is_empty() {
                let mut waiting = self.waiting.lock();
                if waiting.requests.is_empty() {
                    waiting.attended = false;
                    return;
                }
                drop(waiting);
                next.extend(self.gathered(simulator));
            }
            let alone = next.iter().position(|request: &Request| matches!(request.wish, Wish::Alone));
            match (alone, next.len()) {
                (Some(0), _) | (_, 1) => next.pop_front().into_iter().for_each(|request| {
                    let (turn, ended) = channel();
                    answer(simulator, request, Answer::Alone(Turn(turn)));
                    // It ends with an error: nothing is ever sent.
                    let _ = ended.recv();
                }),
                (_, 0) => {}
                (alone, count) => {
                    let together = next.drain(..alone.unwrap_or(count)).collect();
                    let left = self.execute_together(simulator, together);
                    next.extend(left);
                }
            }
        }
    }

    /// Those who wait once no other can come, the more urgent first, and then in the order of the program's calls.
    fn gathered(&self, simulator: &Simulator) -> Vec<Request> {
        // An error says that the process is a forked child, in which nothing runs.
        let _ = simulator.engine.wait_until_gathered();
        let mut requests = mem::take(&mut self.waiting.lock().requests);
        requests.sort_by_key(|request| request.item);
        requests
    }

    /// Executes requests beside each other, and those that come meanwhile. Gives those that have to wait until all these are
    /// over.
    fn execute_together(&self, simulator: &Simulator, mut coming: Vec<Request>) -> Vec<Request> {
        // Dropped after the session, which has their sources.
        let (mut running, mut left): (Vec<(LaunchId, Request)>, _) = (Vec::new(), Vec::new());
        let mut gpu = self.gpu.lock();
        let mut now = gpu.next_start();
        let mut session = gpu.session();
        let mut display = Display::new(simulator.engine.cancel_flag());
        let failed = loop {
            for request in coming.drain(..) {
                // Who has to be alone comes before all that have come after it.
                let less_urgent = |(_, other): &(_, Request)| other.item.priority > request.item.priority;
                let place = running.iter().position(less_urgent).unwrap_or(running.len());
                let mut after = running[place..].iter().filter(|(_, other)| other.is_launch());
                let before = after.next().map(|(id, _)| *id);
                let begun = left.is_empty().then(|| begin(&mut session, &request.wish, now, before));
                match begun.flatten() {
                    Some(Ok(id)) => running.insert(place, (id, request)),
                    Some(Err(error)) => answer(simulator, request, Answer::Failed(error)),
                    None => left.push(request),
                }
            }
            if running.is_empty() {
                break None;
            }
            let (over, end, result) = match session.run_until_one_ends(&mut display) {
                Ok(Ended::Launch { id, record }) => {
                    (id, record.start + record.cycles, Answer::Launched(record))
                }
                Ok(Ended::Copy { id, end }) => (id, end, Answer::Copied),
                Ok(Ended::Transfer { id, record }) => {
                    (id, record.start + record.cycles, Answer::Transferred(record))
                }
                Ok(Ended::Stopped) => break Some(LaunchError::Cancelled),
                Err(error) => break Some(error),
            };
            now = now.max(end);
            self.set_now(self.settings.spec.clocks.moment(now).nanoseconds);
            if let Some(position) = running.iter().position(|(id, _)| *id == over) {
                answer(simulator, running.remove(position).1, result);
            }
            coming = self.gathered(simulator);
        };
        drop(session);
        display.end();
        drop(gpu);
        if let Some(error) = failed {
            give_up(simulator, running.into_iter().map(|(_, request)| request), error);
        }
        left
    }
}

impl Request {
    fn is_launch(&self) -> bool {
        matches!(self.wish, Wish::Launch(_))
    }
}

/// Begins what can run beside others; a launch before a less urgent one.
fn begin(
    session: &mut Session<'_, 'static>,
    wish: &Wish,
    now: u64,
    before: Option<LaunchId>,
) -> Option<Result<LaunchId, LaunchError>> {
    match wish {
        Wish::Alone => None,
        Wish::Launch(source) => Some(session.begin_before(*source, now, before)),
        Wish::Copy(copy) => Some(Ok(session.begin_copy(*copy, now))),
        Wish::Transfer(transfer, stream) => Some(session.begin_transfer(*transfer, *stream, now)),
    }
}

/// Lets an item go on.
fn answer(simulator: &Simulator, request: Request, result: Answer) {
    let Request { item: _, wish: _, answer } = request;
    // Errors say that the process is a forked child, in which nobody waits.
    let _ = simulator.engine.release();
    let _ = answer.send(result);
}

/// Nothing goes on after an error. A lane's fault is known to the launch that has it, and the others leave it to that.
fn give_up(simulator: &Simulator, requests: impl Iterator<Item = Request>, error: LaunchError) {
    let mut error = (!matches!(error, LaunchError::Fault { .. })).then_some(error);
    for request in requests {
        let result = error.take().map_or(Answer::GivenUp, Answer::Failed);
        answer(simulator, request, result);
    }
}

/// What an item that was given up fails with: the fault of the one that has failed comes first, and stays.
pub(super) fn fault_of_another(simulator: &Simulator) -> DeviceFault {
    let _ = simulator.engine.wait_for_fault();
    DeviceFault { device: simulator.ordinal, error: Error::LaunchFailure }
}
