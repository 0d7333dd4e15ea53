//! `libnvJitLink.so.12`: every function is a jump into the core.

front_loader::front!();
