//! Conversion between types (PTX manual 9.7.9.20).

use super::not_yet;

not_yet! { integer_to_integer float_to_integer integer_to_float float_to_float pack_halves }
