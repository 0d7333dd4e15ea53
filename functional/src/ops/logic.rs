//! Logic, shifts, byte permutation (PTX manual 9.7.8).

use super::not_yet;

not_yet! {
    and and_predicate or or_predicate xor xor_predicate not not_predicate cnot lop3 lop3_predicate shf shl shr prmt
}
