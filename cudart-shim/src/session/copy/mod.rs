//! Copies and fills of boxes in host and device memory: checked at the call, executed in stream
//! order.

mod modelled;

use crate::abi::error::{Error, Result};
use crate::host::log;
use crate::objects::fault::DeviceFault;
use crate::objects::rows::{Extent, Side};
use crate::session::batch::SourceOrder;
use crate::session::operation::Item;
use crate::session::sanitizer_report;
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use crate::work::copy::{Copy, Fill, Pattern, Place, place};
use crate::work::operation::Operation;
use functional::memory::{AllocationKind, Losses};
use stream_engine::{Context, Scope, StreamId};

/// Largest pageable source in bytes that is staged, so that the caller need not wait for the
/// stream.
const STAGED_BYTES: usize = 64 << 10;

/// Accesses the pages of a box in registered memory, which the program may have protected; the fault if
/// a page forbids the access.
fn check_rights(
    simulator: &Simulator,
    what: &str,
    side: &Side,
    extent: Extent,
    is_written: bool,
) -> std::result::Result<(), DeviceFault> {
    let Some((owner, AllocationKind::Registered)) =
        simulator.session.owner_of(side.address as u64).map(|(owner, found)| (owner, found.kind))
    else {
        return Ok(());
    };
    let before = Losses::now();
    let Extent { width, height, depth } = joined(extent, [*side]);
    for slice in 0..depth {
        for row in 0..height {
            let address = side.row_address(row, slice) as u64;
            owner.device.memory.touch_registered(address, width as u64, is_written);
        }
    }
    if before.since().is_none() {
        return Ok(());
    }
    log::report(|| {
        format!(
            "{what} 0x{:x}: the program has protected this registered host memory; \
             call cudaHostUnregister before mprotect",
            side.address
        )
    });
    Err(DeviceFault { device: simulator.ordinal, error: Error::IllegalAddress })
}

/// The fault of a copy or fill whose memory was freed or unmapped before its turn in the stream.
fn memory_gone(simulator: &Simulator, what: &str, side: &Side, extent: Extent) -> DeviceFault {
    log::report(|| {
        let Extent { width, height, depth } = extent;
        format!(
            "{what} {width} x {height} x {depth} bytes at 0x{:x}: the memory was freed or unmapped before the stream reached the copy",
            side.address
        )
    });
    DeviceFault { device: simulator.ordinal, error: Error::IllegalAddress }
}

/// Merges rows that are contiguous on all sides. The bytes stay the same.
fn joined<const N: usize>(extent: Extent, sides: [Side; N]) -> Extent {
    let Extent { width, height, depth } = extent;
    let slice_bytes = width.saturating_mul(height);
    let rows_follow = height == 1 || sides.iter().all(|side| side.pitch == width);
    let slices_follow = depth == 1 || sides.iter().all(|side| side.slice == slice_bytes);
    match (rows_follow, slices_follow) {
        (true, true) => Extent { width: slice_bytes.saturating_mul(depth), height: 1, depth: 1 },
        (true, false) => Extent { width: slice_bytes, height: 1, depth },
        _ => extent,
    }
}

impl Copy {
    /// Packs the source's rows.
    pub(crate) fn pack_source(&self) -> Vec<u8> {
        let mut packed = vec![0_u8; self.bytes()];
        let Extent { width, height, .. } = self.extent;
        let slice = width.saturating_mul(height);
        let to = Side { address: packed.as_mut_ptr() as usize, pitch: width, slice, ..Side::default() };
        Self { to, to_place: Place::Pageable, ..*self }.move_rows(|_, _, _| {});
        packed
    }

    /// Packs the target's rows.
    pub(crate) fn pack_target(&self) -> Vec<u8> {
        Self { from: self.to, from_place: self.to_place, ..*self }.pack_source()
    }

    /// Executes the copy on behalf of a stream if both ranges are still valid.
    pub(crate) fn run(&self, simulator: &Simulator, stream: u64) -> std::result::Result<(), DeviceFault> {
        for (name, side, expected, is_written) in
            [("copy to", &self.to, self.to_place, true), ("copy from", &self.from, self.from_place, false)]
        {
            if place(simulator, side, self.extent).ok() != Some(expected) {
                return Err(memory_gone(simulator, name, side, self.extent));
            }
            if expected == Place::Shared {
                check_rights(simulator, name, side, self.extent, is_written)?;
            }
        }
        self.execute(simulator.session);
        self.tell_model(simulator, stream)
    }

    /// Executes the copy with a packed source.
    pub(crate) fn run_staged(
        &self,
        source: &[u8],
        simulator: &Simulator,
        stream: u64,
    ) -> std::result::Result<(), DeviceFault> {
        if place(simulator, &self.to, self.extent).ok() != Some(self.to_place) {
            return Err(memory_gone(simulator, "copy to", &self.to, self.extent));
        }
        if self.to_place == Place::Shared {
            check_rights(simulator, "copy to", &self.to, self.extent, true)?;
        }
        self.with_packed_source(source).execute(simulator.session);
        self.tell_model(simulator, stream)
    }

    /// Copies, and tells the checks of it.
    pub(crate) fn execute(&self, session: &'static Session) {
        self.move_rows(|to, from, width| match (self.to_place, self.from_place) {
            (Place::Device, Place::Device) => sanitizer_report::note_copied(session, to, from, width),
            (Place::Device, _) => sanitizer_report::note_written(session, to, width),
            _ => {}
        });
    }

