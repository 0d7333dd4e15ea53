//! Records a source while a model drives it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use warp_stream::{
    Execution, Kernel, KernelSource, MachineCode, Moment, Next, OperationClass, Residence, SourceError,
    WARP_SIZE, WarpSlot, WarpSource,
};

use super::replay::CtaBlock;
use super::script::{Cursor, is_event};
use super::{CtaScript, Recording, RecordingError, Step, WarpScript};

type Finished = BTreeMap<u64, Result<CtaBlock, RecordingError>>;

/// A source that wraps another and records its behaviour.
///
/// The recording includes waits, so that a replay in another order keeps barriers. Each wait holds
/// the number of barriers and exits that every warp of the CTA had issued at its end.
pub struct Recorder<'a> {
    inner: &'a dyn KernelSource,
    finished: Mutex<Finished>,
}

impl<'a> Recorder<'a> {
    /// Starts to record a launch.
    pub fn new(inner: &'a dyn KernelSource) -> Recorder<'a> {
        Recorder { inner, finished: Mutex::default() }
    }

    /// The recording of an ended launch.
    ///
    /// # Errors
    /// A CTA has not ended, or is too large.
    pub fn finish(self) -> Result<Recording, RecordingError> {
        let finished = self.finished.into_inner().unwrap_or_else(PoisonError::into_inner);
        Recording::new(self.inner.kernel().clone(), finished)
    }
}

impl KernelSource for Recorder<'_> {
    fn kernel(&self) -> &Kernel {
        self.inner.kernel()
    }

    fn cta_count(&self) -> u64 {
        self.inner.cta_count()
    }

    fn cta(&self, position: u64) -> u64 {
        self.inner.cta(position)
    }

    fn needs_sm_order(&self) -> bool {
        self.inner.needs_sm_order()
    }

    fn warps(&self, sm: u32) -> Box<dyn WarpSource + '_> {
        let kernel = self.inner.kernel();
        Box::new(RecordingSource {
            inner: self.inner.warps(sm),
            finished: &self.finished,
            code: Arc::clone(&kernel.code),
            warps: kernel.shape.warps_per_cta(),
            ctas: BTreeMap::new(),
            deferred: BTreeMap::new(),
        })
    }
}

/// A running warp.
#[derive(Default)]
struct Warp {
    script: WarpScript,
    cursor: Cursor,
    /// Barriers and exits issued.
    events: u32,
    last: Option<OperationClass>,
    /// The source reported that the warp waits.
    waits: bool,
    /// Release that the next step waited for.
    release: u32,
    after_deferred: bool,
}

/// A running CTA.
struct Cta {
    number: u64,
    warps: Vec<Warp>,
    releases: Vec<Vec<u32>>,
}

struct RecordingSource<'a> {
    inner: Box<dyn WarpSource + 'a>,
    finished: &'a Mutex<Finished>,
    code: Arc<MachineCode>,
    warps: u32,
    /// By slot.
    ctas: BTreeMap<u32, Cta>,
    /// Slot of each deferred instruction's CTA.
    deferred: BTreeMap<u32, u32>,
}

impl RecordingSource<'_> {
    /// Records the waiting warps that an event released. Returns the number of the release.
    fn note_released(&mut self, slot: u32, by_deferred: bool) -> Result<u32, SourceError> {
        let Some(cta) = self.ctas.get_mut(&slot) else { return Ok(0) };
        let mut release = None;
        for index in 0..cta.warps.len() {
            let warp = WarpSlot { cta: slot, warp: index as u32 };
            if !cta.warps[index].waits || self.inner.next(warp)? == Next::Waiting {
                continue;
            }
            let at_barrier = cta.warps[index].last == Some(OperationClass::Barrier);
            let own = &mut cta.warps[index];
            own.waits = false;
            own.after_deferred |= by_deferred;
            if !by_deferred || at_barrier {
                let number = *release.get_or_insert_with(|| {
                    cta.releases.push(cta.warps.iter().map(|warp| warp.events).collect());
                    cta.releases.len() as u32
                });
                cta.warps[index].release = number;
            }
        }
        Ok(release.unwrap_or(0))
    }

    /// Records an instruction's effect on the other warps of the CTA, and a wait of the warp
    /// itself.
    fn note_waits(&mut self, warp: WarpSlot, class: OperationClass, event: bool) -> Result<(), SourceError> {
        let waits = self.inner.next(warp)? == Next::Waiting;
        if let Some(own) = self.warp(warp) {
            own.waits = waits;
            own.events += u32::from(event);
        }
        if !event {
            return Ok(());
        }
        let release = self.note_released(warp.cta, false)?;
        // The last warp at a barrier continues at once; in another order it would have waited.
        if class == OperationClass::Barrier
            && !waits
            && let Some(own) = self.warp(warp)
        {
            own.release = release;
        }
        Ok(())
    }

    fn warp(&mut self, warp: WarpSlot) -> Option<&mut Warp> {
        self.ctas.get_mut(&warp.cta)?.warps.get_mut(warp.warp as usize)
    }
}

