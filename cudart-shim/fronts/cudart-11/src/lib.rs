//! `libcudart.so.11.0`: every function is a jump into the core.

front_loader::front!();