    /// Copies each row and gives the addresses of its target and source and its bytes to `moved`.
    fn move_rows(&self, mut moved: impl FnMut(usize, usize, usize)) {
        let Extent { width, height, depth } = joined(self.extent, [self.to, self.from]);
        for slice in 0..depth {
            for row in 0..height {
                let to = self.to.row_address(row, slice) as *mut u8;
                let from = self.from.row_address(row, slice) as *const u8;
                // SAFETY: device ranges were found in live allocations, which are freed only after
                // the work that uses them. The caller is responsible for host ranges. Ranges may
                // overlap, as on a device.
                unsafe { std::ptr::copy(from, to, width) };
                moved(to as usize, from as usize, width);
            }
        }
    }
}

impl Simulator {
    /// Copies in stream order and waits for completion wherever CUDA does.
    pub(crate) fn copy_now(&'static self, copy: Option<Copy>, stream: StreamId) -> Result<()> {
        self.forbid_capture(stream)?;
        let Some(copy) = copy else { return self.do_nothing(stream) };
        if copy.to_place == Place::Device && copy.from_place == Place::Device {
            return self.submit(stream, Operation::Copy(copy));
        }
        self.engine.run_now(stream, |context: &Context<DeviceFault>| {
            Item::from(Operation::Copy(copy)).run_inside(self, context)
        })?;
        self.pass_on_printed_text();
        Ok(())
    }

    /// An empty copy or fill only checks the stream and the device.
    fn do_nothing(&self, stream: StreamId) -> Result<()> {
        self.engine.is_complete(Scope::Stream(stream))?;
        Ok(())
    }

    /// Copies in stream order without waiting, except for pageable memory: a small pageable source
    /// is staged, otherwise the call waits (CUDA runtime, "API synchronization behavior").
    pub(crate) fn copy_async(&'static self, copy: Option<Copy>, stream: StreamId) -> Result<()> {
        let Some(copy) = copy else { return self.do_nothing(stream) };
        let pageable = |place| place == Place::Pageable;
        if self.add_if_capturing(stream, || Operation::Copy(copy))? {
            return Ok(());
        }
        if pageable(copy.to_place) || (pageable(copy.from_place) && copy.bytes() > STAGED_BYTES) {
            return self.copy_now(Some(copy), stream);
        }
        if pageable(copy.from_place) {
            return self.submit(stream, Operation::StagedCopy(copy, copy.pack_source().into()));
        }
        self.submit(stream, Operation::Copy(copy))
    }

    /// Copies in stream order without waiting, even for pageable memory.
    pub(crate) fn copy_in_batch(
        &'static self,
        copy: Option<Copy>,
        order: SourceOrder,
        stream: StreamId,
    ) -> Result<()> {
        let Some(copy) = copy else { return Ok(()) };
        if self.add_if_capturing(stream, || Operation::Copy(copy))? {
            return Ok(());
        }
        if order == SourceOrder::DuringCall && copy.from_place != Place::Device {
            return self.submit(stream, Operation::StagedCopy(copy, copy.pack_source().into()));
        }
        self.submit(stream, Operation::Copy(copy))
    }

    /// Fills rows with a pattern of 1, 2 or 4 bytes in stream order. `extent.width` is in bytes.
    pub(crate) fn fill(
        &'static self,
        to: Side,
        pattern: Pattern,
        extent: Extent,
        stream: StreamId,
    ) -> Result<()> {
        match Fill::new(self, to, pattern, extent)? {
            Some(fill) => self.enqueue(stream, Operation::Fill(fill)),
            None => self.do_nothing(stream),
        }
    }

    /// Fills without a stream argument. Returns without waiting, except for host-visible memory
    /// (CUDA runtime, "API synchronization behavior", memset).
    pub(crate) fn fill_now(
        &'static self,
        to: Side,
        pattern: Pattern,
        extent: Extent,
        stream: StreamId,
    ) -> Result<()> {
        self.forbid_capture(stream)?;
        self.fill(to, pattern, extent, stream)?;
        let found = self.device.memory.allocation_of(to.address as u64);
        if found.is_some_and(|found| found.kind.is_seen_by_host()) {
            self.synchronize(Scope::Stream(stream))?;
        }
        Ok(())
    }
}

impl Fill {
    /// Executes the fill on behalf of a stream if the range is still valid device memory.
    pub(crate) fn run(&self, simulator: &Simulator, stream: u64) -> std::result::Result<(), DeviceFault> {
        let Self { to, pattern, extent } = *self;
        let place = match place(simulator, &to, extent) {
            Ok(place @ (Place::Device | Place::Shared)) => place,
            _ => return Err(memory_gone(simulator, "fill of", &to, extent)),
        };
        if place == Place::Shared {
            check_rights(simulator, "fill of", &to, extent, true)?;
        }
        let rows = joined(extent, [to]);
        for slice in 0..rows.depth {
            for row in 0..rows.height {
                let address = to.row_address(row, slice);
                pattern.write(address, rows.width);
                sanitizer_report::note_written(simulator.session, address, rows.width);
            }
        }
        self.tell_model(simulator, place, stream)
    }
}

impl Pattern {
    /// Fills `bytes` bytes at a checked, aligned device address.
    fn write(self, address: usize, bytes: usize) {
        let count = bytes / self.size();
        // SAFETY: the caller checked the range and the alignment.
        unsafe {
            match self {
                Self::Byte(value) => std::ptr::write_bytes(address as *mut u8, value, count),
                Self::Half(value) => std::slice::from_raw_parts_mut(address as *mut u16, count).fill(value),
                Self::Word(value) => std::slice::from_raw_parts_mut(address as *mut u32, count).fill(value),
            }
        }
    }
}
