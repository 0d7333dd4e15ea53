//! The rules, one claim each.

use super::*;
use CaptureError::*;

type TestCaptures = Captures<u32, char, u32>;

const GRAPH: GraphHandle = GraphHandle(16);
/// The thread that captures, and another.
const HERE: u64 = 1;
const THERE: u64 = 2;

fn begun_in(streams: &[u32], mode: Mode) -> TestCaptures {
    let mut captures = TestCaptures::default();
    for stream in streams {
        captures.begin(*stream, true, (mode, HERE), (GRAPH, false), Vec::new()).unwrap();
    }
    captures
}

/// Adds a node to a captured stream, as a call of the API does.
fn work(captures: &mut TestCaptures, stream: u32, node: u32) -> Vec<u32> {
    let (_, tail) = captures.place(stream).unwrap().unwrap();
    captures.set_tail(stream, vec![(node, Edge::default())]);
    tail.into_iter().map(|(node, _)| node).collect()
}

fn fork(captures: &mut TestCaptures, from: u32, to: u32, event: char) {
    assert_eq!(captures.record(event, from), Ok(true));
    assert_eq!(captures.wait(to, false, true, event), Ok(true));
}

#[test]
fn work_follows_the_stream_and_the_events_it_waits_for() {
    let mut captures = begun_in(&[1], Mode::Global);
    assert!(work(&mut captures, 1, 10).is_empty());
    fork(&mut captures, 1, 2, 'f');
    assert_eq!(work(&mut captures, 1, 11), [10]);
    assert_eq!(work(&mut captures, 2, 12), [10]);
    fork(&mut captures, 2, 1, 'j');
    assert_eq!(work(&mut captures, 1, 13), [11, 12]);
    let ended = captures.end(1, HERE).unwrap();
    assert_eq!(ended.outcome, Ok(()));
    assert_eq!(ended.others, [vec![(12, Edge::default())]]);
    assert!(captures.place(2).unwrap().is_none());
}

#[test]
fn a_stream_is_captured_once_at_a_time() {
    let mut captures = begun_in(&[1], Mode::Global);
    let again = captures.begin(1, true, (Mode::Global, HERE), (GRAPH, false), Vec::new());
    assert_eq!(again, Err(IllegalState));
    assert_eq!(captures.end(9, HERE), Err(IllegalState));
}

#[test]
fn a_capture_ends_in_the_stream_and_the_thread_it_began_in() {
    let mut captures = begun_in(&[1], Mode::ThreadLocal);
    assert_eq!(captures.end(1, THERE), Err(WrongThread));
    fork(&mut captures, 1, 2, 'f');
    assert_eq!(captures.end(2, HERE), Err(Unmatched));
    let mut captures = begun_in(&[1], Mode::Relaxed);
    assert_eq!(captures.end(1, THERE).map(|ended| ended.outcome), Ok(Ok(())));
}

#[test]
fn two_captures_do_not_become_one() {
    let mut captures = begun_in(&[1, 2], Mode::Global);
    captures.record('e', 1).unwrap();
    assert_eq!(captures.wait(2, false, true, 'e'), Err(Merge));
    assert_eq!(captures.place(1), Err(Invalidated));
    assert_eq!(captures.end(2, HERE).map(|ended| ended.outcome), Ok(Err(Invalidated)));
}

#[test]
fn captured_work_does_not_wait_for_an_event_recorded_outside() {
    let mut captures = begun_in(&[1], Mode::Global);
    assert_eq!(captures.record('e', 7), Ok(false));
    assert_eq!(captures.wait(1, false, true, 'e'), Err(Isolation));
    assert_eq!(captures.place(1), Err(Invalidated));
}

#[test]
fn nobody_waits_for_an_event_of_a_capture_that_is_over() {
    let mut captures = begun_in(&[1], Mode::Global);
    captures.record('e', 1).unwrap();
    captures.end(1, HERE).unwrap();
    assert_eq!(captures.wait(7, false, true, 'e'), Err(CapturedEvent));
    assert_eq!(captures.record('e', 7), Ok(false));
    assert_eq!(captures.wait(7, false, true, 'e'), Ok(false));
}

#[test]
fn the_state_of_a_captured_event_cannot_be_asked_for() {
    let mut captures = begun_in(&[1], Mode::Relaxed);
    captures.record('e', 1).unwrap();
    assert_eq!(captures.check_event('e'), Err(CapturedEvent));
    assert_eq!(captures.place(1), Err(Invalidated));
    assert_eq!(captures.check_event('x'), Ok(()));
}

#[test]
fn the_legacy_default_stream_does_not_join_a_capture() {
    let mut captures = begun_in(&[1], Mode::Relaxed);
    captures.record('e', 1).unwrap();
    assert_eq!(captures.wait(0, true, true, 'e'), Err(Implicit));
    assert_eq!(captures.place(1), Err(Invalidated));
}

#[test]
fn the_legacy_default_stream_is_free_while_only_others_are_captured() {
    let mut captures = TestCaptures::default();
    captures.begin(1, false, (Mode::Global, HERE), (GRAPH, false), Vec::new()).unwrap();
    assert_eq!(captures.check_legacy(true), Ok(()));
    captures.record('e', 1).unwrap();
    captures.wait(2, false, true, 'e').unwrap();
    assert_eq!(captures.check_legacy(true), Err(Implicit));
}

#[test]
fn waiting_for_a_captured_stream_makes_the_capture_invalid() {
    let mut captures = begun_in(&[1], Mode::Relaxed);
    assert_eq!(captures.forbid(2, false), Ok(()));
    assert_eq!(captures.forbid(1, false), Err(Unsupported));
    assert_eq!(captures.forbid(1, false), Err(Invalidated));
    assert_eq!(captures.check_all_streams(), Err(Unsupported));
}

#[test]
fn the_modes_say_which_threads_may_make_unsafe_calls() {
    let is_refused = |mode, thread, allowed| begun_in(&[1], mode).check_unsafe(thread, allowed).is_err();
    use Mode::{Global, Relaxed, ThreadLocal};
    assert!(is_refused(Global, HERE, Global) && is_refused(Global, THERE, Global));
    assert!(is_refused(ThreadLocal, HERE, Global) && !is_refused(ThreadLocal, THERE, Global));
    assert!(!is_refused(Relaxed, HERE, Global) && !is_refused(Relaxed, THERE, Global));
    assert!(is_refused(Global, HERE, ThreadLocal) && !is_refused(Global, THERE, ThreadLocal));
    assert!(!is_refused(Global, HERE, Relaxed) && !is_refused(ThreadLocal, HERE, Relaxed));
}

#[test]
fn a_destroyed_stream_takes_its_capture_with_it() {
    let mut captures = begun_in(&[1], Mode::Global);
    fork(&mut captures, 1, 2, 'f');
    assert!(captures.forget_stream(1).is_some());
    assert_eq!(captures.end(1, HERE), Err(IllegalState));
}

#[test]
fn the_work_of_a_destroyed_stream_that_had_joined_a_capture_stays() {
    let mut captures = begun_in(&[1], Mode::Global);
    fork(&mut captures, 1, 2, 'f');
    captures.set_tail(2, vec![(9, Edge::default())]);
    assert_eq!(captures.forget_stream(2), None);
    let ended = captures.end(1, HERE).unwrap();
    assert_eq!((ended.outcome, ended.others), (Ok(()), vec![vec![(9, Edge::default())]]));
}
