//! Logic, shifts, byte permutation.

/// Lines of this group: `logic_ops! { callback … }` expands to `callback! { … [ lines ] }`.
#[macro_export]
macro_rules! logic_ops {
    ($callback:ident $($before:tt)*) => {
        $callback! { $($before)* [
            /// d = a and b.
            and: "and(.b16|.b32|.b64) d, a, b", 1.0, 10, Integer, Pure, "9.7.8.1";
            /// d = a and b, predicates.
            and_predicate: "and.pred d, !a, !b", 1.0, 10, Integer, Pure, "9.7.8.1";
            /// d = a or b.
            or: "or(.b16|.b32|.b64) d, a, b", 1.0, 10, Integer, Pure, "9.7.8.2";
            /// d = a or b, predicates.
            or_predicate: "or.pred d, !a, !b", 1.0, 10, Integer, Pure, "9.7.8.2";
            /// d = a exclusive-or b.
            xor: "xor(.b16|.b32|.b64) d, a, b", 1.0, 10, Integer, Pure, "9.7.8.3";
            /// d = a exclusive-or b, predicates.
            xor_predicate: "xor.pred d, !a, !b", 1.0, 10, Integer, Pure, "9.7.8.3";
            /// d = one's complement of a.
            not: "not(.b16|.b32|.b64) d, a", 1.0, 10, Integer, Pure, "9.7.8.4";
            /// d = negation of a, predicates.
            not_predicate: "not.pred d, !a", 1.0, 10, Integer, Pure, "9.7.8.4";
            /// d = 1 if a is 0, else 0.
            cnot: "cnot(.b16|.b32|.b64) d, a", 1.0, 10, Integer, Pure, "9.7.8.5";
            /// d = any function of three inputs, given by its truth table.
            lop3: "lop3.b32 d, a, b, c, e:u32", 4.3, 50, Integer, Pure, "9.7.8.6";
            /// d = any function of three inputs; p = (d is not 0) combined with q.
            lop3_predicate: "lop3(.and|.or).b32 d|p:pred, a, b, c, e:u32, !r:pred", 8.2, 70, Integer, Pure, "9.7.8.6";
            /// d = 32 bits of the 64-bit value b:a, shifted left or right by c.
            shf: "shf(.l|.r)(.clamp|.wrap).b32 d, a, b, c:u32", 3.1, 32, Integer, Pure, "9.7.8.7";
            /// d = a shifted left by b, 0 for shifts of the width or more.
            shl: "shl(.b16|.b32|.b64) d, a, b:u32", 1.0, 10, Integer, Pure, "9.7.8.8";
            /// d = a shifted right by b, filled with the sign or zeros, also for shifts beyond the width.
            shr: "shr(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64) d, a, b:u32", 1.0, 10, Integer, Pure, "9.7.8.9";
            /// d = four bytes picked from b:a by the selector c.
            prmt: "prmt.b32{.f4e|.b4e|.rc8|.ecl|.ecr|.rc16} d, a, b, c", 2.0, 20, Integer, Pure, "9.7.9.7";
        ] }
    };
}
