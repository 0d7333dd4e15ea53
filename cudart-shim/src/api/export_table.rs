//! Private function tables that libraries request by number (`cuGetExportTable`). The runtime up to
//! CUDA 10.2 requests them, alone or inside cuBLAS and cuDNN, and so does the cuBLAS of CUDA 12.
//!
//! The tables are undocumented. Entries are known from observed calls; other entries are empty.
//! Newer runtimes request more, including the vendor's authenticity check, which is not imitated.

use crate::abi::error::{Error, Result};
use crate::abi::handle::{LEGACY, PER_THREAD};
use crate::abi::{Address, ContextHandle, DefaultStream, ModuleHandle, Out, StreamHandle};
use crate::api::entry::api;
use crate::host::caller::calling_file;
use crate::host::log;
use crate::objects::context_storage::{Destructor, Stored};
use crate::root::{process, session, simulator};
use crate::session::context;
use std::ffi::{c_int, c_void};
use std::sync::Once;

/// A function, an empty entry, or the table's size in bytes.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Slot(*const c_void);

// SAFETY: the address of a function or a number; it is never written through.
unsafe impl Sync for Slot {}

const NONE: Slot = Slot(std::ptr::null());

const fn size<const SLOTS: usize>() -> Slot {
    Slot(std::ptr::without_provenance(SLOTS * size_of::<Slot>()))
}

/// Functions that the runtime needs beyond the driver API: contexts and modules.
const RUNTIME: [u8; 16] = *b"\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9";
static RUNTIME_SLOTS: [Slot; 10] = [
    size::<10>(),
    NONE,
    Slot(runtime_primary_context as *const c_void),
    NONE,
    NONE,
    NONE,
    Slot(runtime_module_of_fat_binary as *const c_void),
    Slot(runtime_initialized as *const c_void),
    NONE,
    NONE,
];

/// Space for a tool's hooks into the runtime; without tools it stays zero.
const HOOKS: [u8; 16] = *b"\xa0\x94\x79\x8c\x2e\x74\x2e\x74\x93\xf2\x08\x00\x20\x0c\x0a\x66";
static HOOK_SLOTS: [Slot; 7] = [
    size::<7>(),
    NONE,
    Slot(hooks_of_calls as *const c_void),
    NONE,
    NONE,
    NONE,
    Slot(hooks_enabled as *const c_void),
];

/// A tool's data of each thread; the old runtime only queries it.
const THREAD_STORAGE: [u8; 16] = *b"\x42\xd8\x5a\x81\x23\xf6\xcb\x47\x82\x98\xf6\xe7\x8a\x3a\xec\xdc";
static THREAD_STORAGE_SLOTS: [Slot; 4] =
    [size::<4>(), NONE, Slot(thread_current_context as *const c_void), NONE];

/// A tool's data of contexts and streams. cuBLAS of CUDA 12 keys workspaces by these numbers.
const NUMBERS: [u8; 16] = *b"\x21\x31\x8c\x60\x97\x14\x32\x48\x8c\xa6\x41\xff\x73\x24\xc8\xf2";
static NUMBER_SLOTS: [Slot; 52] = {
    let mut slots = [NONE; 52];
    slots[0] = size::<52>();
    slots[4] = Slot(number_of_context as *const c_void);
    slots[39] = Slot(number_of_stream as *const c_void);
    slots[51] = Slot(stream_of_context as *const c_void);
    slots
};

/// Values that a library stores in each context.
const CONTEXT_STORAGE: [u8; 16] = *b"\xc6\x93\x33\x6e\x11\x21\xdf\x11\xa8\xc3\x68\xf3\x55\xd8\x95\x93";
static CONTEXT_STORAGE_SLOTS: [Slot; 4] = [
    Slot(context_storage_put as *const c_void),
    Slot(context_storage_delete as *const c_void),
    Slot(context_storage_get as *const c_void),
    NONE,
];

/// The table of this number.
pub(crate) fn find(id: &[u8; 16]) -> Result<*const c_void> {
    simulator()?;
    let slots: &[Slot] = match *id {
        RUNTIME => &RUNTIME_SLOTS,
        HOOKS => &HOOK_SLOTS,
        THREAD_STORAGE => &THREAD_STORAGE_SLOTS,
        NUMBERS => &NUMBER_SLOTS,
        CONTEXT_STORAGE => &CONTEXT_STORAGE_SLOTS,
        _ => {
            tell_unreplaced_runtime();
            return Err(Error::InvalidValue);
        }
    };
    Ok(slots.as_ptr().cast())
}

