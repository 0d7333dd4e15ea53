//! Memory that the ranks of a communicator share, and their waits for each other.
//!
//! The memory is a file of `/dev/shm`, named by the unique id. The first rank removes the name when
//! all ranks have joined, so nothing is left after a crash.

use crate::status::{Answer, Failure};
use std::cell::UnsafeCell;
use std::ffi::CString;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Largest number of ranks.
pub const MAX_RANKS: usize = 64;
/// Bytes that a rank publishes at once.
pub const CHUNK: usize = 1 << 20;
/// Bytes on the way between two ranks.
pub const RING: usize = 256 << 10;
/// Time within which all ranks must join.
const JOIN_LIMIT: Duration = Duration::from_secs(600);
/// Time between looks at the processes of the other ranks.
const LOOK: Duration = Duration::from_millis(100);

/// State of a rank.
#[repr(C)]
struct Member {
    /// Set by the first process that enters this rank.
    is_taken: AtomicU32,
    has_left: AtomicU32,
    /// The process, stored when the rest is valid; 0 before.
    process: AtomicI32,
    /// Start of the process, which tells it from a later one with the same number.
    started: AtomicU64,
    device: AtomicI32,
    color: AtomicI32,
    key: AtomicI32,
    /// The collective call under way: kind, element and operation; root; count.
    call: [AtomicU64; 3],
    /// Factor of a scaled sum.
    factor: AtomicU64,
}

#[repr(C)]
struct Header {
    aborted: AtomicU32,
    padding: u32,
    joined: AtomicU64,
    /// Arrivals of ranks at points of collective calls.
    arrived: AtomicU64,
    /// Arrivals of ranks in calls of the host.
    host_arrived: AtomicU64,
    members: [Member; MAX_RANKS],
}

/// Bytes on the way from one rank to another.
#[repr(C)]
pub struct Ring {
    /// Bytes written so far.
    pub written: AtomicU64,
    /// Bytes read so far.
    pub read: AtomicU64,
    data: UnsafeCell<[u8; RING]>,
}

/// Address and size of the mapping.
#[derive(Debug)]
struct Mapping {
    start: *mut u8,
    size: usize,
}

// SAFETY: the memory is shared by processes anyway; all of it is atomic or belongs to the side that
// the counters say.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping of this value, which nothing uses any more.
        unsafe { libc::munmap(self.start.cast(), self.size) };
    }
}

/// A communicator's ranks, seen by one of them.
#[derive(Debug)]
pub struct Clique {
    mapping: Mapping,
    name: CString,
    pub rank: usize,
    pub ranks: usize,
    /// Set by this rank's `ncclCommAbort`.
    aborted: AtomicBool,
    /// Collective points that this rank has passed.
    points: AtomicU64,
    host_points: AtomicU64,
}

const HEADER: usize = size_of::<Header>().next_multiple_of(4096);
const RING_SIZE: usize = size_of::<Ring>().next_multiple_of(4096);

impl Clique {
    /// Opens the memory of a name and enters this rank. [`Clique::await_all`] waits for the others.
    pub fn join(name: &str, rank: usize, ranks: usize, device: i32) -> Answer<Clique> {
        if ranks == 0 || ranks > MAX_RANKS || rank >= ranks {
            return Err(Failure::InvalidArgument);
        }
        let name = CString::new(format!("/{name}")).map_err(|_| Failure::InvalidArgument)?;
        let size = HEADER + ranks * CHUNK + ranks * ranks * RING_SIZE;
        // SAFETY: a C string; the result is checked.
        let file = unsafe { libc::shm_open(name.as_ptr(), libc::O_RDWR | libc::O_CREAT, 0o600) };
        if file < 0 {
            return Err(Failure::System);
        }
        // SAFETY: an open file; all ranks set the same size, and new pages are zero. The mapping
        // stays after the file is closed.
        let start = unsafe {
            let sized = libc::ftruncate(file, size as libc::off_t);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let start = libc::mmap(std::ptr::null_mut(), size, access, libc::MAP_SHARED, file, 0);
            libc::close(file);
            if sized != 0 { libc::MAP_FAILED } else { start }
        };
        if start == libc::MAP_FAILED {
            return Err(Failure::System);
        }
        let clique = Clique {
            mapping: Mapping { start: start.cast(), size },
            name,
            rank,
            ranks,
            aborted: AtomicBool::default(),
            points: AtomicU64::default(),
            host_points: AtomicU64::default(),
        };
        let process = std::process::id() as i32;
        let member = clique.member(rank);
        if member.is_taken.swap(1, Ordering::AcqRel) != 0 {
            // Two ranks with one number.
            return Err(Failure::InvalidUsage);
        }
        member.device.store(device, Ordering::Release);
        let started = start_of(process).ok_or(Failure::System)?;
        member.started.store(started, Ordering::Release);
        member.process.store(process, Ordering::Release);
        clique.header().joined.fetch_add(1, Ordering::AcqRel);
        Ok(clique)
    }

