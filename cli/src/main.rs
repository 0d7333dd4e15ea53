//! Placeholder head; see ARCHITECTURE.md.
fn main() {}
