//! Operations of a communicator, executed by a host function of a stream. Memory of a device has the
//! same address on the host.

use crate::clique::{CHUNK, Clique};
use crate::element::{Element, Reduction, reduce};
use crate::status::{Answer, Failure};

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    AllReduce(Reduction),
    /// The result goes to the root.
    Reduce(Reduction),
    /// Each rank gets the elements of its number.
    ReduceScatter(Reduction),
    AllGather,
    Broadcast,
}

impl Kind {
    /// Number that ranks compare.
    fn number(self) -> u64 {
        match self {
            Kind::AllReduce(reduction) => 1 << 8 | reduction.number(),
            Kind::Reduce(reduction) => 2 << 8 | reduction.number(),
            Kind::ReduceScatter(reduction) => 3 << 8 | reduction.number(),
            Kind::AllGather => 4 << 8,
            Kind::Broadcast => 5 << 8,
        }
    }

    fn reduction(self) -> Option<Reduction> {
        match self {
            Kind::AllReduce(reduction) | Kind::Reduce(reduction) | Kind::ReduceScatter(reduction) => {
                Some(reduction)
            }
            Kind::AllGather | Kind::Broadcast => None,
        }
    }
}

/// An operation with the memory of this rank.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// `count` elements; for `ReduceScatter` the elements that a rank receives, for `AllGather` those
    /// that it sends.
    Collective { kind: Kind, element: Element, count: usize, root: usize, send: u64, receive: u64 },
    /// Bytes to another rank.
    Send { bytes: usize, peer: usize, address: u64 },
    /// Bytes from another rank.
    Receive { bytes: usize, peer: usize, address: u64 },
}

impl Operation {
    fn is_collective(&self) -> bool {
        matches!(self, Operation::Collective { .. })
    }
}

/// Executes operations that one group has for a stream, in their order. Sends and receives between
/// collective operations proceed at the same time.
///
/// # Safety
/// The addresses are memory of a device for as many bytes as the operations say.
pub unsafe fn execute(clique: &Clique, operations: &[Operation]) -> Answer {
    let mut rest = operations;
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|operation| operation.is_collective() == first.is_collective());
        let (now, later) = rest.split_at(if first.is_collective() { 1 } else { same.count() });
        // SAFETY: passed on from the caller.
        unsafe {
            match *first {
                Operation::Collective { .. } => collective(clique, first)?,
                Operation::Send { .. } | Operation::Receive { .. } => transfer(clique, now)?,
            }
        }
        rest = later;
    }
    Ok(())
}

/// # Safety
/// See [`execute`].
unsafe fn collective(clique: &Clique, operation: &Operation) -> Answer {
    let Operation::Collective { kind, element, count, root, send, receive } = *operation else {
        return Ok(());
    };
    let factor = match kind.reduction() {
        Some(Reduction::ScaledSum(factor)) => factor,
        _ => [0; 8],
    };
    let call = [kind.number() << 8 | element as u64, root as u64, count as u64];
    clique.announce(call, factor);
    clique.meet()?;
    if let Some(other) = (0..clique.ranks).find(|rank| clique.call_of(*rank) != call) {
        eprintln!(
            "voltsim: NCCL: ranks {} and {other} call different operations: {kind:?} of {count} {element:?} here; \
             every rank must make the same calls in the same order",
            clique.rank
        );
        // The others find the difference too, and none goes on.
        return Err(Failure::InvalidUsage);
    }
    let factors = clique.factors();
    // No rank announces its next call before all have compared.
    clique.meet()?;
    let size = element.size();
    // Blocks of the sent elements: one for each receiving rank, or one.
    let blocks = if matches!(kind, Kind::ReduceScatter(_)) { clique.ranks } else { 1 };
    let bytes = count * size;
    for block in 0..blocks {
        for offset in (0..bytes).step_by(CHUNK) {
            let length = CHUNK.min(bytes - offset);
            let sends = !matches!(kind, Kind::Broadcast) || clique.rank == root;
            if sends {
                let from = (send as usize + block * bytes + offset) as *const u8;
                // SAFETY: memory of this rank by the caller's contract; the chunk belongs to this rank
                // until the next point.
                unsafe { std::ptr::copy_nonoverlapping(from, clique.chunk(clique.rank), length) };
            }
            clique.meet()?;
            // SAFETY: all ranks only read chunks until the next point.
            let chunk = |rank| unsafe { std::slice::from_raw_parts(clique.chunk(rank), length) };
            // SAFETY: memory of this rank by the caller's contract.
            let result = |start: usize| unsafe {
                std::slice::from_raw_parts_mut((receive as usize + start) as *mut u8, length)
            };
            match kind {
                Kind::Broadcast => result(offset).copy_from_slice(chunk(root)),
                Kind::AllGather => {
                    (0..clique.ranks)
                        .for_each(|rank| result(rank * bytes + offset).copy_from_slice(chunk(rank)));
                }
                Kind::AllReduce(reduction) | Kind::Reduce(reduction) | Kind::ReduceScatter(reduction) => {
                    let receives = match kind {
                        Kind::Reduce(_) => clique.rank == root,
                        Kind::ReduceScatter(_) => clique.rank == block,
                        _ => true,
                    };
                    if receives {
                        let inputs: Vec<&[u8]> = (0..clique.ranks).map(chunk).collect();
                        reduce(element, reduction, &factors, &inputs, result(offset))?;
                    }
                }
            }
            // Chunks change only when all ranks have read them.
            clique.meet()?;
        }
    }
    Ok(())
}

