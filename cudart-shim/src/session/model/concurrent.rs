//! Concurrent launches, copies and fills of different streams in the timing model.
//!
//! Stream work starts on demand ([`Start::OnDemand`](stream_engine::Start)): each timed item sends
//! a request here and waits. Once no further item can arrive, a thread of this module handles the
//! requests. A single item, or one that the model does not overlap, runs on its own thread. Several
//! items run in one [`Session`](timing::gpu::Session) until all have ended. When an item ends, work
//! that depends on it joins the session at that simulated time.

use super::Model;
use super::progress::Display;
use crate::abi::error::Error;
use crate::objects::fault::DeviceFault;
use crate::session::simulator::{Simulator, start_without_signals};
use functional::timed::LiveKernel;
use std::collections::VecDeque;
use std::mem;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::thread;
use stream_engine::{Running, running_item};
use timing::gpu::{Copy, Ended, LaunchError, LaunchId, Session, Transfer};
use timing::record::{LaunchRecord, TransferRecord};
use warp_stream::KernelSource;

/// Queue of requests to the model.
#[derive(Default)]
pub(super) struct Waiting {
    requests: Vec<Request>,
    /// Set while a thread handles requests.
    attended: bool,
}

/// A request of a waiting item.
struct Request {
    item: Running,
    wish: Wish,
    answer: SyncSender<Answer>,
}

/// Kinds of requests.
enum Wish {
    /// Exclusive execution by the item itself.
    Alone,
    /// A launch. The item keeps the source alive until it receives an answer.
    Launch(&'static dyn KernelSource),
    Copy(Copy),
    /// A transfer and the number of its stream.
    Transfer(Transfer, u64),
}

enum Answer {
    /// The item executes while nothing else runs.
    Alone(Turn),
    Launched(Box<LaunchRecord>),
    Copied,
    Transferred(Box<TransferRecord>),
    Failed(LaunchError),
    /// Another item failed, which reports the error itself.
    GivenUp,
}

/// Guard for exclusive execution.
pub(super) struct Turn(
    #[expect(dead_code, reason = "that it is dropped tells who waits for the turn's end")] Sender<()>,
);

/// Result of a request.
pub(super) enum Met {
    /// The item must execute itself. `None` if work never overlaps.
    Alone(Option<Turn>),
    /// The launch was executed.
    Launched(Box<LaunchRecord>),
    /// The copy was executed.
    Copied,
    /// The copy within the device, or the fill, was executed.
    Transferred(Box<TransferRecord>),
    /// Nothing was executed, because another item failed.
    GivenUp,
}

impl Model {
    /// Waits for exclusive execution, if work starts on demand.
    pub(super) fn meet_alone(&self, simulator: &Simulator) -> Result<Option<Turn>, LaunchError> {
        match self.meet(simulator, Wish::Alone)? {
            Met::Alone(turn) => Ok(turn),
            _ => Ok(None),
        }
    }

    /// Executes a launch together with concurrent work.
    pub(super) fn meet_with_launch(
        &self,
        simulator: &Simulator,
        source: &LiveKernel<'_>,
    ) -> Result<Met, LaunchError> {
        let source: &dyn KernelSource = source;
        // SAFETY: only the lifetime changes. The holder drops the reference before it sends the
        // answer or drops the sender (`answer`, `execute_together`), and `meet` returns only after
        // that.
        let source: &'static dyn KernelSource = unsafe { mem::transmute(source) };
        self.meet(simulator, Wish::Launch(source))
    }

    /// Executes a copy together with concurrent work.
    pub(super) fn meet_with_copy(&self, simulator: &Simulator, copy: Copy) -> Result<Met, LaunchError> {
        self.meet(simulator, Wish::Copy(copy))
    }

    /// Executes a copy within the device, or a fill, together with concurrent work.
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
            // The thread for the answer was never started.
            Err(_) => Err(LaunchError::Cancelled),
        }
    }

    /// Adds a request and starts a handler thread if none runs. If the thread cannot start, drops
    /// all requests.
    fn add(&self, simulator: &Simulator, request: Request) {
        // A handler must not see requests of ungathered work.
        let mut waiting = self.waiting.lock();
        waiting.requests.push(request);
        // An error means a forked child, in which nothing runs.
        let _ = simulator.engine.gather();
        if mem::replace(&mut waiting.attended, true) {
            return;
        }
        let (session, number) = (simulator.session, simulator.ordinal);
        let attend = move || {
            if let Ok(simulator) = session.simulator_of(number)
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

    /// Handles requests until the queue is empty.
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
                    // Ends with an error, since nothing is ever sent.
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

    /// All requests, once no further item can arrive: by priority, then in the order of the
    /// program's calls.
    fn gathered(&self, simulator: &Simulator) -> Vec<Request> {
        // An error means a forked child, in which nothing runs.
        let _ = simulator.engine.wait_until_gathered();
        let mut requests = mem::take(&mut self.waiting.lock().requests);
        requests.sort_by_key(|request| request.item);
        requests
    }

    /// Executes requests concurrently, along with others that arrive meanwhile. Returns those that
    /// must wait for the end of these.
    fn execute_together(&self, simulator: &Simulator, mut coming: Vec<Request>) -> Vec<Request> {
        // Dropped after the session, which refers to the sources.
        let (mut running, mut left): (Vec<(LaunchId, Request)>, _) = (Vec::new(), Vec::new());
        let mut gpu = self.gpu.lock();
        let mut now = gpu.next_start();
        let mut session = gpu.session();
        let mut display = Display::new(simulator.engine.cancel_flag());
        let failed = loop {
            for request in coming.drain(..) {
                // An exclusive item precedes all later ones.
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

/// Starts the items that can run concurrently; a launch precedes less urgent ones.
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

/// Resumes a waiting item with its result.
fn answer(simulator: &Simulator, request: Request, result: Answer) {
    let Request { item: _, wish: _, answer } = request;
    // An error means a forked child, in which nothing waits.
    let _ = simulator.engine.release();
    let _ = answer.send(result);
}

/// Gives up all items after an error. The failed launch reports a fault of its lanes; the others
/// refer to it.
fn give_up(simulator: &Simulator, requests: impl Iterator<Item = Request>, error: LaunchError) {
    let mut error = (!matches!(error, LaunchError::Fault { .. })).then_some(error);
    for request in requests {
        let result = error.take().map_or(Answer::GivenUp, Answer::Failed);
        answer(simulator, request, result);
    }
}

/// The error of an item that was given up. The fault of the failed item comes first and remains.
pub(super) fn fault_of_another(simulator: &Simulator) -> DeviceFault {
    let _ = simulator.engine.wait_for_fault();
    DeviceFault { device: simulator.ordinal, error: Error::LaunchFailure }
}
