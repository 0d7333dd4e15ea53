//! Replay of recordings.

use std::collections::BTreeMap;

use warp_stream::{
    Execution, Kernel, KernelSource, Moment, Next, RegisterSource, Residence, SourceError, WarpSlot,
    WarpSource,
};

use super::file::{self, Block};
use super::script::{Cursor, is_event};
use super::{CtaScript, RecordingError};

/// A launch with the executed instructions of its warps.
#[derive(Debug, Clone)]
pub struct Recording {
    kernel: Kernel,
    ctas: Vec<Block>,
    /// Compute capability of the traced card times ten.
    capability: Option<u32>,
}

impl Recording {
    /// A recording of CTAs by number; all CTAs of the grid must be present.
    pub(crate) fn new(
        kernel: Kernel,
        ctas: impl IntoIterator<Item = (u64, Result<CtaBlock, RecordingError>)>,
    ) -> Result<Recording, RecordingError> {
        let mut blocks = BTreeMap::new();
        for (cta, block) in ctas {
            if blocks.insert(cta, block?.0).is_some() {
                return Err(RecordingError::Cta { cta, times: 2 });
            }
        }
        Recording { kernel, ctas: blocks.into_values().collect(), capability: None }.complete()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The file is no recording, of another version, or incomplete.
    pub fn read(file: &[u8]) -> Result<Recording, RecordingError> {
        let (kernel, ctas) = file::read(file)?;
        let kernel = kernel.value()?;
        Recording { kernel, ctas, capability: None }.complete()
    }

    /// Sets the compute capability of the traced card, times ten.
    pub(crate) fn of_capability(self, capability: Option<u32>) -> Recording {
        Recording { capability, ..self }
    }

    /// The launch with other registers per thread, given by the user.
    pub fn with_registers(mut self, registers: u32) -> Recording {
        self.kernel.registers = registers;
        self.kernel.register_source = RegisterSource::Option;
        self
    }

    /// Compute capability times ten of the traced card; `None` for a recorded launch.
    pub fn capability(&self) -> Option<u32> {
        self.capability
    }

    /// Encodes a file.
    ///
    /// # Errors
    /// The kernel's code is too large.
    pub fn write(&self) -> Result<Vec<u8>, RecordingError> {
        Ok(file::write(&Block::new(0, &self.kernel)?, &self.ctas))
    }

    fn complete(self) -> Result<Recording, RecordingError> {
        let expected = self.kernel.shape.checked_cta_count();
        let missing = || self.ctas.iter().zip(0..).find(|(block, cta)| block.number != *cta);
        match missing() {
            Some((block, cta)) if block.number > cta => Err(RecordingError::Cta { cta, times: 0 }),
            Some((block, _)) => Err(RecordingError::Cta { cta: block.number, times: 2 }),
            None if expected != Some(self.ctas.len() as u64) => {
                Err(RecordingError::Cta { cta: self.ctas.len() as u64, times: 0 })
            }
            None => Ok(self),
        }
    }

    /// Instructions that a CTA executed.
    pub(crate) fn script(&self, cta: u64) -> Result<CtaScript, RecordingError> {
        let inconsistent = |reason: &str| RecordingError::Inconsistent { cta, reason: reason.to_owned() };
        let index = usize::try_from(cta).map_err(|_| inconsistent("the grid has fewer CTAs"))?;
        let block = self.ctas.get(index).ok_or_else(|| inconsistent("the grid has fewer CTAs"))?;
        let script: CtaScript = block.value()?;
        let instructions = self.kernel.code.instructions.len();
        if script.warps.len() != self.kernel.shape.warps_per_cta() as usize {
            return Err(inconsistent("its number of warps differs from the block's"));
        }
        let steps = || script.warps.iter().flat_map(|warp| &warp.steps);
        if steps().any(|step| step.position as usize >= instructions) {
            return Err(inconsistent("the kernel has fewer instructions"));
        }
        let releases = script.releases.len();
        if steps().any(|step| step.release as usize > releases)
            || script.releases.iter().any(|release| release.len() != script.warps.len())
        {
            return Err(inconsistent("a warp waits for a missing release"));
        }
        Ok(script)
    }
}

/// A CTA ready to be written.
#[derive(Debug, Clone)]
pub(crate) struct CtaBlock(Block);

impl CtaBlock {
    /// Encodes a CTA's instructions.
    pub fn new(cta: u64, script: &CtaScript) -> Result<CtaBlock, RecordingError> {
        Block::new(cta, script).map(CtaBlock)
    }
}

impl KernelSource for Recording {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn warps(&self, _: u32) -> Box<dyn WarpSource + '_> {
        Box::new(Replay { recording: self, ctas: Vec::new(), deferred: Vec::new() })
    }
}

