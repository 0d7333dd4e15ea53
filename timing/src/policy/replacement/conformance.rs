//! Rules for every replacement policy, and the behaviour of each. The set is a plain list.

use super::{Lines, LinesMut, Replacement};

/// A set, from the oldest line to the youngest: line, mark, whether the cache permits eviction.
#[derive(Clone, PartialEq, Debug, Default)]
struct List(Vec<(u32, u8, bool)>);

impl List {
    fn place(&self, line: u32) -> usize {
        self.0.iter().position(|(other, ..)| *other == line).unwrap()
    }
}

impl Lines for List {
    type Line = u32;

    fn younger(&self, line: Option<u32>) -> Option<u32> {
        let place = line.map_or(0, |line| self.place(line) + 1);
        self.0.get(place).map(|(line, ..)| *line)
    }

    fn may_go(&self, line: u32) -> bool {
        self.0[self.place(line)].2
    }

    fn mark(&self, line: u32) -> u8 {
        self.0[self.place(line)].1
    }
}

impl LinesMut for List {
    fn set_mark(&mut self, line: u32, mark: u8) {
        let place = self.place(line);
        self.0[place].1 = mark;
    }

    fn renew(&mut self, line: u32) {
        let place = self.place(line);
        self.0[place..].rotate_left(1);
    }
}

/// A set into which lines 0, 1, 2, … have come in this order.
fn filled(policy: Replacement, lines: u32) -> List {
    let mut list = List::default();
    for line in 0..lines {
        list.0.push((line, 0, true));
        policy.filled(&mut list, line);
    }
    list
}

/// Evicts the victim.
fn evict(policy: Replacement, list: &mut List) -> Option<u32> {
    let victim = policy.victim(list)?;
    policy.evicted(list, victim);
    list.0.remove(list.place(victim));
    Some(victim)
}

/// The order in which all lines go after these uses.
fn order(policy: Replacement, lines: u32, uses: &[u32]) -> Vec<u32> {
    let mut list = filled(policy, lines);
    uses.iter().for_each(|line| policy.hit(&mut list, *line));
    std::iter::from_fn(|| evict(policy, &mut list)).collect()
}

#[test]
fn a_line_that_may_not_go_is_never_the_victim() {
    for &policy in Replacement::ALL {
        let mut list = filled(policy, 4);
        policy.hit(&mut list, 1);
        list.0.iter_mut().for_each(|(line, _, may_go)| *may_go = *line == 1);
        assert_eq!(policy.victim(&list), Some(1), "{policy:?}");
        list.0.iter_mut().for_each(|(.., may_go)| *may_go = false);
        assert_eq!(policy.victim(&list), None, "{policy:?}");
    }
}

#[test]
fn every_line_goes_exactly_once() {
    for &policy in Replacement::ALL {
        let mut gone = order(policy, 8, &[3, 3, 0, 7, 5]);
        gone.sort_unstable();
        assert_eq!(gone, [0, 1, 2, 3, 4, 5, 6, 7], "{policy:?}");
    }
}

#[test]
fn without_uses_lines_go_in_the_order_of_arrival() {
    for &policy in Replacement::ALL {
        assert_eq!(order(policy, 5, &[]), [0, 1, 2, 3, 4], "{policy:?}");
    }
}

#[test]
fn asking_twice_names_the_same_victim() {
    for &policy in Replacement::ALL {
        let mut list = filled(policy, 4);
        policy.hit(&mut list, 0);
        let before = list.clone();
        assert_eq!(policy.victim(&list), policy.victim(&list), "{policy:?}");
        assert_eq!(list, before, "{policy:?}");
    }
}

#[test]
fn a_set_of_one_line_evicts_that_line() {
    for &policy in Replacement::ALL {
        assert_eq!(order(policy, 1, &[0, 0]), [0], "{policy:?}");
    }
}

#[test]
fn lru_evicts_in_the_order_of_use() {
    assert_eq!(order(Replacement::Lru, 3, &[1, 0]), [2, 1, 0]);
}

#[test]
fn fifo_ignores_uses() {
    assert_eq!(order(Replacement::Fifo, 3, &[0, 1]), [0, 1, 2]);
}

#[test]
fn second_chance_passes_a_used_line_once() {
    assert_eq!(order(Replacement::SecondChance, 3, &[0]), [1, 2, 0]);
}

#[test]
fn second_chance_evicts_the_oldest_if_all_were_used() {
    assert_eq!(order(Replacement::SecondChance, 3, &[2, 1, 0]), [0, 1, 2]);
}

#[test]
fn a_failed_look_keeps_the_reference_bits() {
    let policy = Replacement::SecondChance;
    let mut list = filled(policy, 3);
    policy.hit(&mut list, 0);
    list.0.iter_mut().for_each(|(.., may_go)| *may_go = false);
    assert_eq!(policy.victim(&list), None);
    list.0.iter_mut().for_each(|(.., may_go)| *may_go = true);
    assert_eq!(policy.victim(&list), Some(1));
}

/// A stream of lines that are used once each, beside a line that is used between them.
#[test]
fn srrip_keeps_a_used_line_in_a_stream() {
    let survives = |policy: Replacement| {
        let mut list = filled(policy, 4);
        policy.hit(&mut list, 0);
        for line in 4..10 {
            if evict(policy, &mut list) == Some(0) {
                return false;
            }
            list.0.push((line, 0, true));
            policy.filled(&mut list, line);
        }
        true
    };
    assert!(survives(Replacement::Srrip));
    assert!(!survives(Replacement::Lru));
}