/// Moves the bytes of sends and receives as the other sides come. Transfers between the same ranks
/// keep their order.
///
/// # Safety
/// See [`execute`].
unsafe fn transfer(clique: &Clique, operations: &[Operation]) -> Answer {
    let mut done = vec![0_usize; operations.len()];
    let total = |operation: &Operation| match *operation {
        Operation::Send { bytes, .. } | Operation::Receive { bytes, .. } => bytes,
        Operation::Collective { .. } => 0,
    };
    let route = |operation: &Operation| match *operation {
        Operation::Send { peer, .. } => (true, peer),
        Operation::Receive { peer, .. } => (false, peer),
        Operation::Collective { .. } => (false, usize::MAX),
    };
    loop {
        let mut moved = 0;
        let mut is_waiting = false;
        for (number, operation) in operations.iter().enumerate() {
            let left = total(operation) - done[number];
            let is_behind = operations[..number]
                .iter()
                .zip(&done)
                .any(|(earlier, done)| route(earlier) == route(operation) && *done < total(earlier));
            if left == 0 || is_behind {
                is_waiting |= left > 0;
                continue;
            }
            // SAFETY: memory of this rank by the caller's contract; this thread alone uses this rank's
            // sides of its rings.
            let count = unsafe {
                match *operation {
                    Operation::Send { peer, address, .. } => {
                        let bytes = (address as usize + done[number]) as *const u8;
                        clique.ring(clique.rank, peer).put(bytes, left)
                    }
                    Operation::Receive { peer, address, .. } => {
                        let bytes = (address as usize + done[number]) as *mut u8;
                        clique.ring(peer, clique.rank).take(bytes, left)
                    }
                    Operation::Collective { .. } => 0,
                }
            };
            done[number] += count;
            moved += count;
            is_waiting |= count < left;
        }
        if !is_waiting {
            return Ok(());
        }
        if moved == 0 {
            clique.wait(|| {
                operations.iter().zip(&done).any(|(operation, done)| can_move(clique, operation, *done))
            })?;
        }
    }
}