    /// Waits until all ranks have joined.
    ///
    /// # Errors
    /// A rank does not come in time, or two ranks use one device.
    pub fn await_all(&self) -> Answer {
        let deadline = Instant::now() + JOIN_LIMIT;
        let all = self.ranks as u64;
        let joined = || self.header().joined.load(Ordering::Acquire);
        while joined() < all {
            if Instant::now() > deadline {
                let joined = joined();
                eprintln!(
                    "voltsim: NCCL: {joined} of {all} ranks have joined after {} s; start the other processes",
                    JOIN_LIMIT.as_secs()
                );
                return Err(Failure::System);
            }
            self.look_at_others(|| joined() >= all)?;
            thread::sleep(Duration::from_millis(1));
        }
        if self.rank == 0 {
            // SAFETY: a C string; a name that is gone is no error.
            unsafe { libc::shm_unlink(self.name.as_ptr()) };
        }
        let device = |rank: usize| self.member(rank).device.load(Ordering::Acquire);
        let twin = (0..self.ranks).find(|rank| *rank != self.rank && device(*rank) == device(self.rank));
        if let Some(twin) = twin {
            eprintln!(
                "voltsim: NCCL: ranks {twin} and {} use the same device {}; give each rank its device, \
                 with --devices {} or more",
                self.rank,
                device(self.rank),
                self.ranks
            );
            return Err(Failure::InvalidUsage);
        }
        Ok(())
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping begins with a header, whose fields are atomic.
        unsafe { &*self.mapping.start.cast::<Header>() }
    }

    fn member(&self, rank: usize) -> &Member {
        &self.header().members[rank]
    }

    /// The chunk that a rank publishes.
    ///
    /// # Safety
    /// Between two points of a collective call, the rank itself writes or all ranks read.
    pub unsafe fn chunk(&self, rank: usize) -> *mut u8 {
        // SAFETY: within the mapping.
        unsafe { self.mapping.start.add(HEADER + rank * CHUNK) }
    }

    /// The ring from one rank to another.
    pub fn ring(&self, from: usize, to: usize) -> &Ring {
        let offset = HEADER + self.ranks * CHUNK + (from * self.ranks + to) * RING_SIZE;
        // SAFETY: within the mapping, at a page; the counters are atomic.
        unsafe { &*self.mapping.start.add(offset).cast::<Ring>() }
    }

    /// Waits until all ranks have come to this point of their collective calls.
    pub fn meet(&self) -> Answer {
        self.meet_at(&self.header().arrived, &self.points)
    }

    /// Waits until all ranks have come to this call of the host.
    fn meet_on_host(&self) -> Answer {
        self.meet_at(&self.header().host_arrived, &self.host_points)
    }

    fn meet_at(&self, arrived: &AtomicU64, points: &AtomicU64) -> Answer {
        let point = points.fetch_add(1, Ordering::AcqRel) + 1;
        arrived.fetch_add(1, Ordering::AcqRel);
        self.wait(|| arrived.load(Ordering::Acquire) >= point * self.ranks as u64)
    }

