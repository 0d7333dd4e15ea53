//! `libnccl.so.2`: collective operations among simulated devices, in place of the vendor's library,
//! whose kernels are machine code.
//!
//! Ranks are processes or threads of one machine. An operation is a host function of its stream, so
//! it has the order of the stream. The ranks exchange bytes through shared memory (`clique`).
//! Reductions combine the ranks in the order of their numbers, so every rank has the same bits.
//! Enumerations and signatures follow NCCL's documentation.

#![allow(unsafe_code, non_snake_case, non_camel_case_types)]
// A test exports no symbols.
#![cfg_attr(test, allow(dead_code))]

mod clique;
mod communicator;
mod driver;
mod element;
mod group;
mod operation;
mod status;

use communicator::Communicator;
use driver::Stream;
use element::Element;
use operation::{Kind, Operation};
use status::{Answer, Failure};
use std::ffi::{CString, c_char, c_int, c_void};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// `ncclUniqueId`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct UniqueId {
    bytes: [u8; 128],
}

/// `ncclComm_t`: an [`Arc`] of a communicator.
pub type Comm = *mut c_void;

/// Version of the API: 2.23.4.
const VERSION: c_int = 22304;
/// `NCCL_SPLIT_NOCOLOR`: this rank belongs to no part.
const NO_COLOR: c_int = -1;
/// `ncclScalarHostImmediate`.
const ON_HOST: c_int = 1;

fn code(body: impl FnOnce() -> Answer) -> c_int {
    let answer = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Failure::Internal));
    answer.map_or_else(
        |failure| {
            group::note(failure);
            failure as c_int
        },
        |()| 0,
    )
}

/// The communicator of a handle.
///
/// # Safety
/// `comm` is null or a live handle.
unsafe fn communicator(comm: Comm) -> Answer<Arc<Communicator>> {
    if comm.is_null() {
        return Err(Failure::InvalidArgument);
    }
    let comm = comm.cast_const().cast::<Communicator>();
    // SAFETY: a live handle comes from `Arc::into_raw`, and keeps its own count.
    unsafe {
        Arc::increment_strong_count(comm);
        Ok(Arc::from_raw(comm))
    }
}

/// Stores a value for the caller.
///
/// # Safety
/// `place` is null or has room for the value.
unsafe fn store<T>(place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return Err(Failure::InvalidArgument);
    }
    // SAFETY: not null, so there is room.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// Name of the shared memory of an id.
fn name_of(id: &UniqueId) -> Answer<String> {
    let end = id.bytes.iter().position(|byte| *byte == 0).unwrap_or(id.bytes.len());
    let name = str::from_utf8(&id.bytes[..end]).map_err(|_| Failure::InvalidArgument)?;
    if name.starts_with(PREFIX) && !name.contains('/') {
        Ok(name.to_owned())
    } else {
        Err(Failure::InvalidArgument)
    }
}

const PREFIX: &str = "voltsim-nccl-";

fn new_id() -> Answer<UniqueId> {
    let mut random = [0_u8; 16];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random));
    read.map_err(|_| Failure::System)?;
    let mut name = PREFIX.to_owned();
    for byte in random {
        let _ = write!(name, "{byte:02x}");
    }
    let mut id = UniqueId { bytes: [0; 128] };
    id.bytes[..name.len()].copy_from_slice(name.as_bytes());
    Ok(id)
}

/// Enters a rank and stores its handle.
///
/// # Safety
/// `comm` is null or has room for a handle.
unsafe fn join(comm: *mut Comm, name: &str, rank: c_int, ranks: c_int) -> Answer {
    if comm.is_null() {
        return Err(Failure::InvalidArgument);
    }
    let number = |number: c_int| usize::try_from(number).map_err(|_| Failure::InvalidArgument);
    let communicator = Arc::new(Communicator::join(name, number(rank)?, number(ranks)?)?);
    group::await_all(&communicator)?;
    // SAFETY: passed on from the caller.
    unsafe { store(comm, Arc::into_raw(communicator).cast_mut().cast()) }
}

