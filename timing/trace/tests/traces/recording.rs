//! What is recorded is replayed; damage is noticed.

use proptest::prelude::*;
use warp_stream::{Execution, KernelSource, Moment, Next, Residence, WarpSlot};
use warp_trace::{Recorder, Recording, RecordingError};

use super::drive::{drive, of_warp, place};
use super::toy::{ATOMIC, BARRIER, Toy};

fn recorded(ctas: u32) -> Recording {
    let toy = Toy::new(ctas);
    let recorder = Recorder::new(&toy);
    drive(&recorder, &[0, 1]);
    recorder.finish().unwrap()
}

fn file() -> Vec<u8> {
    recorded(3).write().unwrap()
}

#[test]
fn a_replay_does_what_was_recorded() {
    let replay = Recording::read(&file()).unwrap();
    assert_eq!(drive(&replay, &[0, 1]), drive(&Toy::new(3), &[0, 1]));
}

#[test]
fn a_replay_is_of_the_same_kernel() {
    let (replay, toy) = (Recording::read(&file()).unwrap(), Toy::new(3));
    assert_eq!(format!("{:?}", replay.kernel()), format!("{:?}", toy.kernel()));
}

#[test]
fn warps_do_the_same_in_another_order() {
    let (there, back) = (drive(&recorded(1), &[0, 1]), drive(&recorded(1), &[1, 0]));
    for warp in 0..2 {
        assert_eq!(of_warp(&there[0], warp), of_warp(&back[0], warp));
    }
}

#[test]
fn nobody_passes_a_barrier_before_the_others_are_there() {
    for order in [[0, 1], [1, 0]] {
        let cta = &drive(&recorded(1), &order)[0];
        for (warp, other) in [(0, 1), (1, 0)] {
            assert!(place(cta, warp, ATOMIC) > place(cta, other, BARRIER), "{order:?}");
        }
    }
}

#[test]
fn a_warp_waits_for_what_it_has_deferred() {
    let recording = recorded(1);
    let mut warps = recording.warps(0);
    warps.start_cta(0, 0, Residence { sm: 0, first_warp: 0 }).unwrap();
    let mut execution = Execution::default();
    let slots = [0, 1].map(|warp| WarpSlot { cta: 0, warp });
    for slot in [slots[0], slots[0], slots[1], slots[1], slots[0]] {
        warps.issue(slot, Moment::default(), &mut execution).unwrap();
    }
    let deferred = execution.deferred.unwrap();
    assert_eq!(warps.next(slots[0]).unwrap(), Next::Waiting);
    warps.perform(deferred, Moment::default()).unwrap();
    assert_eq!(warps.next(slots[0]).unwrap(), Next::Instruction(ATOMIC + 1));
}

#[test]
fn a_launch_of_which_ctas_did_not_end_is_no_recording() {
    let toy = Toy::new(2);
    let recorder = Recorder::new(&toy);
    let mut warps = recorder.warps(0);
    warps.start_cta(0, 0, Residence { sm: 0, first_warp: 0 }).unwrap();
    warps.end_cta(0);
    drop(warps);
    assert_eq!(recorder.finish().unwrap_err(), RecordingError::Cta { cta: 1, times: 0 });
}

#[test]
fn a_file_of_another_version_is_told_apart() {
    let mut file = file();
    file[8] += 1;
    assert_eq!(Recording::read(&file).unwrap_err(), RecordingError::Version { found: 3 });
}

#[test]
fn every_prefix_is_an_error() {
    let file = file();
    for length in 0..file.len() {
        assert!(Recording::read(&file[..length]).is_err(), "{length} of {} bytes", file.len());
    }
}

#[test]
fn every_flipped_bit_is_an_error() {
    let mut file = file();
    for bit in 0..8 * file.len() {
        file[bit / 8] ^= 1 << (bit % 8);
        assert!(Recording::read(&file).is_err(), "bit {bit}");
        file[bit / 8] ^= 1 << (bit % 8);
    }
}

proptest! {
    #[test]
    fn other_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Recording::read(&bytes).is_err());
    }
}
