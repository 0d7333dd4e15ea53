//! `libnvidia-ml.so.1`: every function is a jump into the core.

front_loader::front!();
