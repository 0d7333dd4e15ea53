//! Registered memory that the program unmaps or protects, and a kernel accesses.
//!
//! The engine checks an access and then makes it; between the two the program may unmap the memory.
//! The program may also protect the memory at any time (`mprotect`). The access raises SIGSEGV. The
//! handler here maps empty memory at the place, or opens the protected pages, so that the access
//! ends. The launch then ends with a fault, and [`protect_again`] restores the protection. Any other
//! SIGSEGV goes to the action that was set before. Examples are an access by code of another file,
//! and an address that is not registered.
//!
//! State is global because signals have no receiver, and atomic because a handler may take no lock. The
//! empty memory stays mapped: the program may have mapped over it since.

use super::arena::PAGE;
use super::own_mappings::mapping_at;
use parking_lot::Mutex;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Registered ranges in a block.
const BLOCK: usize = 64;
/// Places that can be lost before SIGSEGV is passed on.
const MOST_LOST: usize = 1024;
/// Bytes that are mapped at once where all of them are lost.
const CHUNK: u64 = 2 << 20;

/// A registered range; it is none while its end is 0.
struct Watched {
    start: AtomicU64,
    end: AtomicU64,
}

/// Ranges, and the block with more of them. Blocks are never freed, as a handler may look through them.
struct Block {
    ranges: [Watched; BLOCK],
    next: AtomicPtr<Block>,
}

impl Block {
    const fn new() -> Block {
        let ranges = [const { Watched { start: AtomicU64::new(0), end: AtomicU64::new(0) } }; BLOCK];
        Block { ranges, next: AtomicPtr::new(ptr::null_mut()) }
    }
}

/// A place where a kernel met memory that the program has unmapped or protected.
struct Lost {
    start: AtomicU64,
    bytes: AtomicU64,
    /// Access rights to restore, [`UNMAPPED`] or [`RESTORED`].
    rights: AtomicI32,
}

impl Lost {
    /// True if the place has bytes of a range. A place whose memory was registered again has none.
    fn overlaps(&self, range: &Range<u64>) -> bool {
        let bytes = self.bytes.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Acquire);
        bytes > 0 && start < range.end && range.start < start + bytes
    }
}

/// Nothing was mapped at the place.
const UNMAPPED: c_int = -1;
/// The place was protected, and is again.
const RESTORED: c_int = -2;

/// How registered memory was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The program has unmapped the memory at this address.
    Unmapped(u64),
    /// The program has protected the memory at this address.
    Protected(u64),
}

static RANGES: Block = Block::new();
/// Compiled code that accesses simulated memory.
static COMPILED: Block = Block::new();
static LOST: [Lost; MOST_LOST] =
    [const { Lost { start: AtomicU64::new(0), bytes: AtomicU64::new(0), rights: AtomicI32::new(UNMAPPED) } };
        MOST_LOST];
/// Places of [`LOST`] that are taken.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Bounds of the code that accesses simulated memory.
static CODE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// Action that was set before.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());

/// All blocks of a list.
fn blocks(list: &'static Block) -> impl Iterator<Item = &'static Block> {
    std::iter::successors(Some(list), |block| {
        // SAFETY: null, or a block that `insert` has leaked.
        unsafe { block.next.load(Ordering::Acquire).as_ref() }
    })
}

/// One thread at a time changes the ranges.
static CHANGES: Mutex<()> = Mutex::new(());

/// Kernels may access this range from now on.
pub(super) fn watch(range: Range<u64>) {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(install);
    let _changes = CHANGES.lock();
    for lost in places(0).iter().filter(|lost| lost.overlaps(&range)) {
        lost.bytes.store(0, Ordering::Release);
    }
    insert(&RANGES, &range);
}

/// Code outside of this file that accesses memory for kernels lies here from now on.
pub(crate) fn code_begins(range: &Range<u64>) {
    let _changes = CHANGES.lock();
    insert(&COMPILED, range);
}

/// The code that starts here is about to be freed.
pub(crate) fn code_ends(start: u64) {
    let _changes = CHANGES.lock();
    remove(&COMPILED, start);
}

/// Adds a range to a list, whose changes are locked.
fn insert(list: &'static Block, range: &Range<u64>) {
    let free =
        blocks(list).flat_map(|block| &block.ranges).find(|watched| watched.end.load(Ordering::Relaxed) == 0);
    let set = |watched: &Watched| {
        watched.start.store(range.start, Ordering::Release);
        watched.end.store(range.end, Ordering::Release);
    };
    match free {
        Some(watched) => set(watched),
        None => {
            let block: &'static Block = Box::leak(Box::new(Block::new()));
            block.ranges.first().into_iter().for_each(set);
            if let Some(last) = blocks(list).last() {
                last.next.store(ptr::from_ref(block).cast_mut(), Ordering::Release);
            }
        }
    }
}

/// The range that starts here is no longer registered.
pub(super) fn forget(start: u64) {
    let _changes = CHANGES.lock();
    remove(&RANGES, start);
}

/// Removes the range that starts here from a list, whose changes are locked.
fn remove(list: &'static Block, start: u64) {
    let mut all = blocks(list).flat_map(|block| &block.ranges);
    let found = all.find(|watched| {
        watched.start.load(Ordering::Relaxed) == start && watched.end.load(Ordering::Relaxed) != 0
    });
    if let Some(watched) = found {
        watched.end.store(0, Ordering::Release);
    }
}

/// True if memory of this range was lost since its registration.
pub(super) fn has_lost(range: Range<u64>) -> bool {
    places(0).iter().any(|lost| lost.overlaps(&range))
}

/// Places that were lost, from the one of this number on.
fn places(from: usize) -> &'static [Lost] {
    let count = COUNT.load(Ordering::Acquire);
    LOST.get(from..count.min(MOST_LOST)).unwrap_or_default()
}

