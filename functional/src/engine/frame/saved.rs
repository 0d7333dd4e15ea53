//! Saved state of a frame. Special registers are derived from the launch.

use serde::{Deserialize, Serialize};

use super::{Frame, FrameLayout, Frames, Row};
use crate::engine::op::PREDICATE_TRUE;
use crate::engine::program::{BoundFunction, Program};

/// Saved state of a frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct SavedFrame {
    /// Function, as an index into the program's functions.
    pub(crate) function: u32,
    /// Join of the call.
    pub(crate) call: u32,
    /// Start of the activation's variables in a lane's local memory.
    pub(crate) local_base: u32,
    /// All rows.
    words: Vec<u32>,
}

impl SavedFrame {
    /// True if the number of rows matches `layout`.
    pub(crate) fn fits(&self, layout: &FrameLayout) -> bool {
        self.words.len() == layout.rows() * 32
    }
}

impl Frame {
    /// Saves the frame.
    fn save(&self) -> SavedFrame {
        SavedFrame {
            function: self.function,
            call: self.call,
            local_base: self.local_base,
            words: self.rows.iter().flat_map(|row| row.0).collect(),
        }
    }

    /// Restores a frame that fits `layout`, called from `site` in frame `caller`. The rows of special
    /// registers stay unfilled.
    fn restore(saved: &SavedFrame, layout: &FrameLayout, (site, caller): (u32, u32)) -> Frame {
        let mut frame = Frame::new(layout, saved.function, saved.local_base).called_from(site, caller);
        frame.call = saved.call;
        for (row, words) in frame.rows.iter_mut().zip(saved.words.chunks_exact(32)) {
            *row = Row(std::array::from_fn(|lane| words[lane]));
        }
        frame.rows[0].0[PREDICATE_TRUE as usize] = u32::MAX;
        frame
    }
}

impl Frames {
    /// Saves all frames.
    pub(crate) fn save(&self) -> Vec<Option<SavedFrame>> {
        self.slots.iter().map(|slot| slot.as_ref().map(Frame::save)).collect()
    }

    /// Restores frames of the program's functions. `caller` returns call site and caller's frame of a join;
    /// `fill` fills the rows of special registers.
    pub(crate) fn restore(
        saved: &[Option<SavedFrame>],
        program: &Program,
        caller: impl Fn(u32) -> (u32, u32),
        mut fill: impl FnMut(&BoundFunction, *mut u8),
    ) -> Frames {
        let mut restore = |saved: &SavedFrame| {
            let function = &program.functions[saved.function as usize];
            let frame = Frame::restore(saved, &function.layout, caller(saved.call));
            fill(function, frame.base);
            frame
        };
        Frames { slots: saved.iter().map(|slot| slot.as_ref().map(&mut restore)).collect() }
    }
}
