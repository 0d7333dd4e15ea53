//! `libnvJitLink.so.13`: every function is a jump into the core.

front_loader::front!();
