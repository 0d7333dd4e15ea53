//! Integer and extended-precision arithmetic, bit counting, dot products.

/// Lines of this group: `integer_ops! { callback … }` expands to `callback! { … [ lines ] }`.
#[macro_export]
macro_rules! integer_ops {
    ($callback:ident $($before:tt)*) => {
        $callback! { $($before)* [
            /// d = a + b, wrapping.
            add: "add<integer> d, a, b", 1.0, 10, Integer, Pure, "9.7.1.1";
            /// d = a + b, clamped to the range of s32.
            add_saturating: "add.sat.s32 d, a, b", 1.0, 10, Integer, Pure, "9.7.1.1";
            /// Two packed 16-bit sums.
            add_packed: "add(.u16x2|.s16x2) d, a, b", 8.0, 90, Integer, Pure, "9.7.1.1";
            /// d = a - b, wrapping.
            sub: "sub<integer> d, a, b", 1.0, 10, Integer, Pure, "9.7.1.2";
            /// d = a - b, clamped to the range of s32.
            sub_saturating: "sub.sat.s32 d, a, b", 1.0, 10, Integer, Pure, "9.7.1.2";
            /// d = low half of a * b.
            mul_lo: "mul.lo<integer> d, a, b", 1.0, 10, Integer, Pure, "9.7.1.3";
            /// d = high half of a * b.
            mul_hi: "mul.hi<integer> d, a, b", 1.0, 10, Integer, Pure, "9.7.1.3";
            /// d = a * b, twice as wide as its operands.
            mul_wide: "mul.wide(.u16|.u32|.s16|.s32) d:wide, a, b", 1.0, 10, Integer, Pure, "9.7.1.3";
            /// Half of the carry-less product of a and b (polynomials over the field of two elements), xor
            /// c.
            clmad: "clmad(.lo|.hi).u64 d, a, b, c", 9.3, 80, Integer, Pure, "9.7.1.5";
            /// d = low half of a * b, plus c.
            mad_lo: "mad.lo<integer> d, a, b, c", 1.0, 10, Integer, Pure, "9.7.1.4";
            /// d = high half of a * b, plus c.
            mad_hi: "mad.hi<integer> d, a, b, c", 1.0, 10, Integer, Pure, "9.7.1.4";
            /// d = high half of a * b, plus c, clamped to the range of s32.
            mad_hi_saturating: "mad.hi.sat.s32 d, a, b, c", 1.0, 10, Integer, Pure, "9.7.1.4";
            /// d = a * b + c, d and c twice as wide as a and b.
            mad_wide: "mad.wide(.u16|.u32|.s16|.s32) d:wide, a, b, c:wide", 1.0, 10, Integer, Pure, "9.7.1.4";
            /// d = low 32 bits of the 48-bit product of two 24-bit numbers.
            mul24_lo: "mul24.lo(.u32|.s32) d, a, b", 1.0, 10, Integer, Pure, "9.7.1.5";
            /// d = high 32 bits of the 48-bit product of two 24-bit numbers.
            mul24_hi: "mul24.hi(.u32|.s32) d, a, b", 1.0, 10, Integer, Pure, "9.7.1.5";
            /// d = low 32 bits of a 24-bit product, plus c.
            mad24_lo: "mad24.lo(.u32|.s32) d, a, b, c", 1.0, 10, Integer, Pure, "9.7.1.6";
            /// d = high 32 bits of a 24-bit product, plus c.
            mad24_hi: "mad24.hi(.u32|.s32) d, a, b, c", 1.0, 10, Integer, Pure, "9.7.1.6";
            /// d = high 32 bits of a 24-bit product, plus c, clamped to the range of s32.
            mad24_hi_saturating: "mad24.hi.sat.s32 d, a, b, c", 1.0, 10, Integer, Pure, "9.7.1.6";
            /// d = sum of absolute differences |a - b| + c.
            sad: "sad<integer> d, a, b, c", 1.0, 10, Integer, Pure, "9.7.1.7";
            /// d = a / b, towards zero; all ones when b is 0.
            div: "div<integer> d, a, b", 1.0, 10, Integer, Pure, "9.7.1.8";
            /// d = a - b * (a / b), with the sign of a; all ones when b is 0.
            rem: "rem<integer> d, a, b", 1.0, 10, Integer, Pure, "9.7.1.9";
            /// d = |a|; the most negative number is its own absolute value.
            abs: "abs(.s16|.s32|.s64) d, a", 1.0, 10, Integer, Pure, "9.7.1.10";
            /// d = -a, wrapping.
            neg: "neg(.s16|.s32|.s64) d, a", 1.0, 10, Integer, Pure, "9.7.1.11";
            /// d = the smaller of a and b.
            min: "min<integer> d, a, b", 1.0, 10, Integer, Pure, "9.7.1.12";
            /// Two packed 16-bit minimums.
            min_packed: "min.u16x2 d, a, b", 8.0, 90, Integer, Pure, "9.7.1.12";
            /// Two packed 16-bit minimums, at least 0 with .relu.
            min_packed_signed: "min{.relu}.s16x2 d, a, b", 8.0, 90, Integer, Pure, "9.7.1.12";
            /// d = the minimum of a and b, at least 0.
            min_relu: "min.relu.s32 d, a, b", 8.0, 90, Integer, Pure, "9.7.1.12";
            /// d = the larger of a and b.
            max: "max<integer> d, a, b", 1.0, 10, Integer, Pure, "9.7.1.13";
            /// Two packed 16-bit maximums.
            max_packed: "max.u16x2 d, a, b", 8.0, 90, Integer, Pure, "9.7.1.13";
            /// Two packed 16-bit maximums, at least 0 with .relu.
            max_packed_signed: "max{.relu}.s16x2 d, a, b", 8.0, 90, Integer, Pure, "9.7.1.13";
            /// d = the maximum of a and b, at least 0.
            max_relu: "max.relu.s32 d, a, b", 8.0, 90, Integer, Pure, "9.7.1.13";
            /// d = number of ones in a.
            popc: "popc(.b32|.b64) d:u32, a", 2.0, 20, Integer, Pure, "9.7.1.14";
            /// d = number of leading zeros of a.
            clz: "clz(.b32|.b64) d:u32, a", 2.0, 20, Integer, Pure, "9.7.1.15";
            /// d = position of the most significant non-sign bit, all ones if there is none.
            bfind: "bfind(.u32|.u64|.s32|.s64) d:u32, a", 2.0, 20, Integer, Pure, "9.7.1.16";
            /// d = left shift that moves the highest non-sign bit to the top; all ones if there is none.
            bfind_shiftamt: "bfind.shiftamt(.u32|.u64|.s32|.s64) d:u32, a", 2.0, 20, Integer, Pure, "9.7.1.16";
            /// d = position of the n-th one of a, counted from base upwards or downwards.
            fns: "fns.b32 d, a, b, c:s32", 6.0, 30, Integer, Pure, "9.7.1.17";
            /// d = bits of a in reverse order.
            brev: "brev(.b32|.b64) d, a", 2.0, 20, Integer, Pure, "9.7.1.18";
            /// d = field of c bits from bit b of a, sign- or zero-extended.
            bfe: "bfe(.u32|.u64|.s32|.s64) d, a, b:u32, c:u32", 2.0, 20, Integer, Pure, "9.7.1.19";
            /// d = b with its field of e bits from bit c replaced by the low bits of a.
            bfi: "bfi(.b32|.b64) d, a, b, c:u32, e:u32", 2.0, 20, Integer, Pure, "9.7.1.20";
            /// d = a sign- or zero-extended from bit b.
            szext: "szext(.clamp|.wrap)(.u32|.s32) d, a, b:u32", 7.6, 70, Integer, Pure, "9.7.1.21";
            /// d = mask of b ones from bit a.
            bmsk: "bmsk(.clamp|.wrap).b32 d, a:u32, b:u32", 7.6, 70, Integer, Pure, "9.7.1.22";
            /// d = dot product of four bytes of a and b, plus c.
            dp4a: "dp4a(.u32|.s32)(.u32|.s32) d:b32, a:b32, b:b32, c:b32", 5.0, 61, Integer, Pure, "9.7.1.23";
            /// d = dot product of two halves of a and two bytes of b, plus c.
            dp2a: "dp2a(.lo|.hi)(.u32|.s32)(.u32|.s32) d:b32, a:b32, b:b32, c:b32", 5.0, 61, Integer, Pure, "9.7.1.24";
            /// d = a + b, carry out to CC.CF.
            add_cc: "add.cc(.u32|.s32|.u64@4.3:20|.s64@4.3:20) d, a, b", 1.2, 10, Integer, Pure, "9.7.2.1";
            /// d = a + b + CC.CF; with .cc carry out to CC.CF.
            addc: "addc(.u32|.s32|.u64|.s64) d, a, b", 1.2, 10
                / "addc.cc(.u32|.s32|.u64@4.3:20|.s64@4.3:20)", 1.2, 10, Integer, Pure, "9.7.2.2";
            /// d = a - b, borrow out to CC.CF.
            sub_cc: "sub.cc(.u32|.s32|.u64@4.3:20|.s64@4.3:20) d, a, b", 1.2, 10, Integer, Pure, "9.7.2.3";
            /// d = a - (b + CC.CF); with .cc borrow out to CC.CF.
            subc: "subc(.u32|.s32|.u64|.s64) d, a, b", 1.2, 10
                / "subc.cc(.u32|.s32|.u64@4.3:20|.s64@4.3:20)", 1.2, 10, Integer, Pure, "9.7.2.4";
            /// d = half of a * b, plus c, carry out to CC.CF.
            mad_cc: "mad(.lo|.hi).cc(.u32|.s32|.u64@4.3:20|.s64@4.3:20) d, a, b, c", 3.0, 20, Integer, Pure, "9.7.2.5";
            /// d = half of a * b, plus c and CC.CF; with .cc carry out to CC.CF.
            madc: "madc(.lo|.hi)(.u32|.s32|.u64|.s64) d, a, b, c", 3.0, 20
                / "madc(.lo|.hi).cc(.u32|.s32|.u64@4.3:20|.s64@4.3:20)", 3.0, 20, Integer, Pure, "9.7.2.6";
        ] }
    };
}
