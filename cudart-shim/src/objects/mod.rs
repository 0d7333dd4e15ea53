//! Objects that a program creates: memory, arrays, textures, pools, modules, libraries, and their
//! parts.

pub(crate) mod allocation;
pub(crate) mod array;
pub(crate) mod cluster;
pub(crate) mod context;
pub(crate) mod context_storage;
pub(crate) mod device;
pub(crate) mod external_memory;
pub(crate) mod fault;
pub(crate) mod function;
pub(crate) mod graph_memory;
pub(crate) mod interprocess;
pub(crate) mod jit;
pub(crate) mod known_resources;
pub(crate) mod last_error;
pub(crate) mod lazy_modules;
pub(crate) mod legacy_launch;
pub(crate) mod library;
pub(crate) mod limits;
pub(crate) mod linker;
pub(crate) mod managed;
pub(crate) mod module;
pub(crate) mod multicast;
pub(crate) mod notification;
pub(crate) mod occupancy;
pub(crate) mod ownership;
pub(crate) mod peer;
pub(crate) mod pool;
pub(crate) mod rows;
pub(crate) mod sass_only;
pub(crate) mod shared;
pub(crate) mod stream_handles;
pub(crate) mod tensor_map;
pub(crate) mod texture;
pub(crate) mod texture_reference;
pub(crate) mod virtual_memory;