    /// Waits until `is_done`.
    ///
    /// # Errors
    /// The communicator is aborted, or a rank that has not left has ended.
    pub fn wait(&self, mut is_done: impl FnMut() -> bool) -> Answer {
        let mut turns = 0_u32;
        let mut look = Instant::now() + LOOK;
        while !is_done() {
            turns = turns.saturating_add(1);
            match turns {
                0..200 => std::hint::spin_loop(),
                200..400 => thread::yield_now(),
                _ => thread::sleep(Duration::from_micros(100)),
            }
            if turns >= 200 && Instant::now() >= look {
                self.look_at_others(&mut is_done)?;
                look = Instant::now() + LOOK;
            }
        }
        Ok(())
    }

    /// Looks at the processes of the other ranks. A rank may have done its part before its end, which
    /// `is_done` tells.
    ///
    /// # Errors
    /// The communicator is aborted, or another rank has ended or left before its part was done.
    fn look_at_others(&self, mut is_done: impl FnMut() -> bool) -> Answer {
        if self.aborted.load(Ordering::Acquire) || self.header().aborted.load(Ordering::Acquire) != 0 {
            return Err(Failure::Remote);
        }
        for rank in (0..self.ranks).filter(|rank| *rank != self.rank) {
            let member = self.member(rank);
            let process = member.process.load(Ordering::Acquire);
            if process == 0 {
                continue;
            }
            let has_left = member.has_left.load(Ordering::Acquire) != 0;
            let is_gone = has_left || start_of(process) != Some(member.started.load(Ordering::Acquire));
            if is_gone && !is_done() {
                let fate = if has_left { "has left the communicator" } else { "has ended" };
                eprintln!(
                    "voltsim: NCCL: rank {rank} (process {process}) {fate}, and rank {} waits for it",
                    self.rank
                );
                self.abort();
                return Err(Failure::Remote);
            }
        }
        Ok(())
    }

    /// Stops all waits, here and of the other ranks.
    pub fn abort(&self) {
        self.aborted.store(true, Ordering::Release);
        self.header().aborted.store(1, Ordering::Release);
    }

    /// Notes that this rank makes no further calls.
    pub fn leave(&self) {
        self.member(self.rank).has_left.store(1, Ordering::Release);
    }

    /// Publishes the call that this rank makes, and the factor of a scaled sum.
    pub fn announce(&self, call: [u64; 3], factor: [u8; 8]) {
        let member = self.member(self.rank);
        member.call.iter().zip(call).for_each(|(place, word)| place.store(word, Ordering::Release));
        member.factor.store(u64::from_le_bytes(factor), Ordering::Release);
    }

    /// The call that a rank has announced.
    pub fn call_of(&self, rank: usize) -> [u64; 3] {
        let call = &self.member(rank).call;
        [0, 1, 2].map(|index: usize| call[index].load(Ordering::Acquire))
    }

    /// Factors of all ranks, for a scaled sum.
    pub fn factors(&self) -> Vec<[u8; 8]> {
        let factor = |rank| self.member(rank).factor.load(Ordering::Acquire).to_le_bytes();
        (0..self.ranks).map(factor).collect()
    }

    /// Exchanges colour and key of all ranks.
    pub fn exchange(&self, color: i32, key: i32) -> Answer<Vec<(i32, i32)>> {
        let own = self.member(self.rank);
        own.color.store(color, Ordering::Release);
        own.key.store(key, Ordering::Release);
        self.meet_on_host()?;
        let of = |rank| {
            let member = self.member(rank);
            (member.color.load(Ordering::Acquire), member.key.load(Ordering::Acquire))
        };
        let all = (0..self.ranks).map(of).collect();
        // No rank overwrites its words before all have read them.
        self.meet_on_host()?;
        Ok(all)
    }
}

