//! Atomic operations on memory (PTX manual 9.7.13.5, 9.7.13.6).

use super::not_yet;

not_yet! { atom_bits atom_cas atom_integer atom_count atom_float red_bits red_integer red_count red_float }
