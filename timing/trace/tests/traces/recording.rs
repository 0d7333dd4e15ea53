//! Replays equal their recordings; damage is detected.

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
fn replay_repeats_the_recording() {
    let replay = Recording::read(&file()).unwrap();
    assert_eq!(drive(&replay, &[0, 1]), drive(&Toy::new(3), &[0, 1]));
}

#[test]
fn replay_has_the_recorded_kernel() {
    let (replay, toy) = (Recording::read(&file()).unwrap(), Toy::new(3));
    assert_eq!(format!("{:?}", replay.kernel()), format!("{:?}", toy.kernel()));
}

#[test]
fn warps_repeat_in_any_order() {
    let (there, back) = (drive(&recorded(1), &[0, 1]), drive(&recorded(1), &[1, 0]));
    for warp in 0..2 {
        assert_eq!(of_warp(&there[0], warp), of_warp(&back[0], warp));
    }
}

#[test]
fn replayed_barrier_holds_until_all_warps_arrive() {
    for order in [[0, 1], [1, 0]] {
        let cta = &drive(&recorded(1), &order)[0];
        for (warp, other) in [(0, 1), (1, 0)] {
            assert!(place(cta, warp, ATOMIC) > place(cta, other, BARRIER), "{order:?}");
        }
    }
}

#[test]
fn warp_waits_for_its_deferred_instructions() {
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
fn unfinished_launch_gives_no_recording() {
    let toy = Toy::new(2);
    let recorder = Recorder::new(&toy);
    let mut warps = recorder.warps(0);
    warps.start_cta(0, 0, Residence { sm: 0, first_warp: 0 }).unwrap();
    warps.end_cta(0);
    drop(warps);
    assert_eq!(recorder.finish().unwrap_err(), RecordingError::Cta { cta: 1, times: 0 });
}

#[test]
fn other_format_version_is_an_error() {
    let mut file = file();
    file[8] += 1;
    assert_eq!(Recording::read(&file).unwrap_err(), RecordingError::Version { found: 4 });
}

#[test]
fn truncated_recording_is_an_error() {
    let file = file();
    for length in 0..file.len() {
        assert!(Recording::read(&file[..length]).is_err(), "{length} of {} bytes", file.len());
    }
}

#[test]
fn flipped_bit_is_an_error() {
    let mut file = file();
    for bit in 0..8 * file.len() {
        file[bit / 8] ^= 1 << (bit % 8);
        assert!(Recording::read(&file).is_err(), "bit {bit}");
        file[bit / 8] ^= 1 << (bit % 8);
    }
}

proptest! {
    #[test]
    fn random_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Recording::read(&bytes).is_err());
    }
}
