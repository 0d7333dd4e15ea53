//! Memory use of the reader on damaged fat binaries.
//!
//! A separate test program, because it measures the allocations of the whole process.

#[path = "container/builder.rs"]
#[allow(dead_code, reason = "this program uses a part of the builder")]
mod builder;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use builder::{EntryBuilder, LZ4, ZSTD, container, repeating_zstd_frame};
use ptx_frontend::container::{Containers, Origin};

/// The system's allocator with a record of peak use.
struct Measuring;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is forwarded to the system's allocator unchanged.
unsafe impl GlobalAlloc for Measuring {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Measuring = Measuring;

/// Returns the peak number of bytes allocated while all payloads of `bytes` are read.
fn memory_to_read(bytes: &[u8]) -> usize {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    for container in Containers::new(bytes, Origin::RegisteredImage).flatten() {
        for entry in container.entries().flatten() {
            let _ = entry.payload();
        }
    }
    MOST.load(Ordering::Relaxed) - before
}

#[test]
fn allocations_are_bounded_by_the_input_size() {
    const MIB: usize = 1 << 20;
    let text: String = (0..40).map(|number| format!("mov.u32 %r{number}, {number};\n")).collect();
    let ptx = EntryBuilder::ptx(75, &text);

    for entry in [ptx.clone().lz4(), ptx.clone().zstd()] {
        let whole = container(&[entry]);
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let memory = memory_to_read(&damaged);
            assert!(memory < 2 * MIB, "bit {bit}: {memory} bytes for an input of {}", whole.len());
        }
    }

    for claim in [u64::MAX, 1 << 40, 1 << 30, 1 << 29] {
        for (flag, payload) in [(LZ4, vec![0xff; 4096]), (ZSTD, vec![0xff; 4096])] {
            let memory = memory_to_read(&container(&[ptx.clone().stored_as(flag, payload).claiming(claim)]));
            assert!(memory < 2 * MIB, "claim of {claim}: {memory} bytes");
        }
    }

    let bomb = ptx.stored_as(ZSTD, repeating_zstd_frame(8000)).claiming(1000);
    let memory = memory_to_read(&container(&[bomb]));
    assert!(memory < 4 * MIB, "{memory} bytes for a frame that claims 1000 and holds a gigabyte");
}
