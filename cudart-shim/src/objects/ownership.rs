//! Ownership of objects by created contexts. Destroying a context destroys its objects (driver API,
//! `cuCtxDestroy`).
//!
//! Objects of a primary context are not listed here: a reset destroys all objects of the device.

use crate::abi::error::Result;
use crate::abi::{
    ArrayHandle, ContextHandle, EventHandle, MipmappedArrayHandle, ModuleHandle, StreamHandle, SurfaceObject,
    TextureObject, TextureReferenceHandle,
};
use crate::host::present_call;
use crate::session::context;
use crate::session::process::process;
use crate::session::simulator::{Simulator, simulator_of};
use rustc_hash::FxHashMap;

/// An object that belongs to a context. Variants are in order of destruction.
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
    /// Address of memory from `cuMemAlloc` and similar calls.
    Memory(u64),
    /// Address of registered host memory.
    Registration(u64),
}

/// All owned objects with their contexts.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    contexts: FxHashMap<Object, ContextHandle>,
}

/// Assigns a new object to the thread's current context, if the program created that context.
pub(crate) fn adopt(object: Object) {
    if let Some(context) = context::current().filter(|context| !context::is_primary(*context)) {
        process().owned.lock().contexts.insert(object, context);
    }
}

/// Removes a destroyed object.
pub(crate) fn disown(object: Object) {
    process().owned.lock().contexts.remove(&object);
}

/// The created context that owns an object.
pub(crate) fn context_of(object: Object) -> Option<ContextHandle> {
    process().owned.lock().contexts.get(&object).copied()
}

/// Destroys a context's objects.
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
        // A missing or failed object does not stop the destruction of the others.
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
        Object::Link(link) => {
            disown(Object::Link(link));
            process().links.lock().end(link)
        }
        Object::Module(module) => simulator.unload_module(module),
        Object::Event(event) => simulator.destroy_event(event),
        Object::Stream(stream) => simulator.destroy_stream(stream),
        Object::Memory(address) => simulator.owner(address).release(address, present_call::origin()),
        Object::Registration(address) => simulator.unregister_host(address),
    }
}

/// Removes the objects of all contexts of a device that is being reset.
pub(crate) fn forget_of_device(device: usize) {
    process().owned.lock().contexts.retain(|_, context| context::device_of(*context) != device);
}
