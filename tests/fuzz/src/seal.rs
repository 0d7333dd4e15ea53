//! Frames whose hashes match: a mutation reaches the readers behind the hashes only in a sealed frame.

/// Bytes of head, hash and one entry of the section table, and places within an entry
/// ([`voltsim_checkpoint::frame`]).
const HEAD: usize = 16;
const HASH: usize = 32;
const ENTRY: usize = 80;
const LENGTH: std::ops::Range<usize> = 40..48;
const CONTENTS_HASH: std::ops::Range<usize> = 48..80;

/// The frame with hashes that match its contents; the bytes as they are where they have no whole table.
pub(crate) fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut frame = bytes.to_vec();
    seal(&mut frame);
    frame
}

fn seal(frame: &mut [u8]) -> Option<()> {
    let count = u32::from_le_bytes(*frame.get(12..)?.first_chunk()?) as usize;
    let table = HEAD + HASH..(HEAD + HASH).checked_add(count.checked_mul(ENTRY)?)?;
    let mut start = table.end;
    for entry in 0..count {
        let at = table.start + entry * ENTRY;
        let length = u64::from_le_bytes(*frame.get(at..at + ENTRY)?[LENGTH].first_chunk()?);
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        let hash = blake3::hash(frame.get(start..end)?);
        frame.get_mut(at..at + ENTRY)?[CONTENTS_HASH].copy_from_slice(hash.as_bytes());
        start = end;
    }
    let hash = blake3::Hasher::new().update(frame.get(..HEAD)?).update(frame.get(table)?).finalize();
    frame.get_mut(HEAD..HEAD + HASH)?.copy_from_slice(hash.as_bytes());
    Some(())
}