impl Ring {
    /// Appends bytes, as many as there is room for; returns their number.
    ///
    /// # Safety
    /// The sending rank calls, one thread at a time; `bytes` has `length` readable bytes.
    pub unsafe fn put(&self, bytes: *const u8, length: usize) -> usize {
        let written = self.written.load(Ordering::Relaxed);
        let room = RING - (written - self.read.load(Ordering::Acquire)) as usize;
        let offset = written as usize % RING;
        let count = length.min(room).min(RING - offset);
        // SAFETY: the bytes behind `written` belong to the sender.
        unsafe { std::ptr::copy_nonoverlapping(bytes, self.data.get().cast::<u8>().add(offset), count) };
        self.written.store(written + count as u64, Ordering::Release);
        count
    }

    /// Takes bytes, as many as there are and fit; returns their number.
    ///
    /// # Safety
    /// The receiving rank calls, one thread at a time; `bytes` has `length` writable bytes.
    pub unsafe fn take(&self, bytes: *mut u8, length: usize) -> usize {
        let read = self.read.load(Ordering::Relaxed);
        let present = (self.written.load(Ordering::Acquire) - read) as usize;
        let offset = read as usize % RING;
        let count = length.min(present).min(RING - offset);
        // SAFETY: the bytes from `read` to `written` belong to the receiver.
        unsafe { std::ptr::copy_nonoverlapping(self.data.get().cast::<u8>().add(offset), bytes, count) };
        self.read.store(read + count as u64, Ordering::Release);
        count
    }
}

/// Start of a live process in clock ticks since the host's start; `None` for one that has ended.
fn start_of(process: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may hold spaces.
    let (_, fields) = text.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let state = fields.next()?;
    if state.starts_with(['Z', 'X']) {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(test: &str) -> String {
        format!("voltsim-nccl-test-{}-{test}", std::process::id())
    }

    #[test]
    fn ring_keeps_the_order_of_bytes_around_its_end() {
        let clique = Clique::join(&name("ring"), 0, 1, 0).unwrap();
        clique.await_all().unwrap();
        let ring = clique.ring(0, 0);
        let sent: Vec<u8> = (0..RING * 3 + 17).map(|number| (number % 251) as u8).collect();
        let mut received = vec![0; sent.len()];
        let (mut put, mut taken) = (0, 0);
        while taken < sent.len() {
            // SAFETY: both sides are this thread.
            unsafe {
                put += ring.put(sent[put..].as_ptr(), (sent.len() - put).min(100_001));
                taken += ring.take(received[taken..].as_mut_ptr(), (received.len() - taken).min(70_003));
            }
        }
        assert_eq!(received, sent);
    }

    #[test]
    fn two_ranks_with_one_number_are_refused() {
        let name = name("twins");
        let first = Clique::join(&name, 0, 2, 0).unwrap();
        assert_eq!(Clique::join(&name, 0, 2, 1).err(), Some(Failure::InvalidUsage));
        // SAFETY: a C string.
        unsafe { libc::shm_unlink(first.name.as_ptr()) };
    }

    #[test]
    fn two_ranks_on_one_device_are_refused() {
        let name = name("device");
        let cliques = [0, 1].map(|rank| Clique::join(&name, rank, 2, 3).unwrap());
        assert_eq!(cliques.map(|clique| clique.await_all()), [Err(Failure::InvalidUsage); 2]);
    }

    #[test]
    fn aborted_wait_ends() {
        let name = name("abort");
        let cliques = [0, 1].map(|rank| Clique::join(&name, rank, 2, rank as i32).unwrap());
        cliques.iter().for_each(|clique| clique.await_all().unwrap());
        cliques[1].abort();
        assert_eq!(cliques[0].meet(), Err(Failure::Remote));
    }

    #[test]
    fn rank_that_left_ends_the_wait_of_another() {
        let name = name("left");
        let cliques = [0, 1].map(|rank| Clique::join(&name, rank, 2, rank as i32).unwrap());
        cliques.iter().for_each(|clique| clique.await_all().unwrap());
        cliques[1].leave();
        assert_eq!(cliques[0].meet(), Err(Failure::Remote));
    }

    #[test]
    fn process_that_has_ended_has_no_start() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = child.id() as i32;
        assert!(start_of(std::process::id() as i32).is_some());
        while start_of(process).is_some() {
            thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(start_of(process), None);
    }
}
