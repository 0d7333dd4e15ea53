//! Ownership of objects by created contexts. Destroying a context destroys its objects (driver API,
//! `cuCtxDestroy`).
//!
//! Objects of a primary context are not listed here: a reset destroys all objects of the device.

use crate::abi::{
    ArrayHandle, ContextHandle, EventHandle, MipmappedArrayHandle, ModuleHandle, StreamHandle, SurfaceObject,
    TextureObject, TextureReferenceHandle,
};
use crate::objects::context;
use crate::objects::shared::Shared;
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
pub(crate) fn adopt(shared: &'static Shared, object: Object) {
    if let Some(context) = context::current().filter(|context| !context::is_primary(*context)) {
        shared.owned.lock().contexts.insert(object, context);
    }
}

/// Removes a destroyed object.
pub(crate) fn disown(shared: &'static Shared, object: Object) {
    shared.owned.lock().contexts.remove(&object);
}

/// The created context that owns an object.
pub(crate) fn context_of(shared: &'static Shared, object: Object) -> Option<ContextHandle> {
    shared.owned.lock().contexts.get(&object).copied()
}

/// Removes the objects of a context from the list and returns them in the order of destruction.
pub(crate) fn take_of(shared: &'static Shared, context: ContextHandle) -> Vec<Object> {
    let mut objects = Vec::new();
    shared.owned.lock().contexts.retain(|object, owner| {
        let is_its = *owner == context;
        if is_its {
            objects.push(*object);
        }
        !is_its
    });
    objects.sort_unstable();
    objects
}

/// Removes the objects of all contexts of a device that is being reset.
pub(crate) fn forget_of_device(shared: &'static Shared, device: usize) {
    shared.owned.lock().contexts.retain(|_, context| context::device_of(*context) != device);
}
