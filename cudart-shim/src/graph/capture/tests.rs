//! Rules of stream capture, one claim each.

use super::*;
use CaptureError::*;

type TestCaptures = Captures<u32, char, u32>;

const GRAPH: GraphHandle = GraphHandle(16);
/// The capturing thread, and another one.
const HERE: u64 = 1;
const THERE: u64 = 2;

fn begun_in(streams: &[u32], mode: Mode) -> TestCaptures {
    let mut captures = TestCaptures::default();
    for stream in streams {
        captures.begin(*stream, true, (mode, HERE), (GRAPH, false), Vec::new()).unwrap();
    }
    captures
}

/// Adds a node to a captured stream, as an API call does.
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
fn capture_ends_in_its_stream_and_thread() {
    let mut captures = begun_in(&[1], Mode::ThreadLocal);
    assert_eq!(captures.end(1, THERE), Err(WrongThread));
    fork(&mut captures, 1, 2, 'f');
    assert_eq!(captures.end(2, HERE), Err(Unmatched));
    let mut captures = begun_in(&[1], Mode::Relaxed);
    assert_eq!(captures.end(1, THERE).map(|ended| ended.outcome), Ok(Ok(())));
}

#[test]
fn captures_never_merge() {
    let mut captures = begun_in(&[1, 2], Mode::Global);
    captures.record('e', 1).unwrap();
    assert_eq!(captures.wait(2, false, true, 'e'), Err(Merge));
    assert_eq!(captures.place(1), Err(Invalidated));
    assert_eq!(captures.end(2, HERE).map(|ended| ended.outcome), Ok(Err(Invalidated)));
}

#[test]
fn captured_work_cannot_wait_for_an_outside_event() {
    let mut captures = begun_in(&[1], Mode::Global);
    assert_eq!(captures.record('e', 7), Ok(false));
    assert_eq!(captures.wait(1, false, true, 'e'), Err(Isolation));
    assert_eq!(captures.place(1), Err(Invalidated));
}

#[test]
fn event_of_an_ended_capture_cannot_be_awaited() {
    let mut captures = begun_in(&[1], Mode::Global);
    captures.record('e', 1).unwrap();
    captures.end(1, HERE).unwrap();
    assert_eq!(captures.wait(7, false, true, 'e'), Err(CapturedEvent));
    assert_eq!(captures.record('e', 7), Ok(false));
    assert_eq!(captures.wait(7, false, true, 'e'), Ok(false));
}

#[test]
fn captured_event_cannot_be_queried() {
    let mut captures = begun_in(&[1], Mode::Relaxed);
    captures.record('e', 1).unwrap();
    assert_eq!(captures.check_event('e'), Err(CapturedEvent));
    assert_eq!(captures.place(1), Err(Invalidated));
    assert_eq!(captures.check_event('x'), Ok(()));
}

#[test]
fn legacy_default_stream_cannot_join_a_capture() {
    let mut captures = begun_in(&[1], Mode::Relaxed);
    captures.record('e', 1).unwrap();
    assert_eq!(captures.wait(0, true, true, 'e'), Err(Implicit));
    assert_eq!(captures.place(1), Err(Invalidated));
}

#[test]
fn legacy_stream_is_free_beside_non_blocking_captures() {
    let mut captures = TestCaptures::default();
    captures.begin(1, false, (Mode::Global, HERE), (GRAPH, false), Vec::new()).unwrap();
    assert_eq!(captures.check_legacy(true), Ok(()));
    captures.record('e', 1).unwrap();
    captures.wait(2, false, true, 'e').unwrap();
    assert_eq!(captures.check_legacy(true), Err(Implicit));
}

#[test]
fn wait_for_a_captured_stream_invalidates_the_capture() {
    let mut captures = begun_in(&[1], Mode::Relaxed);
    assert_eq!(captures.forbid(2, false), Ok(()));
    assert_eq!(captures.forbid(1, false), Err(Unsupported));
    assert_eq!(captures.forbid(1, false), Err(Invalidated));
    assert_eq!(captures.check_all_streams(), Err(Unsupported));
}

#[test]
fn mode_decides_which_threads_may_call_unsafely() {
    let is_refused = |mode, thread, allowed| begun_in(&[1], mode).check_unsafe(thread, allowed).is_err();
    use Mode::{Global, Relaxed, ThreadLocal};
    assert!(is_refused(Global, HERE, Global) && is_refused(Global, THERE, Global));
    assert!(is_refused(ThreadLocal, HERE, Global) && !is_refused(ThreadLocal, THERE, Global));
    assert!(!is_refused(Relaxed, HERE, Global) && !is_refused(Relaxed, THERE, Global));
    assert!(is_refused(Global, HERE, ThreadLocal) && !is_refused(Global, THERE, ThreadLocal));
    assert!(!is_refused(Global, HERE, Relaxed) && !is_refused(ThreadLocal, HERE, Relaxed));
}

#[test]
fn destroyed_stream_ends_its_capture() {
    let mut captures = begun_in(&[1], Mode::Global);
    fork(&mut captures, 1, 2, 'f');
    assert!(captures.forget_stream(1).is_some());
    assert_eq!(captures.end(1, HERE), Err(IllegalState));
}

#[test]
fn work_of_a_destroyed_joined_stream_stays() {
    let mut captures = begun_in(&[1], Mode::Global);
    fork(&mut captures, 1, 2, 'f');
    captures.set_tail(2, vec![(9, Edge::default())]);
    assert_eq!(captures.forget_stream(2), None);
    let ended = captures.end(1, HERE).unwrap();
    assert_eq!((ended.outcome, ended.others), (Ok(()), vec![vec![(9, Edge::default())]]));
}
