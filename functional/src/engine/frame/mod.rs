//! Frames: registers of one activation of a function, for all lanes of a warp.

mod saved;

use super::divergence::NONE;
use super::op::PREDICATE_TRUE;
pub(crate) use saved::SavedFrame;

/// A register row: 32 words, aligned for the widest vectors.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Row(pub [u32; 32]);

/// Registers of one activation.
#[derive(Debug)]
pub struct Frame {
    rows: Box<[Row]>,
    /// First byte of the first row.
    pub(crate) base: *mut u8,
    /// Start of the activation's variables in a lane's local memory.
    pub(crate) local_base: u32,
    /// Function, as an index into the program's functions.
    pub(crate) function: u32,
    /// Join of the call.
    pub(crate) call: u32,
    /// Call site, as an index into the program's call sites.
    pub(crate) site: u32,
    /// Frame of the caller.
    pub(crate) caller: u32,
}

// SAFETY: `base` points into `rows`, which the frame owns.
unsafe impl Send for Frame {}

/// Layout of a function's frame: predicate rows, register rows, and scratch rows.
#[derive(Debug, Clone, Default)]
pub struct FrameLayout {
    /// Predicate rows at the start of the frame.
    pub predicate_rows: usize,
    /// Register rows after the predicate rows.
    pub register_rows: usize,
    /// Register rows that some path reads before writing; they start as 0.
    pub unwritten_rows: Vec<usize>,
    /// Rows after the registers: special registers and scratch rows of ops.
    pub scratch_rows: usize,
}

impl FrameLayout {
    /// Total number of rows.
    pub fn rows(&self) -> usize {
        self.predicate_rows + self.register_rows + self.scratch_rows
    }
}

impl Frame {
    /// Creates a frame.
    pub(crate) fn new(layout: &FrameLayout, function: u32, local_base: u32) -> Frame {
        let mut rows = vec![Row([0; 32]); layout.rows()].into_boxed_slice();
        let base = rows.as_mut_ptr().cast();
        let mut frame = Frame { rows, base, local_base, function, call: NONE, site: 0, caller: 0 };
        frame.reset(layout);
        frame
    }

    /// All rows.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Sums of the registers per lane: a fingerprint of the frame's state.
    pub(super) fn lane_sums(&self) -> [u32; 32] {
        let mut sums = [0_u32; 32];
        for row in &self.rows {
            for (sum, word) in sums.iter_mut().zip(row.0) {
                *sum = sum.wrapping_add(word);
            }
        }
        sums
    }

    /// Records the call that made the frame.
    pub(crate) fn called_from(mut self, site: u32, caller: u32) -> Frame {
        self.site = site;
        self.caller = caller;
        self
    }

    /// Resets the frame for another warp of the same kernel. Rows that every path writes before reading
    /// keep their contents.
    pub(crate) fn reset(&mut self, layout: &FrameLayout) {
        self.rows[..layout.predicate_rows].fill(Row([0; 32]));
        for &row in &layout.unwritten_rows {
            self.rows[row] = Row([0; 32]);
        }
        self.rows[0].0[PREDICATE_TRUE as usize] = u32::MAX;
    }
}

/// Frames of a warp: frame 0 is the kernel's.
#[derive(Debug, Default)]
pub struct Frames {
    slots: Vec<Option<Frame>>,
}

impl Frames {
    /// Makes `kernel` the only frame, with number 0.
    pub(crate) fn start(&mut self, kernel: Frame) {
        self.slots.clear();
        self.slots.push(Some(kernel));
    }

    /// All frames.
    pub(super) fn all(&self) -> impl Iterator<Item = &Frame> {
        self.slots.iter().flatten()
    }

    /// Takes frame 0 out for reuse.
    pub(crate) fn take_kernel(&mut self) -> Option<Frame> {
        self.slots.first_mut()?.take()
    }

    /// Frame number `frame`.
    pub(crate) fn get(&self, frame: u32) -> &Frame {
        match &self.slots[frame as usize] {
            Some(frame) => frame,
            None => unreachable!("a fragment's frame lives as long as the fragment"),
        }
    }

    /// Frame number `frame`, if it exists.
    pub(super) fn find(&self, frame: u32) -> Option<&Frame> {
        self.slots.get(frame as usize)?.as_ref()
    }

    /// Frame number `frame`.
    pub(crate) fn get_mut(&mut self, frame: u32) -> &mut Frame {
        match &mut self.slots[frame as usize] {
            Some(frame) => frame,
            None => unreachable!("a fragment's frame lives as long as the fragment"),
        }
    }

    /// Adds a frame and returns its number.
    pub(crate) fn push(&mut self, frame: Frame) -> u32 {
        match self.slots.iter().skip(1).position(Option::is_none) {
            Some(free) => {
                self.slots[free + 1] = Some(frame);
                free as u32 + 1
            }
            None => {
                self.slots.push(Some(frame));
                (self.slots.len() - 1) as u32
            }
        }
    }

    /// Drops a frame.
    pub(crate) fn pop(&mut self, frame: u32) {
        if let Some(slot) = self.slots.get_mut(frame as usize) {
            *slot = None;
        }
    }
}
