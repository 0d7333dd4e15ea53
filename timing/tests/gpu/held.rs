//! Held stores: the model publishes an epoch's stores by cycle, SM and number before the memory
//! side runs.

use std::sync::Mutex;

use timing::gpu::Gpu;
use warp_stream::{
    Execution, Kernel, KernelSource, Moment, Next, OperationClass, Residence, SourceError, WarpSlot,
    WarpSource,
};

use crate::script::{Script, Thread, titan_v};

/// Events so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// A store was published, by cycle and SM.
    Published(u64, u32),
    /// An atomic operation took effect while this many stores of its SM were held.
    Performed(usize),
}

/// A script with held stores, and its events.
struct Holder {
    script: Script,
    in_order: bool,
    events: Mutex<Vec<Event>>,
}

impl KernelSource for Holder {
    fn kernel(&self) -> &Kernel {
        self.script.kernel()
    }

    fn needs_sm_order(&self) -> bool {
        self.in_order
    }

    fn warps(&self, sm: u32) -> Box<dyn WarpSource + '_> {
        Box::new(Warps { inner: self.script.warps(sm), holder: self, sm, holds: false, held: Vec::new() })
    }
}

struct Warps<'a> {
    inner: Box<dyn WarpSource + 'a>,
    holder: &'a Holder,
    sm: u32,
    holds: bool,
    /// Cycles of the held stores.
    held: Vec<u64>,
}

impl WarpSource for Warps<'_> {
    fn start_cta(&mut self, slot: u32, cta: u64, residence: Residence) -> Result<(), SourceError> {
        self.inner.start_cta(slot, cta, residence)
    }

    fn end_cta(&mut self, slot: u32) {
        self.inner.end_cta(slot);
    }

    fn next(&mut self, warp: WarpSlot) -> Result<Next, SourceError> {
        self.inner.next(warp)
    }

    fn issue(&mut self, warp: WarpSlot, now: Moment, execution: &mut Execution) -> Result<(), SourceError> {
        let next = self.inner.next(warp)?;
        let code = &self.holder.kernel().code.instructions;
        if let Next::Instruction(position) = next
            && code[position as usize].class == OperationClass::Store
            && self.holds
        {
            self.held.push(now.cycle);
        }
        self.inner.issue(warp, now, execution)
    }

    fn perform(&mut self, deferred: u32, now: Moment) -> Result<(), SourceError> {
        self.holder.events.lock().unwrap().push(Event::Performed(self.held.len()));
        self.inner.perform(deferred, now)
    }

    fn hold_stores(&mut self) {
        self.holds = true;
    }

    fn oldest_held(&self) -> Option<u64> {
        self.held.first().copied()
    }

    fn publish(&mut self, through: u64) -> Result<(), SourceError> {
        let count = self.held.partition_point(|cycle| *cycle <= through);
        let published = self.held.drain(..count).map(|cycle| Event::Published(cycle, self.sm));
        self.holder.events.lock().unwrap().extend(published);
        Ok(())
    }
}

/// Events of a launch's stores and atomic operations.
fn events(gpu: Gpu, in_order: bool) -> Vec<Event> {
    let address = |thread: Thread| (1 << 30) + thread.number * 4 + thread.iteration * 65536;
    let script = Script::new(160, 64)
        .store(&[], address)
        .atomic(11, &[], |thread: Thread| (1 << 31) + thread.number % 7 * 4)
        .store(&[], address)
        .repeat(0, 4)
        .exit();
    let (mut gpu, holder) = (gpu, Holder { script, in_order, events: Mutex::default() });
    gpu.launch(&holder, &mut ()).unwrap();
    holder.events.into_inner().unwrap()
}

#[test]
fn stores_of_an_epoch_are_published_by_cycle_and_sm() {
    let gpu = titan_v(&[]);
    let epoch = gpu.spec().epoch();
    let published: Vec<(u64, u32, u64)> = events(gpu, false)
        .into_iter()
        .filter_map(|event| match event {
            Event::Published(cycle, sm) => Some((cycle / epoch, sm, cycle)),
            Event::Performed(_) => None,
        })
        .collect();
    assert_eq!(published.len(), 160 * 2 * 2 * 5);
    let key = |&(epoch, sm, cycle): &(u64, u32, u64)| (epoch, cycle, sm);
    assert!(published.is_sorted_by_key(key), "{published:?}");
    let sms = published.iter().map(|(_, sm, _)| sm).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(sms.len(), 80);
}

#[test]
fn atomic_operations_take_effect_when_nothing_is_held() {
    let held = events(titan_v(&[]), false).into_iter().filter_map(|event| match event {
        Event::Performed(held) => Some(held),
        Event::Published(..) => None,
    });
    assert_eq!(held.collect::<Vec<_>>(), vec![0; 160 * 2 * 5]);
}

#[test]
fn threads_do_not_change_the_order_of_events() {
    let one = events(titan_v(&[]), false);
    for threads in [2, 3, 7] {
        assert_eq!(events(titan_v(&[]).with_threads(threads), false), one, "{threads} threads");
    }
}

#[test]
fn sms_in_order_hold_nothing() {
    let is_published = |event: &Event| matches!(event, Event::Published(..));
    assert!(!events(titan_v(&[]).with_threads(2), true).iter().any(is_published));
}
