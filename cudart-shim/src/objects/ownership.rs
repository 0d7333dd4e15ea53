//! Objects of the contexts that a program creates. Destroying a context destroys its objects
//! (driver API, `cuCtxDestroy`).
//!
//! Objects of a primary context are not listed here: a reset of the device takes all that the
//! device has.

use crate::abi::error::Result;
use crate::abi::{
    ArrayHandle, ContextHandle, EventHandle, MipmappedArrayHandle, ModuleHandle, StreamHandle, SurfaceObject,
    TextureObject, TextureReferenceHandle,
};
use crate::api::driver::linker;
use crate::api::entry;
use crate::session::context;
use crate::session::process::process;
use crate::session::simulator::{Simulator, simulator_of};
use rustc_hash::FxHashMap;

/// An object that belongs to a context. The order is the one in which a context's objects are
/// destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Object {
    Texture(TextureObject),
    Surface(SurfaceObject),
    Reference(TextureReferenceHandle),
    Array(ArrayHandle),
    MipmappedArray(MipmappedArrayHandle),
    Link(usize),
    Module(ModuleHandle),
    Event(EventHandle),
    Stream(StreamHandle),
    /// Memory of `cuMemAlloc` and its kin, by its address.
    Memory(u64),
    /// Memory of the program's own that was registered, by its address.
    Registration(u64),
}

/// The objects and their contexts.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    contexts: FxHashMap<Object, ContextHandle>,
}

/// Gives a new object to the thread's current context, if the program has created that.
pub(crate) fn adopt(object: Object) {
    if let Some(context) = context::current().filter(|context| !context::is_primary(*context)) {
        process().owned.lock().contexts.insert(object, context);
    }
}

/// An object has been destroyed.
pub(crate) fn disown(object: Object) {
    process().owned.lock().contexts.remove(&object);
}

/// The created context that an object belongs to.
pub(crate) fn context_of(object: Object) -> Option<ContextHandle> {
    process().owned.lock().contexts.get(&object).copied()
}

/// Destroys the objects of a context.
pub(crate) fn destroy_of(context: ContextHandle) -> Result<()> {
    let simulator = simulator_of(context::device_of(context))?;
    let mut objects = Vec::new();
    process().owned.lock().contexts.retain(|object, owner| {
        let is_its = *owner == context;
        if is_its {
            objects.push(*object);
        }
        !is_its
    });
    objects.sort_unstable();
    for object in objects {
        // An object that is gone already, or that has failed, is no reason to keep the others.
        let _ = destroy(simulator, object);
    }
    Ok(())
}

fn destroy(simulator: &'static Simulator, object: Object) -> Result<()> {
    match object {
        Object::Texture(texture) => simulator.destroy_texture(texture),
        Object::Surface(surface) => simulator.destroy_surface(surface),
        Object::Reference(reference) => simulator.destroy_reference(reference),
        Object::Array(array) => simulator.free_array(array),
        Object::MipmappedArray(array) => simulator.free_mipmapped_array(array),
        Object::Link(link) => linker::destroy(link),
        Object::Module(module) => simulator.unload_module(module),
        Object::Event(event) => simulator.destroy_event(event),
        Object::Stream(stream) => simulator.destroy_stream(stream),
        Object::Memory(address) => simulator.owner(address).release(address, entry::origin()),
        Object::Registration(address) => simulator.unregister_host(address),
    }
}

/// A device has been reset, and with it the objects of all its contexts.
pub(crate) fn forget_of_device(device: usize) {
    process().owned.lock().contexts.retain(|_, context| context::device_of(*context) != device);
}
