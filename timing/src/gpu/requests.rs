//! What SMs and copies have sent in an epoch, in the order in which the memory side takes it.

use crate::message::{MemoryRequest, Timed};

/// Cycles that are counted apart; an epoch has fewer.
const CYCLES: usize = 1024;

/// Requests of an epoch.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// By sender, and of each in the order of cycles.
    pub(super) sent: Vec<Timed<MemoryRequest>>,
    /// Their places by cycle, and of each in the order of senders.
    order: Vec<u32>,
    /// For each cycle from the first on the place of its next request in that order.
    places: Vec<u32>,
}

impl Requests {
    /// Those that were sent, by cycle; those of a cycle stay in their order.
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
    use crate::message::Origin;

    #[test]
    fn requests_of_a_cycle_stay_in_the_order_of_their_senders() {
        let request = |(tag, cycle)| {
            let message = MemoryRequest { tag, ..MemoryRequest::read(0, 0, 1, Origin::Global) };
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