/// Reports once that a newer runtime requests unimitated tables: a static runtime, or the vendor's
/// library found before Voltsim's. `voltsim run` replaces either; a library path cannot.
fn tell_unreplaced_runtime() {
    static TOLD: Once = Once::new();
    // `voltsim run` has replaced all it can; libraries with an unreplaceable runtime work without
    // it.
    if run_options::system::is_preloaded("libvoltsim_") {
        return;
    }
    TOLD.call_once(|| {
        let file = calling_file().unwrap_or_else(|| "the program".to_owned());
        let what = match file.contains("libcudart") {
            true => "the vendor's CUDA runtime precedes Voltsim's in the search path",
            false => "it contains a static CUDA runtime (nvcc's default)",
        };
        log::report(|| {
            format!(
                "{file}: {what}; LD_LIBRARY_PATH alone does not replace it\n  remedy: start the program with `voltsim run`, or \
                 link it with `nvcc -cudart shared`"
            )
        });
    });
}

/// Space that the runtime scans for hooks.
static HOOK_ROOM: [usize; 512] = [0; 512];
static HOOKS_ENABLED: [u8; 16] = [0; 16];

/// The given context, else the current one.
fn given_or_current(context: ContextHandle) -> Result<ContextHandle> {
    if context.0 == 0 {
        return context::current().ok_or(Error::DeviceUninitialized);
    }
    context::check(session(), context).map(|()| context)
}

api! { Driver, Nothing;
    /// The primary context of a device.
    fn runtime_primary_context(context: Out<ContextHandle>, device: c_int) {
        context.check()?;
        context.set(context::primary_for_vendor_runtime(session(), context::ordinal(device)?)?)
    }

    /// A module from the wrapper of a fat binary.
    fn runtime_module_of_fat_binary(
        module: Out<ModuleHandle>, wrapper: Address, _unknown1: Address, _unknown2: Address, _unknown3: usize,
    ) {
        module.check()?;
        module.set(simulator()?.defer_module(wrapper.0)?)
    }

    /// Reports that the runtime is initialised.
    fn runtime_initialized(_unknown: usize) { Ok(()) }

    /// Space for a tool's hooks of runtime calls.
    fn hooks_of_calls(room: Out<*const usize>, bytes: Out<usize>) {
        room.set(HOOK_ROOM.as_ptr())?;
        bytes.set(size_of_val(&HOOK_ROOM))
    }

    /// Kinds of active hooks: none.
    fn hooks_enabled(room: Out<*const u8>, bytes: Out<usize>) {
        room.set(HOOKS_ENABLED.as_ptr())?;
        bytes.set(size_of_val(&HOOKS_ENABLED))
    }

    /// The thread's current context.
    fn thread_current_context(result: Out<ContextHandle>) {
        result.set(context::current().ok_or(Error::DeviceUninitialized)?)
    }

    /// A process-wide unique number of a context.
    fn number_of_context(context: ContextHandle, number: Out<u64>) {
        number.set(context::info(session(), given_or_current(context)?)?.id)
    }

    /// A process-wide unique number of a stream.
    fn number_of_stream(context: ContextHandle, stream: StreamHandle, number: Out<u64>) {
        given_or_current(context)?;
        number.set(simulator()?.stream_number(stream, DefaultStream::Legacy)?)
    }

    /// The stream of a handle; 0 means the legacy or the thread's default stream.
    fn stream_of_context(context: ContextHandle, stream: StreamHandle, result: Out<StreamHandle>, per_thread: c_int) {
        given_or_current(context)?;
        result.set(match (stream.0, per_thread) {
            (0, 0) => StreamHandle(LEGACY),
            (0, _) => StreamHandle(PER_THREAD),
            _ => stream,
        })
    }

    /// Stores a value in a context under a key.
    fn context_storage_put(context: ContextHandle, key: Address, value: Address, destructor: Destructor) {
        let context = given_or_current(context)?;
        let stored = Stored { value: value.0, destructor };
        process().context_storage.lock().put(context, key.0, stored);
        Ok(())
    }

    /// Removes a value.
    fn context_storage_delete(context: ContextHandle, key: Address) {
        let context = given_or_current(context)?;
        let is_removed = process().context_storage.lock().remove(context, key.0);
        if is_removed { Ok(()) } else { Err(Error::InvalidValue) }
    }

    /// The value stored under a key.
    fn context_storage_get(value: Out<Address>, context: ContextHandle, key: Address) {
        let context = given_or_current(context)?;
        let stored = process().context_storage.lock().get(context, key.0);
        value.set(Address(stored.ok_or(Error::InvalidValue)?.value))
    }
}