/// Makes a collective call.
///
/// # Safety
/// `comm` is null or a live handle.
unsafe fn collective(
    comm: Comm,
    stream: Stream,
    kind: impl FnOnce(&Communicator) -> Answer<Kind>,
    (send, receive): (*const c_void, *mut c_void),
    (count, element, root): (usize, c_int, c_int),
) -> Answer {
    // SAFETY: passed on from the caller.
    let communicator = unsafe { communicator(comm) }?;
    let ranks = communicator.clique.ranks;
    let kind = kind(&communicator)?;
    let element = Element::of(element)?;
    if element == Element::Float8 && !matches!(kind, Kind::AllGather | Kind::Broadcast) {
        return Err(Failure::InvalidArgument);
    }
    let root = usize::try_from(root).ok().filter(|root| *root < ranks).ok_or(Failure::InvalidArgument)?;
    let is_root = communicator.clique.rank == root;
    let (sends, receives) = match kind {
        Kind::AllReduce(_) => (1, 1),
        Kind::Reduce(_) => (1, usize::from(is_root)),
        Kind::ReduceScatter(_) => (ranks, 1),
        Kind::AllGather => (1, ranks),
        Kind::Broadcast => (usize::from(is_root), 1),
    };
    let (send, receive) = (send as u64, receive as u64);
    let driver = driver::driver()?;
    let bytes = |blocks: usize| {
        let bytes = count.checked_mul(element.size()).and_then(|bytes| bytes.checked_mul(blocks));
        bytes.ok_or(Failure::InvalidArgument)
    };
    driver.check(send, bytes(sends)?)?;
    driver.check(receive, bytes(receives)?)?;
    let operation = Operation::Collective { kind, element, count, root, send, receive };
    group::call(&communicator, stream, operation)
}

/// Makes a call between two ranks.
///
/// # Safety
/// `comm` is null or a live handle.
unsafe fn transfer(
    comm: Comm,
    stream: Stream,
    (address, count, element, peer): (u64, usize, c_int, c_int),
    operation: impl FnOnce(usize, usize) -> Operation,
) -> Answer {
    // SAFETY: passed on from the caller.
    let communicator = unsafe { communicator(comm) }?;
    let peer = usize::try_from(peer).ok().filter(|peer| *peer < communicator.clique.ranks);
    let bytes = count.checked_mul(Element::of(element)?.size());
    let (peer, bytes) = peer.zip(bytes).ok_or(Failure::InvalidArgument)?;
    driver::driver()?.check(address, bytes)?;
    group::call(&communicator, stream, operation(bytes, peer))
}

/// Defines exported functions that return a status.
macro_rules! nccl {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As NCCL's documentation says of the function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            #[allow(unused_unsafe, reason = "some bodies are safe")]
            // SAFETY: the caller upholds the contract of the function.
            code(|| unsafe { $body })
        }
    )*};
}

