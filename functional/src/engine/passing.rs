//! Transfer of parameters and results between frames, and between a frame and native functions.

use super::address_translation::lanes_of;
use super::constants::row_at;
use super::program::{ParameterPlace, Piece, PiecePlace};
use super::warp_context::WarpContext;

/// Rows and local memory of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameMemory {
    /// First byte of the first row.
    pub(super) rows: *mut u8,
    /// Byte offset of the frame's part in a lane's local memory.
    pub(super) local: u32,
}

/// Bytes of the largest value in registers: four registers of 128 bits.
const LARGEST_IN_REGISTERS: usize = 64;

impl WarpContext<'_> {
    /// Memory of the running frame.
    pub(super) fn own_frame(&self) -> FrameMemory {
        FrameMemory { rows: self.frame, local: self.local_base }
    }
}

/// Copies a parameter of the running lanes from one frame to another.
pub(super) fn copy_value(
    w: &mut WarpContext<'_>,
    (from, source): (FrameMemory, &ParameterPlace),
    (to, target): (FrameMemory, &ParameterPlace),
) {
    if let ([source], [target]) = (source.pieces.as_slice(), target.pieces.as_slice())
        && let (Some(_), Some(_)) = (whole(source), whole(target))
    {
        let size = source.bytes.min(target.bytes);
        for lane in lanes_of(w.mask) {
            note_written(w, lane, to, target, size);
            let (from, to) = (pointer(w, from, source, lane), pointer(w, to, target, lane));
            // SAFETY: both addresses have `size` bytes, as the binder laid them out. Both may be in the
            // same frame and overlap.
            unsafe { std::ptr::copy(from, to, size as usize) };
        }
        return;
    }
    let mut bytes = [0; LARGEST_IN_REGISTERS];
    let size = (source.size.min(target.size) as usize).min(LARGEST_IN_REGISTERS);
    for lane in lanes_of(w.mask) {
        read_value(w, from, source, lane, &mut bytes[..size]);
        write_value(w, to, target, lane, &bytes[..size]);
    }
}

/// Number of contiguous bytes that make up the whole piece, if any.
fn whole(piece: &Piece) -> Option<u32> {
    match piece.place {
        PiecePlace::Local(_) => Some(piece.bytes),
        PiecePlace::Words(_) if piece.bytes == 4 => Some(4),
        PiecePlace::DoubleWords(_) => Some(8),
        PiecePlace::Words(_) | PiecePlace::Predicate(_) => None,
    }
}

/// Reads a lane's value into `bytes`, zero-padded.
pub(super) fn read_value(
    w: &WarpContext<'_>,
    from: FrameMemory,
    place: &ParameterPlace,
    lane: usize,
    bytes: &mut [u8],
) {
    let mut rest = bytes;
    for piece in &place.pieces {
        let size = (piece.bytes as usize).min(rest.len());
        let (now, later) = rest.split_at_mut(size);
        let source = pointer(w, from, piece, lane);
        match piece.place {
            // SAFETY: the word lies in the frame's rows, as the binder laid them out.
            PiecePlace::Predicate(_) => now.fill((unsafe { source.cast::<u32>().read() } >> lane & 1) as u8),
            // SAFETY: the piece has `size` bytes, as the binder laid it out.
            _ => unsafe { std::ptr::copy_nonoverlapping(source, now.as_mut_ptr(), size) },
        }
        rest = later;
    }
    rest.fill(0);
}

/// Writes a lane's value, truncated to `bytes`.
pub(super) fn write_value(
    w: &mut WarpContext<'_>,
    to: FrameMemory,
    place: &ParameterPlace,
    lane: usize,
    bytes: &[u8],
) {
    let mut rest = bytes;
    for piece in &place.pieces {
        let (now, later) = rest.split_at((piece.bytes as usize).min(rest.len()));
        if now.is_empty() {
            return;
        }
        note_written(w, lane, to, piece, now.len() as u32);
        let target = pointer(w, to, piece, lane);
        match piece.place {
            PiecePlace::Predicate(_) => {
                let word = target.cast::<u32>();
                let truth = u32::from(now[0] != 0);
                // SAFETY: the word lies in the frame's rows, as the binder laid them out.
                unsafe { word.write(word.read() & !(1 << lane) | truth << lane) };
            }
            PiecePlace::Words(_) => {
                let mut word = [0; 4];
                word[..now.len()].copy_from_slice(now);
                // SAFETY: a lane of a 32-bit row has four bytes.
                unsafe { target.cast::<u32>().write(u32::from_le_bytes(word)) };
            }
            // SAFETY: the piece has as many bytes, as the binder laid it out.
            _ => unsafe { std::ptr::copy_nonoverlapping(now.as_ptr(), target, now.len()) },
        }
        rest = later;
    }
}

/// Tells the sanitizer that a lane's local memory was written, if the piece lies there.
fn note_written(w: &mut WarpContext<'_>, lane: usize, to: FrameMemory, piece: &Piece, size: u32) {
    if let (Some(checks), PiecePlace::Local(offset)) = (&mut w.cta.checks, piece.place) {
        checks.local_written(w.warp, lane, to.local + offset, size);
    }
}

/// Address of a lane's part of a piece; for predicates, of the word of all lanes.
fn pointer(w: &WarpContext<'_>, of: FrameMemory, piece: &Piece, lane: usize) -> *mut u8 {
    match piece.place {
        PiecePlace::Local(offset) => {
            w.local.wrapping_add(lane * w.local_bytes as usize + (of.local + offset) as usize)
        }
        PiecePlace::Words(row) => row_at(of.rows, w.constants, row).wrapping_add(lane * 4),
        PiecePlace::DoubleWords(row) => row_at(of.rows, w.constants, row).wrapping_add(lane * 8),
        PiecePlace::Predicate(word) => of.rows.wrapping_add(word as usize * 4),
    }
}
