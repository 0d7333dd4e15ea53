//! Device copies and fills of a session.

use super::{LaunchId, Session};
use crate::gpu::transfer::{RunningTransfer, Transfer};
use crate::gpu::{Gpu, LaunchError};
use crate::record::TransferRecord;

impl Session<'_, '_> {
    /// Begins a device copy or fill in a numbered stream, at a core cycle or as soon after it as
    /// possible.
    ///
    /// # Errors
    /// The transfer exceeds device memory.
    pub fn begin_transfer(
        &mut self,
        transfer: Transfer,
        stream: u64,
        cycle: u64,
    ) -> Result<LaunchId, LaunchError> {
        transfer.fits().map_err(LaunchError::Transfer)?;
        let Gpu { spec, run_to, .. } = &*self.epochs.gpu;
        let start = cycle.max(run_to.saturating_sub(u64::from(spec.launch.launch)));
        self.count_from(start);
        let id = self.free_id();
        let transfer = RunningTransfer::new(&self.epochs.gpu.spec, id, stream, transfer, start);
        self.epochs.add_transfer(transfer);
        Ok(id)
    }

    /// Record of a completed transfer.
    pub(super) fn transfer_record(&mut self, ended: &RunningTransfer) -> Result<TransferRecord, LaunchError> {
        let RunningTransfer { stream, transfer, start, shared, .. } = *ended;
        let end = ended.end(&self.epochs.gpu.spec).ok_or(LaunchError::Nothing)?;
        let (counters, channels, _) = self.counted(end, || format!("a {}", transfer.name()))?;
        Ok(TransferRecord {
            is_fill: transfer.from.is_none(),
            stream,
            bytes: transfer.bytes(),
            start,
            cycles: end - start,
            shared,
            counters,
            channels,
        })
    }
}