/// Protects the places again that the handler has opened, where the program has changed nothing since.
pub(super) fn protect_again() {
    for lost in places(0) {
        let rights = lost.rights.load(Ordering::Acquire);
        if rights < 0 || lost.rights.swap(RESTORED, Ordering::AcqRel) < 0 {
            continue;
        }
        let start = lost.start.load(Ordering::Acquire);
        let bytes = lost.bytes.load(Ordering::Acquire);
        let is_open = mapping_at(start)
            .is_some_and(|mapping| mapping.rights == OPEN && start + bytes <= mapping.range.end);
        if is_open {
            // SAFETY: the call takes the rights away that the handler has given.
            unsafe { libc::mprotect(start as *mut c_void, bytes as usize, rights) };
        }
    }
}

/// Number of places that were lost when a launch or a copy began.
#[derive(Clone, Copy, Debug)]
pub struct Losses(usize);

impl Losses {
    /// Nothing is lost to the launch yet.
    pub fn now() -> Losses {
        Losses(COUNT.load(Ordering::Acquire))
    }

    /// The first loss since then.
    #[inline]
    pub fn since(self) -> Option<Loss> {
        if COUNT.load(Ordering::Relaxed) == self.0 {
            return None;
        }
        let first = places(self.0).first();
        let start = first.map_or(0, |lost| lost.start.load(Ordering::Acquire));
        Some(match first.map(|lost| lost.rights.load(Ordering::Acquire)) {
            None | Some(UNMAPPED) => Loss::Unmapped(start),
            Some(_) => Loss::Protected(start),
        })
    }
}

/// Finds the bounds of the code, and sets the handler.
fn install() {
    unsafe extern "C" fn find(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
        let own = handle as *const () as u64;
        // SAFETY: the loader gives whole structures.
        let (base, headers) = unsafe {
            let info = &*info;
            (info.dlpi_addr, std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()))
        };
        let code = headers.iter().filter(|part| part.p_type == libc::PT_LOAD);
        let bounds = code.map(|part| (base + part.p_vaddr, base + part.p_vaddr + part.p_memsz));
        match bounds.into_iter().find(|(start, end)| (*start..*end).contains(&own)) {
            Some((start, end)) => {
                CODE[0].store(start, Ordering::Release);
                CODE[1].store(end, Ordering::Release);
                1
            }
            None => 0,
        }
    }
    // SAFETY: the callback keeps no pointer. All of the structures may be 0, and the handler calls only
    // what a handler may.
    unsafe {
        libc::dl_iterate_phdr(Some(find), ptr::null_mut());
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGSEGV, ptr::null(), &mut before) != 0 {
            return;
        }
        let has_handler = before.sa_sigaction != libc::SIG_DFL && before.sa_sigaction != libc::SIG_IGN;
        let mut action = before;
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = if has_handler { before.sa_flags & !libc::SA_RESETHAND } else { libc::SA_ONSTACK };
        action.sa_flags |= libc::SA_SIGINFO;
        BEFORE.store(Box::leak(Box::new(before)), Ordering::Release);
        libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut());
    }
}

unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    /// The address is not mapped.
    const SEGV_MAPERR: c_int = 1;
    /// The mapping forbids the access.
    const SEGV_ACCERR: c_int = 2;
    // SAFETY: the system gives whole structures; errno is what it was afterwards.
    unsafe {
        let errno = *libc::__errno_location();
        let address = (*info).si_addr() as u64;
        let is_mended = is_own(&*context.cast::<libc::ucontext_t>())
            && match (*info).si_code {
                SEGV_MAPERR => mend(address),
                SEGV_ACCERR => open(address),
                _ => false,
            };
        *libc::__errno_location() = errno;
        if !is_mended {
            pass_on(signal, info, context);
        }
    }
}

/// Does the interrupted code belong to this file, or has the engine compiled it?
fn is_own(context: &libc::ucontext_t) -> bool {
    let at = context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64;
    let is_compiled =
        |code: &Watched| (code.start.load(Ordering::Acquire)..code.end.load(Ordering::Acquire)).contains(&at);
    (CODE[0].load(Ordering::Acquire)..CODE[1].load(Ordering::Acquire)).contains(&at)
        || blocks(&COMPILED).flat_map(|block| &block.ranges).any(is_compiled)
}

/// The part of registered memory around an address that is mended at once: whole pages of a chunk.
fn part_at(address: u64) -> Option<Range<u64>> {
    let bounds =
        |watched: &Watched| watched.start.load(Ordering::Acquire)..watched.end.load(Ordering::Acquire);
    let mut all = blocks(&RANGES).flat_map(|block| &block.ranges).map(bounds);
    let range = all.find(|range| range.contains(&address))?;
    let chunk = address / CHUNK * CHUNK;
    let first = chunk.max(range.start / PAGE * PAGE);
    let last = (chunk + CHUNK).min(range.end.next_multiple_of(PAGE));
    (COUNT.load(Ordering::Acquire) < MOST_LOST).then_some(first..last)
}

/// Notes a place that was lost.
fn note(start: u64, bytes: u64, rights: c_int) {
    let number = COUNT.fetch_add(1, Ordering::AcqRel);
    if let Some(lost) = LOST.get(number) {
        lost.start.store(start, Ordering::Release);
        lost.bytes.store(bytes, Ordering::Release);
        lost.rights.store(rights, Ordering::Release);
    }
}

/// Maps empty memory at an address of registered memory; false where that cannot be done.
fn mend(address: u64) -> bool {
    let Some(part) = part_at(address) else { return false };
    let page = address / PAGE * PAGE;
    for (start, bytes) in [(part.start, part.end - part.start), (page, PAGE)] {
        if map(start, bytes) {
            note(start, bytes, UNMAPPED);
            return true;
        }
    }
    // Another thread has mapped something here since, which the access finds.
    // SAFETY: the function has no precondition.
    unsafe { *libc::__errno_location() == libc::EEXIST }
}

/// Access rights that let each access end.
const OPEN: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Opens protected pages of registered memory; false where that cannot be done.
fn open(address: u64) -> bool {
    let Some(part) = part_at(address) else { return false };
    let Some(mapping) = mapping_at(address) else { return false };
    if mapping.rights & OPEN == OPEN {
        // Another thread has opened the pages since.
        return true;
    }
    let start = part.start.max(mapping.range.start);
    let bytes = part.end.min(mapping.range.end) - start;
    // SAFETY: the pages are memory that the program has registered for kernels.
    let is_opened = unsafe { libc::mprotect(start as *mut c_void, bytes as usize, OPEN) == 0 };
    if is_opened {
        note(start, bytes, mapping.rights);
    }
    is_opened
}

/// Maps empty memory where nothing is mapped.
fn map(start: u64, bytes: u64) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE | libc::MAP_NORESERVE;
    // SAFETY: with these flags the call changes no mapping.
    let at = unsafe { libc::mmap(start as *mut c_void, bytes as usize, OPEN, flags, -1, 0) };
    at as u64 == start
}

/// Does what would have been done without this handler.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the action stays, and its handler is of the type that its flags tell. The signal's default
    // action comes with the next access, or at once where the signal was sent.
    unsafe {
        let before = BEFORE.load(Ordering::Acquire).as_ref();
        match before.map(|before| (before.sa_sigaction, before.sa_flags & libc::SA_SIGINFO != 0)) {
            None | Some((libc::SIG_DFL | libc::SIG_IGN, _)) => {
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &default, ptr::null_mut());
                if (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            }
            Some((handler, true)) => {
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context);
            }
            Some((handler, false)) => {
                let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}