/// A running warp.
#[derive(Debug, Clone, Default)]
struct Warp {
    step: usize,
    cursor: Cursor,
    /// Barriers and exits issued.
    events: u32,
    /// Deferred instructions not yet performed.
    outstanding: u32,
}

/// A running CTA.
struct Cta {
    script: CtaScript,
    warps: Vec<Warp>,
}

/// CTAs of one SM.
struct Replay<'a> {
    recording: &'a Recording,
    ctas: Vec<Option<Cta>>,
    /// Warp of each deferred instruction, by number. Performed entries are reused.
    deferred: Vec<Option<WarpSlot>>,
}

impl Replay<'_> {
    fn cta(&mut self, slot: u32) -> Result<&mut Cta, SourceError> {
        let cta = self.ctas.get_mut(slot as usize).and_then(Option::as_mut);
        cta.ok_or_else(|| failure("no CTA runs in this slot"))
    }

    fn defer(&mut self, warp: WarpSlot) -> u32 {
        let free = self.deferred.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            self.deferred.push(None);
            self.deferred.len() - 1
        });
        self.deferred[number] = Some(warp);
        number as u32
    }
}

fn failure(reason: &str) -> SourceError {
    SourceError(reason.into())
}

fn source_error(error: RecordingError) -> SourceError {
    SourceError(error.into())
}

impl WarpSource for Replay<'_> {
    fn start_cta(&mut self, slot: u32, cta: u64, _: Residence) -> Result<(), SourceError> {
        let script = self.recording.script(cta).map_err(source_error)?;
        let warps = vec![Warp::default(); script.warps.len()];
        let slot = slot as usize;
        if self.ctas.len() <= slot {
            self.ctas.resize_with(slot + 1, || None);
        }
        self.ctas[slot] = Some(Cta { script, warps });
        Ok(())
    }

    fn end_cta(&mut self, slot: u32) {
        if let Some(cta) = self.ctas.get_mut(slot as usize) {
            *cta = None;
        }
    }

    fn next(&mut self, warp: WarpSlot) -> Result<Next, SourceError> {
        let Cta { script, warps } = self.cta(warp.cta)?;
        let (Some(own), Some(steps)) = (warps.get(warp.warp as usize), script.warps.get(warp.warp as usize))
        else {
            return Err(failure("the CTA has fewer warps"));
        };
        let Some(step) = steps.steps.get(own.step) else { return Ok(Next::Finished) };
        if step.after_deferred && own.outstanding > 0 {
            return Ok(Next::Waiting);
        }
        let release = (step.release as usize).checked_sub(1).and_then(|index| script.releases.get(index));
        let waits = release
            .is_some_and(|events| warps.iter().zip(events).any(|(other, &events)| other.events < events));
        Ok(if waits { Next::Waiting } else { Next::Instruction(step.position) })
    }

    fn issue(&mut self, warp: WarpSlot, _: Moment, execution: &mut Execution) -> Result<(), SourceError> {
        let code = &self.recording.kernel.code.instructions;
        let Cta { script, warps } = self.cta(warp.cta)?;
        let index = warp.warp as usize;
        let (Some(own), Some(steps)) = (warps.get_mut(index), script.warps.get(index)) else {
            return Err(failure("the CTA has fewer warps"));
        };
        let step = *steps.steps.get(own.step).ok_or_else(|| failure("the warp has finished"))?;
        steps
            .execution(&mut own.cursor, &step, execution)
            .ok_or_else(|| failure("the recording has fewer addresses than its instructions need"))?;
        own.step += 1;
        own.events += u32::from(is_event(&code[step.position as usize]));
        if step.deferred {
            own.outstanding += 1;
            execution.deferred = Some(self.defer(warp));
        }
        Ok(())
    }

    fn perform(&mut self, deferred: u32, _: Moment) -> Result<(), SourceError> {
        let slot = self.deferred.get_mut(deferred as usize).and_then(Option::take);
        let warp = slot.ok_or_else(|| failure("no instruction of this number was deferred"))?;
        if let Some(own) = self.cta(warp.cta)?.warps.get_mut(warp.warp as usize) {
            own.outstanding -= 1;
        }
        Ok(())
    }
}
