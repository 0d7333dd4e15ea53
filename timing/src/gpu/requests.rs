//! Requests of SMs and copies in an epoch, in the order in which the memory side takes them.

use crate::message::{MemoryRequest, Timed};

/// Cycles sorted separately; an epoch is shorter.
const CYCLES: usize = 1024;

/// Requests of an epoch.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// By sender; each sender's requests by cycle.
    pub(super) sent: Vec<Timed<MemoryRequest>>,
    /// Indices by cycle; each cycle's requests by sender.
    order: Vec<u32>,
    /// Index of the next request of each cycle in `order`.
    places: Vec<u32>,
}

impl Requests {
    /// Requests by cycle; within a cycle by sender.
    pub(super) fn by_cycle(&mut self) -> impl Iterator<Item = &Timed<MemoryRequest>> {
        let Requests { sent, order, places } = self;
        let cycles = || sent.iter().map(|request| request.cycle);
        let (first, last) = (cycles().min().unwrap_or(0), cycles().max().unwrap_or(0));
        order.clear();
        order.extend(0..sent.len() as u32);
        if last - first >= CYCLES as u64 {
            order.sort_by_key(|request| sent[*request as usize].cycle);
        } else {
            places.clear();
            places.resize((last - first) as usize + 2, 0);
            cycles().for_each(|cycle| places[(cycle - first) as usize + 1] += 1);
            let mut place = 0;
            for count in places.iter_mut() {
                place += *count;
                *count = place;
            }
            for (request, cycle) in (0..).zip(cycles()) {
                let place = &mut places[(cycle - first) as usize];
                order[*place as usize] = request;
                *place += 1;
            }
        }
        order.iter().map(|request| &sent[*request as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Requester;

    #[test]
    fn requests_of_a_cycle_stay_in_sender_order() {
        let request = |(tag, cycle)| {
            let message = MemoryRequest { tag, ..MemoryRequest::read(0, 0, 1, Requester::Global) };
            Timed { cycle, message }
        };
        for far in [0, 10_000] {
            let cycles = [7, 9, 12 + far, 5, 7, 9, 9, 7];
            let sent = (0..).zip(cycles).map(request).collect();
            let mut requests = Requests { sent, ..Requests::default() };
            let tags: Vec<u32> = requests.by_cycle().map(|request| request.message.tag).collect();
            assert_eq!(tags, [3, 0, 4, 7, 1, 5, 6, 2]);
        }
    }
}
