//! A captured launch with all that it needs in device memory.

use std::collections::{BTreeMap, BTreeSet};

use cuda_driver::{Driver, DriverError, Function, Module, Sizes};
use launch_capture::{Accessible, Capture};
use warp_stream::{Past, Trace, UsedPage};

use super::address_space::AddressSpace;
use super::objects::Objects;
use super::placement::Placement;
use super::refused;
use crate::failure::Failure;

/// Bytes that are compared, and written if they differ, at a time.
const PIECE: usize = 64 << 10;

/// A launch that can be started.
pub(super) struct PreparedLaunch<'a> {
    driver: &'a Driver,
    capture: &'a Capture,
    /// Allocated memory, if that is known.
    accessible: Option<&'a Accessible>,
    function: Function,
    pub(super) placement: Placement,
    pub(super) objects: Objects,
    /// Bytes of its memory that were other than they had to be, in whole pieces.
    pub(super) restored: u64,
}

impl<'a> PreparedLaunch<'a> {
    /// Brings its memory to what it was.
    pub(super) fn new(
        driver: &'a Driver,
        module: Module,
        (capture, accessible): (&'a Capture, Option<&'a Accessible>),
        space: &mut AddressSpace,
    ) -> Result<PreparedLaunch<'a>, Failure> {
        let failed = |error: DriverError| refused(capture, error);
        let launch = capture.launch();
        let function = driver.function(module, &launch.kernel).map_err(failed)?;
        let mut placement = Placement::new(driver, module, (capture, accessible), space).map_err(failed)?;
        let objects = Objects::new(driver, module, capture, &placement)?;
        placement.objects.clone_from(&objects.handles);
        let mut prepared =
            PreparedLaunch { driver, capture, accessible, function, placement, objects, restored: 0 };
        prepared.fill(space.is_used_again())?;
        let omitted = launch.omitted.iter().map(|what| format!("not captured, so not as it was: {what}"));
        for warning in omitted.chain(prepared.placement.warnings.iter().cloned()) {
            eprintln!("voltsim: {}: {warning}", capture.path().display());
        }
        Ok(prepared)
    }

    /// Writes the buffers as they were, with new addresses in them. The module's variables come
    /// first: they tell where device functions are. Memory that launches before have used is
    /// written where it differs.
    fn fill(&mut self, used: bool) -> Result<(), Failure> {
        let capture = self.capture;
        let failed = |error: DriverError| refused(capture, error);
        let buffers = &capture.launch().buffers;
        let variables = buffers.iter().enumerate().filter(|(_, buffer)| buffer.variable.is_some());
        let others = buffers.iter().enumerate().filter(|(_, buffer)| buffer.variable.is_none());
        for (number, buffer) in variables.chain(others) {
            let address = self.placement.address(number);
            let mut bytes = capture.contents(number)?;
            let there = self.driver.peek(address, buffer.size).map_err(failed)?;
            if !buffer.functions.is_empty() {
                if buffer.variable.is_some() {
                    self.placement.learn_functions(&mut bytes, &there, &buffer.functions);
                } else {
                    self.placement.relocate_functions(number, &mut bytes, &buffer.functions);
                }
            }
            self.placement.relocate(&mut bytes, &buffer.pointers);
            self.placement.relocate_objects(&mut bytes, &buffer.objects);
            for (piece, (wanted, found)) in bytes.chunks(PIECE).zip(there.chunks(PIECE)).enumerate() {
                if !used || wanted != found {
                    let at = address.wrapping_add((piece * PIECE) as u64);
                    self.driver.put(at, wanted).map_err(failed)?;
                    self.restored += wanted.len() as u64;
                }
            }
        }
        Ok(())
    }

    /// The launch's past at the present addresses of its buffers. A buffer at another address has
    /// no past.
    pub(super) fn past_here(&self, mut past: Past) -> Past {
        self.move_pages(&mut past.pages);
        self.move_traces(&mut past.traces);
        past
    }

    /// Buffers of the launch: captured address, present address, bytes.
    fn places(&self) -> impl Iterator<Item = (u64, u64, u64)> + Clone {
        let buffers = self.capture.launch().buffers.iter().enumerate();
        buffers.map(|(number, buffer)| (buffer.address.0, self.placement.address(number), buffer.size))
    }

    fn move_pages(&self, used: &mut Vec<UsedPage>) {
        let before: BTreeMap<u64, u64> = used.iter().map(|page| (page.address, page.ctas)).collect();
        let (moved, stay): (Vec<_>, Vec<_>) = self.places().partition(|(old, new, _)| old != new);
        let pages_of = |places: &[(u64, u64, u64)]| -> BTreeSet<u64> {
            places.iter().flat_map(|(_, new, size)| Past::pages_of(*new, *size)).collect()
        };
        let (theirs, others) = (pages_of(&moved), pages_of(&stay));
        used.retain(|page| others.contains(&page.address) || !theirs.contains(&page.address));
        for (old, new, size) in moved {
            if let Some(ctas) = Past::pages_of(old, size).filter_map(|page| before.get(&page).copied()).max()
            {
                used.extend(Past::pages_of(new, size).map(|address| UsedPage { address, ctas }));
            }
        }
    }

    fn move_traces(&self, traces: &mut Vec<Trace>) {
        let moved = self.places().filter(|(old, new, _)| old != new);
        let taken: BTreeMap<u64, u64> = moved.map(|(_, new, size)| (new, new.saturating_add(size))).collect();
        let is_taken = |line: u64| taken.range(..=line).next_back().is_some_and(|(_, end)| line < *end);
        traces.retain_mut(|trace| match self.placement.moved(trace.line) {
            Some(line) => {
                trace.line = line;
                // A line of memory that is divided into lines otherwise now would be parts of two.
                line.is_multiple_of(Past::LINE)
            }
            None => !is_taken(trace.line),
        });
    }

    /// Starts the launch. Memory that was not allocated at the launch's capture is out of bounds
    /// from here on.
    pub(super) fn launch(&self) -> Result<(), Failure> {
        let launch = self.capture.launch();
        let mut parameters = launch.parameter_block();
        for parameter in &launch.parameters {
            let from = parameter.offset as usize;
            if let Some(value) = parameters.get_mut(from..from + parameter.bytes.len()) {
                self.placement.relocate(value, &parameter.pointers);
                self.placement.relocate_objects(value, &parameter.objects);
            }
        }
        let offsets: Vec<usize> =
            launch.parameters.iter().map(|parameter| parameter.offset as usize).collect();
        let sizes = Sizes {
            shape: launch.shape(),
            dynamic_shared: launch.dynamic_shared,
            cooperative: launch.cooperative,
            cluster: launch.cluster,
        };
        if let Some(accessible) = self.accessible {
            self.driver.narrow(Some(&accessible.ranges));
        }
        let launched = self.driver.launch(self.function, sizes, &mut parameters, &offsets);
        launched.map_err(|error| refused(self.capture, error))
    }
}