impl WarpSource for RecordingSource<'_> {
    fn start_cta(&mut self, slot: u32, cta: u64, residence: Residence) -> Result<(), SourceError> {
        self.inner.start_cta(slot, cta, residence)?;
        let warps = (0..self.warps).map(|_| Warp::default()).collect();
        self.ctas.insert(slot, Cta { number: cta, warps, releases: Vec::new() });
        Ok(())
    }

    fn end_cta(&mut self, slot: u32) {
        self.inner.end_cta(slot);
        let Some(Cta { number, warps, releases }) = self.ctas.remove(&slot) else { return };
        let script = CtaScript { warps: warps.into_iter().map(|warp| warp.script).collect(), releases };
        let block = CtaBlock::new(number, &script);
        self.finished.lock().unwrap_or_else(PoisonError::into_inner).insert(number, block);
    }

    fn next(&mut self, warp: WarpSlot) -> Result<Next, SourceError> {
        let next = self.inner.next(warp)?;
        if let Some(own) = self.warp(warp) {
            own.waits = next == Next::Waiting;
        }
        Ok(next)
    }

    fn issue(&mut self, warp: WarpSlot, now: Moment, execution: &mut Execution) -> Result<(), SourceError> {
        let Next::Instruction(position) = self.inner.next(warp)? else {
            return self.inner.issue(warp, now, execution);
        };
        self.inner.issue(warp, now, execution)?;
        let instruction = self.code.instructions.get(position as usize).copied();
        let (Some(instruction), Some(own)) = (instruction, self.warp(warp)) else { return Ok(()) };
        let step = Step {
            position,
            active: execution.active,
            space: instruction.memory.is_some().then_some(execution.space),
            texels: execution.texels.len() as u32,
            deferred: execution.deferred.is_some(),
            sleep: execution.sleep,
            after_deferred: std::mem::take(&mut own.after_deferred),
            release: std::mem::take(&mut own.release),
        };
        let lanes = (0..WARP_SIZE).filter(|lane| step.space.is_some() && step.active >> lane & 1 != 0);
        let addresses = lanes.map(|lane| execution.addresses[lane]).chain(execution.texels.iter().copied());
        own.script.push(&mut own.cursor, step, addresses);
        own.last = Some(instruction.class);
        if let Some(number) = execution.deferred {
            self.deferred.insert(number, warp.cta);
        }
        let event = is_event(&instruction);
        if event || execution.deferred.is_some() {
            self.note_waits(warp, instruction.class, event)
        } else {
            Ok(())
        }
    }

    fn perform(&mut self, deferred: u32, now: Moment) -> Result<(), SourceError> {
        self.inner.perform(deferred, now)?;
        match self.deferred.remove(&deferred) {
            Some(slot) => self.note_released(slot, true).map(drop),
            None => Ok(()),
        }
    }

    fn hold_stores(&mut self) {
        self.inner.hold_stores();
    }

    fn oldest_held(&self) -> Option<u64> {
        self.inner.oldest_held()
    }

    fn publish(&mut self, through: u64) -> Result<(), SourceError> {
        self.inner.publish(through)
    }
}
