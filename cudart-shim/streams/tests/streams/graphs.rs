//! Graphs under the ordering rules: nodes keep the graph's order, the graph keeps its stream's.

use proptest::prelude::*;
use proptest::sample::Index;
use stream_engine::state::State;
use stream_engine::{EventFlags, Lane, Node, Step, StreamId, StreamKind, Timestamp};

type TestState = State<&'static str, ()>;

fn work(name: &'static str, after: &[usize]) -> Node<&'static str> {
    Node { step: Step::Work(name, Lane::Kernel), priority: None, after: after.to_vec() }
}

/// A diamond: one before two before one.
fn diamond() -> Vec<Node<&'static str>> {
    vec![work("top", &[]), work("left", &[0]), work("right", &[0]), work("bottom", &[1, 2])]
}

fn stream(state: &mut TestState) -> StreamId {
    state.create_stream(StreamKind::NonBlocking, 0)
}

/// Runs all ready work at once and returns its names.
fn run_ready(state: &mut TestState) -> Vec<&'static str> {
    let ready: Vec<_> = state.ready(Lane::Kernel).collect();
    let names = ready.iter().map(|&item| state.start(item).unwrap().work).collect();
    for item in ready {
        state.complete(item, Ok(()), Timestamp(0));
    }
    names
}

#[test]
fn independent_nodes_are_ready_together() {
    let mut state = TestState::default();
    let stream = stream(&mut state);
    state.submit_graph(stream, None, diamond(), Timestamp(0)).unwrap();
    assert_eq!(run_ready(&mut state), ["top"]);
    assert_eq!(run_ready(&mut state), ["left", "right"]);
    assert_eq!(run_ready(&mut state), ["bottom"]);
    assert!(state.is_idle());
}

#[test]
fn graph_is_one_unit_in_its_stream() {
    let mut state = TestState::default();
    let stream = stream(&mut state);
    state.submit(stream, Lane::Kernel, false, "before", Timestamp(0)).unwrap();
    state.submit_graph(stream, None, vec![work("first", &[]), work("second", &[])], Timestamp(0)).unwrap();
    state.submit(stream, Lane::Kernel, false, "after", Timestamp(0)).unwrap();
    assert_eq!(run_ready(&mut state), ["before"]);
    assert_eq!(run_ready(&mut state), ["first", "second"]);
    assert_eq!(run_ready(&mut state), ["after"]);
}

#[test]
fn graph_waits_for_an_item_of_another_stream() {
    let mut state = TestState::default();
    let (one, other) = (stream(&mut state), stream(&mut state));
    let (end, _) = state.submit_graph(one, None, vec![work("first", &[])], Timestamp(0)).unwrap();
    state.submit_graph(other, Some(end), vec![work("second", &[])], Timestamp(0)).unwrap();
    assert_eq!(run_ready(&mut state), ["first"]);
    assert_eq!(run_ready(&mut state), ["second"]);
}

#[test]
fn record_in_a_graph_blocks_outside_waits() {
    let mut state = TestState::default();
    let (one, other) = (stream(&mut state), stream(&mut state));
    let event = state.create_event(EventFlags::default());
    let record = Node { step: Step::Record(event), priority: None, after: vec![0] };
    state
        .submit_graph(one, None, vec![work("inside", &[]), record, work("late", &[1])], Timestamp(0))
        .unwrap();
    state.wait_event(other, event, Timestamp(0)).unwrap();
    state.submit(other, Lane::Kernel, false, "outside", Timestamp(0)).unwrap();
    assert_eq!(run_ready(&mut state), ["inside"]);
    assert_eq!(run_ready(&mut state), ["late", "outside"]);
}

#[test]
fn most_urgent_ready_node_starts_first() {
    let mut state = TestState::default();
    let stream = state.create_stream(StreamKind::NonBlocking, -1);
    let with = |name, priority| Node { priority, ..work(name, &[]) };
    let nodes = vec![with("least", Some(0)), with("as the stream", None), with("most", Some(-5))];
    state.submit_graph(stream, None, nodes, Timestamp(0)).unwrap();
    assert_eq!(run_ready(&mut state), ["most", "as the stream", "least"]);
    assert!(state.is_idle());
}

#[test]
fn empty_graph_completes_at_once() {
    let mut state = TestState::default();
    let stream = stream(&mut state);
    let (end, effects) = state.submit_graph(stream, None, Vec::new(), Timestamp(0)).unwrap();
    assert!(!state.is_pending(end) && effects.retired.contains(&end));
}

#[test]
fn fault_discards_the_rest_of_a_graph() {
    let mut state = TestState::default();
    let stream = stream(&mut state);
    let (end, _) = state.submit_graph(stream, None, diamond(), Timestamp(0)).unwrap();
    let top = state.first_ready(Lane::Kernel).unwrap();
    state.start(top).unwrap();
    let effects = state.complete(top, Err(()), Timestamp(0));
    assert_eq!(effects.discarded, ["left", "right", "bottom"]);
    assert!(!state.is_pending(end));
}

/// Predecessors of each node.
fn edges() -> impl Strategy<Value = Vec<Vec<Index>>> {
    proptest::collection::vec(proptest::collection::vec(any::<Index>(), 0..3), 1..20)
}

proptest! {
    #[test]
    fn nodes_run_once_and_after_their_predecessors(
        edges in edges(), choices in proptest::collection::vec(any::<Index>(), 20),
    ) {
        let after: Vec<Vec<usize>> = edges
            .iter()
            .enumerate()
            .map(|(node, edges)| if node == 0 { Vec::new() } else { edges.iter().map(|edge| edge.index(node)).collect() })
            .collect();
        let mut state = State::<usize, ()>::default();
        let stream = state.create_stream(StreamKind::NonBlocking, 0);
        let nodes = after
            .iter()
            .enumerate()
            .map(|(node, after)| Node { step: Step::Work(node, Lane::Kernel), priority: None, after: after.clone() })
            .collect();
        let (end, _) = state.submit_graph(stream, None, nodes, Timestamp(0)).unwrap();
        let mut done = Vec::new();
        for choice in choices {
            let ready: Vec<_> = state.ready(Lane::Kernel).collect();
            if ready.is_empty() {
                break;
            }
            prop_assert!(state.is_pending(end));
            let item = *choice.get(&ready);
            let node = state.start(item).unwrap().work;
            prop_assert!(after[node].iter().all(|before| done.contains(before)));
            done.push(node);
            state.complete(item, Ok(()), Timestamp(0));
        }
        prop_assert!(!state.is_pending(end));
        prop_assert_eq!(done.len(), after.len());
    }
}
