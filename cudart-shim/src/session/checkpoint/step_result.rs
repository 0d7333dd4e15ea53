//! Host effects of a step: recorded after execution, applied when the step is skipped.

use super::step_key::having_read;
use super::{Phase, arguments, place};
use crate::abi::error::{self, Error};
use crate::objects::fault::DeviceFault;
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use crate::work::operation::Operation;
use functional::parameters::ParameterReads;
use saved_run::{Address, Asked, Outcome};
use std::sync::Arc;

/// State before a recorded step.
#[derive(Default)]
pub(super) struct Before {
    /// Undelivered printf output before a kernel.
    printed: Option<Vec<u8>>,
    /// Recorder for parameter reads of a launch.
    pub(super) parameter_reads: Option<Arc<ParameterReads>>,
}

impl Before {
    /// The state before a kernel.
    pub(super) fn kernel(simulator: &Simulator) -> Before {
        Before { printed: Some(simulator.device.take_printed()), parameter_reads: None }
    }

    /// Output that the kernel printed since.
    pub(super) fn printed_since(self, simulator: &Simulator) -> Vec<u8> {
        let Some(before) = self.printed else { return Vec::new() };
        let printed = simulator.device.take_printed();
        simulator.device.add_printed(&before);
        simulator.device.add_printed(&printed);
        printed
    }
}

/// Reasons why an outcome cannot be applied.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApplyError {
    #[error("VOLTSIM_RESUME: the checkpoint has {found} bytes for a copy of {wanted}")]
    Received { found: usize, wanted: usize },
    #[error("VOLTSIM_RESUME: the checkpoint has bytes for {0}, where this run has no host-visible memory")]
    Written(Address),
}

impl Phase {
    /// Captures the state that a step may change; `None` if the step is not recorded.
    pub(super) fn before(&mut self, simulator: &Simulator, operation: &Operation) -> Option<Before> {
        let recorder = self.recorder.as_mut()?;
        let Operation::Kernel(launch) = operation else { return Some(Before::default()) };
        if let Err(error) = recorder.shadow.follow(simulator.session) {
            self.give_up(&error);
            return None;
        }
        Some(Before { parameter_reads: arguments::reads(launch), ..Before::kernel(simulator) })
    }

    /// Records a step that succeeded or failed.
    pub(super) fn after(
        &mut self,
        simulator: &Simulator,
        operation: &Operation,
        (number, asked): (u64, Asked),
        before: Before,
        fault: Option<&DeviceFault>,
    ) {
        let reads = before.parameter_reads.clone();
        let printed = before.printed_since(simulator);
        let Some(recorder) = self.recorder.as_mut() else { return };
        let written = match operation {
            Operation::Kernel(_) => recorder.shadow.changes(simulator.session),
            _ => Ok(Vec::new()),
        };
        match written {
            Ok(written) => {
                let nanoseconds = simulator.model.as_ref().map_or(0, |model| model.now());
                // Memory of a failed copy may have been freed.
                let received = if fault.is_none() { received(operation) } else { None };
                let fault = fault.map(|fault| fault.error.code());
                let outcome = Outcome { received, written, printed, fault, nanoseconds, choice: None };
                let asked = match reads {
                    Some(reads) => having_read(simulator.session, asked, operation, &reads),
                    None => asked,
                };
                self.note(number, asked, outcome);
            }
            Err(error) => self.give_up(&error),
        }
    }
}

/// Bytes that a copy transferred to the host.
fn received(operation: &Operation) -> Option<Vec<u8>> {
    match operation {
        Operation::Copy(copy) if copy.is_from_device() && !copy.is_to_device() => Some(copy.pack_target()),
        _ => None,
    }
}

/// The step's fault in the saved run, if any.
pub(super) fn fault(simulator: &Simulator, outcome: &Outcome) -> Option<DeviceFault> {
    let error = error::texts(outcome.fault?).and_then(|texts| texts.error).unwrap_or(Error::Unknown);
    Some(DeviceFault { device: simulator.ordinal, error })
}

/// Applies a step's saved host effects.
pub(super) fn apply(
    simulator: &Simulator,
    operation: &Operation,
    outcome: &Outcome,
) -> Result<(), ApplyError> {
    if let (Operation::Copy(copy), Some(bytes)) = (operation, &outcome.received) {
        let wanted = copy.extent.bytes();
        if bytes.len() != wanted {
            return Err(ApplyError::Received { found: bytes.len(), wanted });
        }
        copy.with_packed_source(bytes).execute(simulator.session);
    }
    write_seen(simulator.session, &outcome.written)?;
    simulator.device.add_printed(&outcome.printed);
    if let Some(model) = &simulator.model {
        model.set_now(outcome.nanoseconds);
    }
    Ok(())
}

/// Writes host-visible memory.
pub(super) fn write_seen(
    session: &'static Session,
    written: &[(Address, Vec<u8>)],
) -> Result<(), ApplyError> {
    for (place, bytes) in written {
        let written = place::address(session, *place).and_then(|address| {
            let (owner, found) = session.owner_of(address)?;
            found.kind.is_seen_by_host().then(|| owner.device.memory.write(address, bytes))
        });
        if !matches!(written, Some(Ok(()))) {
            return Err(ApplyError::Written(*place));
        }
    }
    Ok(())
}
