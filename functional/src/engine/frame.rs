//! Frames: the registers of one activation of a function, for all lanes of a warp.

mod saved;

use super::divergence::NONE;
use super::op::PREDICATE_TRUE;
pub(crate) use saved::SavedFrame;

/// One register row: 32 words, aligned for the widest vectors.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Row(pub [u32; 32]);

/// The registers of one activation.
#[derive(Debug)]
pub struct Frame {
    rows: Box<[Row]>,
    /// First byte of the first row.
    pub(crate) base: *mut u8,
    /// Where the activation's variables begin in a lane's local memory.
    pub(crate) local_base: u32,
    /// Function, index into the program's functions.
    pub(crate) function: u32,
    /// The call's join.
    pub(crate) call: u32,
    /// The call's site, index into the program's call sites.
    pub(crate) site: u32,
    /// The caller's frame.
    pub(crate) caller: u32,
}

// SAFETY: `base` points into `rows`, which the frame owns.
unsafe impl Send for Frame {}

/// What a new frame of a function looks like: predicate rows, register rows, and those that ops have for themselves.
#[derive(Debug, Clone, Default)]
pub struct FrameLayout {
    /// Rows of predicates at the frame's start.
    pub predicate_rows: usize,
    /// Rows of registers after them.
    pub register_rows: usize,
    /// Numbers of the register rows that some path reads before it writes them; they begin as 0.
    pub unwritten_rows: Vec<usize>,
    /// Rows after those: special registers, and what ops keep for themselves.
    pub scratch_rows: usize,
}

impl FrameLayout {
    /// Rows in all.
    pub fn rows(&self) -> usize {
        self.predicate_rows + self.register_rows + self.scratch_rows
    }
}

impl Frame {
    /// A fresh frame.
    pub(crate) fn new(layout: &FrameLayout, function: u32, local_base: u32) -> Frame {
        let mut rows = vec![Row([0; 32]); layout.rows()].into_boxed_slice();
        let base = rows.as_mut_ptr().cast();
        let mut frame = Frame { rows, base, local_base, function, call: NONE, site: 0, caller: 0 };
        frame.reset(layout);
        frame
    }

    /// Its rows.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Sums of the registers, by lane: what tells two states of a frame apart in most cases.
    pub(super) fn lane_sums(&self) -> [u32; 32] {
        let mut sums = [0_u32; 32];
        for row in &self.rows {
            for (sum, word) in sums.iter_mut().zip(row.0) {
                *sum = sum.wrapping_add(word);
            }
        }
        sums
    }

    /// Notes which call made the frame.
    pub(crate) fn called_from(mut self, site: u32, caller: u32) -> Frame {
        self.site = site;
        self.caller = caller;
        self
    }

    /// Makes the frame fresh for another warp of the same kernel; rows that every path writes before it reads them keep what
    /// they hold.
    pub(crate) fn reset(&mut self, layout: &FrameLayout) {
        self.rows[..layout.predicate_rows].fill(Row([0; 32]));
        for &row in &layout.unwritten_rows {
            self.rows[row] = Row([0; 32]);
        }
        self.rows[0].0[PREDICATE_TRUE as usize] = u32::MAX;
    }
}

/// The frames of a warp: frame 0 is the kernel's.
#[derive(Debug, Default)]
pub struct Frames {
    slots: Vec<Option<Frame>>,
}

impl Frames {
    /// Makes `kernel` frame 0 and the only one.
    pub(crate) fn start(&mut self, kernel: Frame) {
        self.slots.clear();
        self.slots.push(Some(kernel));
    }

    /// All frames.
    pub(super) fn all(&self) -> impl Iterator<Item = &Frame> {
        self.slots.iter().flatten()
    }

    /// Takes frame 0 out, to be used again.
    pub(crate) fn take_kernel(&mut self) -> Option<Frame> {
        self.slots.first_mut()?.take()
    }

    /// The frame of this number.
    pub(crate) fn get(&self, frame: u32) -> &Frame {
        match &self.slots[frame as usize] {
            Some(frame) => frame,
            None => unreachable!("a fragment's frame lives as long as the fragment"),
        }
    }

    /// The frame of this number, if there is one.
    pub(super) fn find(&self, frame: u32) -> Option<&Frame> {
        self.slots.get(frame as usize)?.as_ref()
    }

    /// The frame of this number.
    pub(crate) fn get_mut(&mut self, frame: u32) -> &mut Frame {
        match &mut self.slots[frame as usize] {
            Some(frame) => frame,
            None => unreachable!("a fragment's frame lives as long as the fragment"),
        }
    }

    /// Adds a frame.
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
