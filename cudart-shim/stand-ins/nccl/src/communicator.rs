//! A communicator of one rank: its operations in order, and its error.

use crate::clique::Clique;
use crate::driver::{self, Context, Driver, HostFunction, Stream};
use crate::element::Reduction;
use crate::operation::{Operation, execute};
use crate::status::{Answer, Failure};
use parking_lot::{Condvar, Mutex};
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// Numbers of operations: those with a place in the order, and the next to execute.
#[derive(Debug, Default)]
struct Turns {
    given: u64,
    next: u64,
}

/// Reductions that the program has made.
#[derive(Debug, Default)]
struct Scales {
    made: Vec<Option<Reduction>>,
}

/// First number of a reduction that a program makes; smaller ones are built in.
const FIRST_SCALE: usize = 5;

/// A communicator, as one rank has it.
#[derive(Debug)]
pub struct Communicator {
    pub clique: Clique,
    /// Name of the shared memory, from which parts derive theirs.
    pub name: String,
    pub device: c_int,
    context: Context,
    turns: Mutex<Turns>,
    turn_ended: Condvar,
    /// Code of the first failure of an operation; 0 without.
    error: AtomicI32,
    scales: Mutex<Scales>,
    /// Splits so far.
    pub splits: AtomicU64,
}

/// Work of one host function.
struct Work {
    communicator: Arc<Communicator>,
    operations: Vec<Operation>,
    /// Place in the order; a captured function gets it when the graph runs.
    turn: Option<u64>,
}

impl Communicator {
    /// Enters a rank with the thread's current device.
    pub fn join(name: &str, rank: usize, ranks: usize) -> Answer<Communicator> {
        let (context, device) = driver::driver()?.current()?;
        Ok(Communicator {
            clique: Clique::join(name, rank, ranks, device)?,
            name: name.to_owned(),
            device,
            context,
            turns: Mutex::default(),
            turn_ended: Condvar::new(),
            error: AtomicI32::new(0),
            scales: Mutex::default(),
            splits: AtomicU64::default(),
        })
    }

    /// Appends operations to a stream.
    pub fn enqueue(self: &Arc<Self>, stream: Stream, operations: Vec<Operation>) -> Answer {
        if self.error() != 0 {
            return Err(Failure::of(self.error()).unwrap_or(Failure::Internal));
        }
        let driver = driver::driver()?;
        driver.with_context(self.context, || self.launch(driver, stream, operations))
    }

    /// Launches a host function for operations, in the communicator's context.
    fn launch(self: &Arc<Self>, driver: &Driver, stream: Stream, operations: Vec<Operation>) -> Answer {
        let is_captured = driver.is_capturing(stream)?;
        // Streams get operations in the order of turns, or a turn could wait for a later one.
        let mut turns = self.turns.lock();
        let turn = (!is_captured).then_some(turns.given);
        let work = Box::new(Work { communicator: Arc::clone(self), operations, turn });
        let argument: *mut c_void = Box::into_raw(work).cast();
        let function: HostFunction = if is_captured { repeatedly } else { once };
        // SAFETY: the functions take a `Work`. A captured one stays for every run of its graph, whose
        // end is unknown.
        let launched = unsafe { driver.launch(stream, function, argument) };
        match launched {
            Ok(()) if !is_captured => turns.given += 1,
            Ok(()) => {}
            // SAFETY: no function will use it.
            Err(_) => drop(unsafe { Box::from_raw(argument.cast::<Work>()) }),
        }
        launched
    }

    /// Executes operations in their turn. After a failure nothing more is executed.
    fn run(&self, work: &Work) {
        let mut turns = self.turns.lock();
        let turn = work.turn.unwrap_or_else(|| {
            turns.given += 1;
            turns.given - 1
        });
        self.turn_ended.wait_while(&mut turns, |turns| turns.next < turn);
        drop(turns);
        if self.error() == 0 {
            // SAFETY: the calls have checked addresses and sizes.
            let run = || unsafe { execute(&self.clique, &work.operations) };
            let answer = catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(Failure::Internal));
            if let Err(failure) = answer {
                self.fail(failure);
            }
        }
        self.turns.lock().next = turn + 1;
        self.turn_ended.notify_all();
    }

    fn fail(&self, failure: Failure) {
        let _ = self.error.compare_exchange(0, failure as c_int, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Code of the first failure of an operation; 0 without.
    pub fn error(&self) -> c_int {
        self.error.load(Ordering::Acquire)
    }

    /// Waits until all operations of this rank are executed.
    pub fn finish(&self) {
        let mut turns = self.turns.lock();
        self.turn_ended.wait_while(&mut turns, |turns| turns.next < turns.given);
    }

    /// Ends all waits of this rank, and of the others.
    pub fn abort(&self) {
        self.clique.abort();
        self.fail(Failure::Remote);
    }

    /// Makes a scaled sum and returns its number.
    pub fn make_scale(&self, factor: [u8; 8]) -> c_int {
        let mut scales = self.scales.lock();
        scales.made.push(Some(Reduction::ScaledSum(factor)));
        (FIRST_SCALE + scales.made.len() - 1) as c_int
    }

    /// Removes a scaled sum.
    pub fn remove_scale(&self, number: c_int) -> Answer {
        let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(FIRST_SCALE));
        let mut scales = self.scales.lock();
        let scale = index.and_then(|index| scales.made.get_mut(index));
        scale.and_then(Option::take).map(drop).ok_or(Failure::InvalidArgument)
    }

    /// The reduction of a number.
    pub fn reduction(&self, number: c_int) -> Answer<Reduction> {
        if let Some(reduction) = Reduction::of(number) {
            return Ok(reduction);
        }
        let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(FIRST_SCALE));
        let scales = self.scales.lock();
        index.and_then(|index| scales.made.get(index).copied().flatten()).ok_or(Failure::InvalidArgument)
    }
}

/// # Safety
/// `work` is a boxed [`Work`] that nothing else uses.
unsafe extern "C" fn once(work: *mut c_void) {
    // SAFETY: by this function's contract.
    let work = unsafe { Box::from_raw(work.cast::<Work>()) };
    work.communicator.run(&work);
}

/// # Safety
/// `work` is a [`Work`] that is never freed.
unsafe extern "C" fn repeatedly(work: *mut c_void) {
    // SAFETY: by this function's contract.
    let work = unsafe { &*work.cast::<Work>() };
    work.communicator.run(work);
}