/// Tells whether the other side has made room or sent bytes.
fn can_move(clique: &Clique, operation: &Operation, done: usize) -> bool {
    use crate::clique::RING;
    use std::sync::atomic::Ordering::Acquire;
    match *operation {
        Operation::Send { bytes, peer, .. } => {
            let ring = clique.ring(clique.rank, peer);
            done < bytes && ((ring.written.load(Acquire) - ring.read.load(Acquire)) as usize) < RING
        }
        Operation::Receive { bytes, peer, .. } => {
            let ring = clique.ring(peer, clique.rank);
            done < bytes && ring.written.load(Acquire) > ring.read.load(Acquire)
        }
        Operation::Collective { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Runs a body for each of three ranks, each in a thread.
    fn ranks(test: &str, body: impl Fn(&Clique) -> Answer + Sync) -> Vec<Answer> {
        let name = format!("voltsim-nccl-test-{}-{test}", std::process::id());
        thread::scope(|scope| {
            let run = |rank: usize| {
                let (name, body) = (&name, &body);
                scope.spawn(move || {
                    let clique = Clique::join(name, rank, 3, rank as i32)?;
                    clique.await_all()?;
                    let answer = body(&clique);
                    clique.leave();
                    answer
                })
            };
            let threads: Vec<_> = (0..3).map(run).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    fn call(kind: Kind, count: usize, send: &[f32], receive: &mut [f32]) -> Operation {
        let (send, receive) = (send.as_ptr() as u64, receive.as_mut_ptr() as u64);
        Operation::Collective { kind, element: Element::Float32, count, root: 1, send, receive }
    }

    /// More elements than a chunk holds.
    const COUNT: usize = CHUNK / 4 + 1000;

    #[test]
    fn collective_operations_have_the_results_of_the_manual() {
        let answers = ranks("collective", |clique| {
            let own = clique.rank as f32;
            let send: Vec<f32> = (0..3 * COUNT).map(|index| own + index as f32).collect();
            let mut receive = vec![-1.0_f32; 3 * COUNT];
            let sum = |index: usize| 3.0 + 3.0 * index as f32;
            let mut run = |kind| {
                receive.fill(-1.0);
                // SAFETY: memory of this test.
                unsafe { execute(clique, &[call(kind, COUNT, &send, &mut receive)]) }?;
                Ok::<_, Failure>(receive.clone())
            };
            let all = run(Kind::AllReduce(Reduction::Sum))?;
            assert!((0..COUNT).all(|index| all[index] == sum(index)) && all[COUNT] == -1.0);
            let average = run(Kind::AllReduce(Reduction::Average))?;
            assert_eq!(average[7], sum(7) / 3.0);
            let root = run(Kind::Reduce(Reduction::Max))?;
            assert_eq!(root[5], if clique.rank == 1 { 7.0 } else { -1.0 });
            let part = run(Kind::ReduceScatter(Reduction::Sum))?;
            assert!((0..COUNT).all(|index| part[index] == sum(clique.rank * COUNT + index)));
            let gathered = run(Kind::AllGather)?;
            assert!((0..3).all(|rank| gathered[rank * COUNT + 9] == rank as f32 + 9.0));
            let sent = run(Kind::Broadcast)?;
            assert_eq!((sent[0], sent[COUNT - 1]), (1.0, COUNT as f32));
            Ok(())
        });
        assert_eq!(answers, [Ok(()); 3]);
    }

    #[test]
    fn large_transfers_in_both_directions_end() {
        let answers = ranks("transfer", |clique| {
            let send = vec![clique.rank as f32; COUNT];
            let mut receive = vec![-1.0_f32; 3 * COUNT];
            let start = receive.as_mut_ptr();
            let bytes = COUNT * 4;
            let sends = (0..3).map(|peer| Operation::Send { bytes, peer, address: send.as_ptr() as u64 });
            let receives = (0..3).map(|peer| Operation::Receive {
                bytes,
                peer,
                address: start.wrapping_add(peer * COUNT) as u64,
            });
            let operations: Vec<_> = sends.chain(receives).collect();
            // SAFETY: memory of this test.
            unsafe { execute(clique, &operations) }?;
            assert!((0..3 * COUNT).all(|index| receive[index] == (index / COUNT) as f32));
            Ok(())
        });
        assert_eq!(answers, [Ok(()); 3]);
    }

    #[test]
    fn different_calls_are_invalid_usage_on_every_rank() {
        let answers = ranks("different", |clique| {
            let (send, mut receive) = ([0.0; 8], [0.0; 24]);
            let count = if clique.rank == 2 { 4 } else { 8 };
            // SAFETY: memory of this test.
            unsafe { execute(clique, &[call(Kind::AllGather, count, &send, &mut receive)]) }
        });
        assert_eq!(answers, [Err(Failure::InvalidUsage); 3]);
    }
}
