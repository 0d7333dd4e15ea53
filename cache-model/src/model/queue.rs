//! Queue of a core's warps: first in, first out, behind the warps that sleep until a time.

use std::collections::VecDeque;

use super::wheel::Wheel;

/// Warps that are ready or sleep.
#[derive(Debug, Clone)]
pub(super) struct WarpQueue {
    ready: VecDeque<u32>,
    sleeping: Wheel<u32>,
}

impl WarpQueue {
    /// No warps.
    pub fn new() -> WarpQueue {
        WarpQueue { ready: VecDeque::new(), sleeping: Wheel::new() }
    }

    /// Adds a warp to the back of the queue at a time, which may have passed.
    #[inline]
    pub fn push(&mut self, warp: u32, at: u64, now: u64) {
        if at <= now {
            self.wake(now);
            self.ready.push_back(warp);
        } else {
            self.sleeping.add(at, warp);
        }
    }

    /// The warp at the front.
    #[inline]
    pub fn pop(&mut self, now: u64) -> Option<u32> {
        self.wake(now);
        self.ready.pop_front()
    }

    #[inline]
    fn wake(&mut self, now: u64) {
        while let Some((_, warp)) = self.sleeping.take(now) {
            self.ready.push_back(warp);
        }
    }

    /// Time at which the next sleeping warp wakes.
    pub fn next_wake(&self) -> Option<u64> {
        self.sleeping.next()
    }

    /// Warps that are ready.
    pub fn ready(&self) -> usize {
        self.ready.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_warps_join_the_back_in_order_of_time() {
        let mut queue = WarpQueue::new();
        queue.push(1, 5, 0);
        queue.push(2, 3, 0);
        queue.push(3, 0, 0);
        queue.push(4, 3, 0);
        assert_eq!((queue.pop(0), queue.pop(2), queue.next_wake()), (Some(3), None, Some(3)));
        queue.push(5, 4, 4);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop(9)).collect();
        assert_eq!(order, [2, 4, 5, 1]);
    }
}