nccl! {
    /// Version of the library.
    fn ncclGetVersion(version: *mut c_int) { store(version, VERSION) }

    /// Makes an id that no other call makes.
    fn ncclGetUniqueId(id: *mut UniqueId) { store(id, new_id()?) }

    /// Makes this thread's device a rank, and waits for the other ranks.
    fn ncclCommInitRank(comm: *mut Comm, ranks: c_int, id: UniqueId, rank: c_int) {
        join(comm, &name_of(&id)?, rank, ranks)
    }

    /// As `ncclCommInitRank`. The configuration concerns the vendor's algorithms; every call blocks.
    fn ncclCommInitRankConfig(
        comm: *mut Comm, ranks: c_int, id: UniqueId, rank: c_int, _configuration: *mut c_void,
    ) {
        join(comm, &name_of(&id)?, rank, ranks)
    }

    /// Makes devices of this process the ranks of a communicator.
    fn ncclCommInitAll(comms: *mut Comm, count: c_int, devices: *const c_int) {
        let ranks = usize::try_from(count).ok().filter(|ranks| *ranks > 0).ok_or(Failure::InvalidArgument)?;
        let name = name_of(&new_id()?)?;
        let driver = driver::driver()?;
        group::start();
        for rank in 0..ranks {
            let device = if devices.is_null() { rank as c_int } else { devices.add(rank).read() };
            let entered = driver.with_device(device, || join(comms.add(rank), &name, rank as c_int, count));
            if let Err(failure) = entered {
                group::note(failure);
            }
        }
        group::end()
    }

    /// Parts a communicator: ranks of one colour form a new one, in the order of their keys.
    fn ncclCommSplit(
        comm: Comm, color: c_int, key: c_int, part: *mut Comm, _configuration: *mut c_void,
    ) {
        let communicator = communicator(comm)?;
        communicator.finish();
        let split = communicator.splits.fetch_add(1, Ordering::AcqRel);
        let all = communicator.clique.exchange(color, key)?;
        if color == NO_COLOR {
            return store(part, std::ptr::null_mut());
        }
        let mut members: Vec<(c_int, usize)> = all
            .iter()
            .enumerate()
            .filter(|(_, (other, _))| *other == color)
            .map(|(rank, (_, key))| (*key, rank))
            .collect();
        members.sort_unstable();
        let own = members.iter().position(|(_, rank)| *rank == communicator.clique.rank);
        let own = own.ok_or(Failure::Internal)? as c_int;
        let name = format!("{}-{split}-{color}", communicator.name);
        join(part, &name, own, members.len() as c_int)
    }

    /// Waits until the operations of this rank are executed.
    fn ncclCommFinalize(comm: Comm) {
        communicator(comm)?.finish();
        Ok(())
    }

    /// Ends a communicator after its operations.
    fn ncclCommDestroy(comm: Comm) {
        let communicator = communicator(comm)?;
        communicator.finish();
        communicator.clique.leave();
        drop(Arc::from_raw(comm.cast_const().cast::<Communicator>()));
        Ok(())
    }

    /// Ends a communicator and the waits of its operations. Operations of other ranks fail.
    fn ncclCommAbort(comm: Comm) {
        let communicator = communicator(comm)?;
        communicator.abort();
        communicator.clique.leave();
        drop(Arc::from_raw(comm.cast_const().cast::<Communicator>()));
        Ok(())
    }

    /// The first error of an operation.
    fn ncclCommGetAsyncError(comm: Comm, error: *mut c_int) { store(error, communicator(comm)?.error()) }

    /// Number of ranks.
    fn ncclCommCount(comm: Comm, count: *mut c_int) { store(count, communicator(comm)?.clique.ranks as c_int) }

    /// Device of this rank.
    fn ncclCommCuDevice(comm: Comm, device: *mut c_int) { store(device, communicator(comm)?.device) }

    /// Number of this rank.
    fn ncclCommUserRank(comm: Comm, rank: *mut c_int) { store(rank, communicator(comm)?.clique.rank as c_int) }

    /// Registers a buffer, which changes nothing: every buffer is reached directly.
    fn ncclCommRegister(comm: Comm, buffer: *mut c_void, _size: usize, handle: *mut *mut c_void) {
        communicator(comm)?;
        store(handle, buffer)
    }

    /// Undoes a registration.
    fn ncclCommDeregister(comm: Comm, _handle: *mut c_void) { communicator(comm).map(drop) }

    /// Allocates memory of the current device.
    fn ncclMemAlloc(memory: *mut *mut c_void, bytes: usize) {
        store(memory, driver::driver()?.allocate(bytes)? as *mut c_void)
    }

    /// Frees memory of `ncclMemAlloc`.
    fn ncclMemFree(memory: *mut c_void) { driver::driver()?.free(memory as u64) }

    /// Begins a group.
    fn ncclGroupStart() {
        group::start();
        Ok(())
    }

    /// Ends a group and makes its calls.
    fn ncclGroupEnd() { group::end() }

    /// Makes a sum whose elements are multiplied by a factor of this rank. A factor in device memory
    /// is read now.
    fn ncclRedOpCreatePreMulSum(
        reduction: *mut c_int, factor: *const c_void, element: c_int, residence: c_int, comm: Comm,
    ) {
        let communicator = communicator(comm)?;
        let size = Element::of(element)?.size();
        if factor.is_null() {
            return Err(Failure::InvalidArgument);
        }
        if residence != ON_HOST {
            driver::driver()?.check(factor as u64, size)?;
        }
        let mut bytes = [0; 8];
        std::ptr::copy_nonoverlapping(factor.cast::<u8>(), bytes.as_mut_ptr(), size);
        store(reduction, communicator.make_scale(bytes))
    }

    /// Removes such a sum.
    fn ncclRedOpDestroy(reduction: c_int, comm: Comm) { communicator(comm)?.remove_scale(reduction) }

    /// Reduces elements of all ranks, for all ranks.
    fn ncclAllReduce(
        send: *const c_void, receive: *mut c_void, count: usize, element: c_int, reduction: c_int, comm: Comm,
        stream: Stream,
    ) {
        let kind = |communicator: &Communicator| Ok(Kind::AllReduce(communicator.reduction(reduction)?));
        collective(comm, stream, kind, (send, receive), (count, element, 0))
    }

    /// Reduces elements of all ranks, for the root.
    fn ncclReduce(
        send: *const c_void, receive: *mut c_void, count: usize, element: c_int, reduction: c_int, root: c_int,
        comm: Comm, stream: Stream,
    ) {
        let kind = |communicator: &Communicator| Ok(Kind::Reduce(communicator.reduction(reduction)?));
        collective(comm, stream, kind, (send, receive), (count, element, root))
    }

    /// Reduces elements of all ranks; each rank gets its part.
    fn ncclReduceScatter(
        send: *const c_void, receive: *mut c_void, count: usize, element: c_int, reduction: c_int, comm: Comm,
        stream: Stream,
    ) {
        let kind = |communicator: &Communicator| Ok(Kind::ReduceScatter(communicator.reduction(reduction)?));
        collective(comm, stream, kind, (send, receive), (count, element, 0))
    }

    /// Gathers elements of all ranks, for all ranks.
    fn ncclAllGather(
        send: *const c_void, receive: *mut c_void, count: usize, element: c_int, comm: Comm, stream: Stream,
    ) {
        collective(comm, stream, |_| Ok(Kind::AllGather), (send, receive), (count, element, 0))
    }

    /// Copies the root's elements to all ranks.
    fn ncclBroadcast(
        send: *const c_void, receive: *mut c_void, count: usize, element: c_int, root: c_int, comm: Comm,
        stream: Stream,
    ) {
        collective(comm, stream, |_| Ok(Kind::Broadcast), (send, receive), (count, element, root))
    }

    /// As `ncclBroadcast`, in place.
    fn ncclBcast(
        memory: *mut c_void, count: usize, element: c_int, root: c_int, comm: Comm, stream: Stream,
    ) {
        collective(comm, stream, |_| Ok(Kind::Broadcast), (memory, memory), (count, element, root))
    }

    /// Sends elements to a rank.
    fn ncclSend(
        send: *const c_void, count: usize, element: c_int, peer: c_int, comm: Comm, stream: Stream,
    ) {
        let address = send as u64;
        transfer(comm, stream, (address, count, element, peer), |bytes, peer| {
            Operation::Send { bytes, peer, address }
        })
    }

    /// Receives elements from a rank.
    fn ncclRecv(
        receive: *mut c_void, count: usize, element: c_int, peer: c_int, comm: Comm, stream: Stream,
    ) {
        let address = receive as u64;
        transfer(comm, stream, (address, count, element, peer), |bytes, peer| {
            Operation::Receive { bytes, peer, address }
        })
    }
}

/// Text of a result.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn ncclGetErrorString(result: c_int) -> *const c_char {
    status::text(result).as_ptr()
}

/// Text of the communicator's error; it lives until the thread's next call.
///
/// # Safety
/// `comm` is null or a live handle.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn ncclGetLastError(comm: Comm) -> *const c_char {
    thread_local! {
        static TEXT: std::cell::RefCell<CString> = std::cell::RefCell::default();
    }
    // SAFETY: passed on from the caller.
    let error = unsafe { communicator(comm) }.map_or(0, |communicator| communicator.error());
    TEXT.with_borrow_mut(|text| {
        *text = status::text(error).to_owned();
        text.as_ptr()
    })
}
