//! Conversion between types (`cvt`), one form per kind of source and result.

/// The lines of this group: `convert_ops! { callback … }` expands to `callback! { … [ lines ] }`.
#[macro_export]
macro_rules! convert_ops {
    ($callback:ident $($before:tt)*) => {
        $callback! { $($before)* [
            /// Integer to integer, truncated or extended; with .sat clamped.
            integer_to_integer: "cvt{.sat}(.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64)(.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64) d:T1, a:T2", 1.0, 10, Integer, Pure, "9.7.9.20";
            /// Float to integer, rounded and clamped; NaN becomes 0 (or the largest 64-bit pattern's top bit).
            float_to_integer: "cvt(.rni|.rzi|.rmi|.rpi){.ftz}{.sat}(.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64)(.f16|.bf16|.f32|.f64) d:T1, a:T2", 1.0, 10, Integer, Pure, "9.7.9.20";
            /// Integer to float, rounded.
            integer_to_float: "cvt<round>{.ftz}{.sat}(.f16|.bf16|.f32|.f64)(.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64) d:T1, a:T2", 1.0, 10, Integer, Pure, "9.7.9.20";
            /// Float to float: widened exactly, narrowed with rounding, or rounded to an integral value.
            float_to_float: "cvt{.rn|.rz|.rm|.rp|.rna|.rni|.rzi|.rmi|.rpi}{.ftz}{.relu}{.sat}(.f16|.bf16|.f32|.f64)(.f16|.bf16|.f32|.f64) d:T1, a:T2", 1.0, 10, Fp32, Pure, "9.7.9.20";
            /// Two singles to a pair of halves: d = {a, b}, a in the upper half.
            pack_halves: "cvt(.rn|.rz){.satfinite}{.relu}(.f16x2|.bf16x2).f32 d:T1, a:f32, b:f32", 7.0, 80, Fp32, Pure, "9.7.9.20";
        ] }
    };
}
