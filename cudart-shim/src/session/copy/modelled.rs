//! Reports copies and fills to the timing model, recordings and kernel streams.

use super::{Copy, Extent, Fill, Place, Side};
use crate::objects::fault::DeviceFault;
use crate::session::simulator::Simulator;
use crate::session::{kernel_stream, recording};
use timing::gpu::{self, Rows, Transfer};

type Told = Result<(), DeviceFault>;

impl Copy {
    /// Times a copy between host and device, including strided ones, or within the device.
    pub(crate) fn tell_model(&self, simulator: &Simulator, stream: u64) -> Told {
        let (direction, side) = match (self.to_place, self.from_place) {
            (Place::Device, Place::Pageable | Place::Shared) => (gpu::Direction::ToDevice, &self.to),
            (Place::Pageable | Place::Shared, Place::Device) => (gpu::Direction::FromDevice, &self.from),
            (Place::Device, Place::Device) => {
                let from = Some(rows(&self.from, self.extent));
                return tell_of(simulator, Transfer { to: rows(&self.to, self.extent), from }, stream);
            }
            _ => return Ok(()),
        };
        let address = side.row_address(0, 0) as u64;
        let copy = gpu::Copy { direction, address, bytes: self.bytes() as u64 };
        recording::copied(simulator.session, copy);
        kernel_stream::copied(simulator.session, copy);
        simulator.model.as_ref().map_or(Ok(()), |model| model.copied(simulator, copy))
    }
}

impl Fill {
    /// Times a fill of device memory.
    pub(super) fn tell_model(&self, simulator: &Simulator, place: Place, stream: u64) -> Told {
        if place != Place::Device {
            return Ok(());
        }
        tell_of(simulator, Transfer { to: rows(&self.to, self.extent), from: None }, stream)
    }
}

/// Reports a transfer. Transfers that involve another device are not reported.
fn tell_of(simulator: &Simulator, transfer: Transfer, stream: u64) -> Told {
    let is_own = |rows: &Rows| simulator.device.memory.allocation_of(rows.address).is_some();
    if !is_own(&transfer.to) || transfer.from.is_some_and(|from| !is_own(&from)) {
        return Ok(());
    }
    kernel_stream::transferred(simulator.session, &transfer);
    simulator.model.as_ref().map_or(Ok(()), |model| model.transferred(simulator, transfer, stream))
}

fn rows(side: &Side, Extent { width, height, depth }: Extent) -> Rows {
    let [address, pitch, slice] = [side.address, side.pitch, side.slice].map(|bytes| bytes as u64);
    let [width, height, depth] = [width, height, depth].map(|count| count as u64);
    Rows { address, width, height, depth, pitch, slice }
}
