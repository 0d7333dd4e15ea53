//! Conversion between types (`cvt`), one form per kind of source and result.

/// Lines of this group: `convert_ops! { callback … }` expands to `callback! { … [ lines ] }`.
#[macro_export]
macro_rules! convert_ops {
    ($callback:ident $($before:tt)*) => {
        $callback! { $($before)* [
            /// Integer to integer, truncated or extended; clamped with .sat.
            integer_to_integer: "cvt<whole><whole> d:T1, a:T2", 1.0, 10
                / "cvt.sat.u8(.u16|.u32|.u64|.s8|.s16|.s32|.s64)", 1.0, 10
                / "cvt.sat.u16(.u32|.u64|.s8|.s16|.s32|.s64)", 1.0, 10
                / "cvt.sat.u32(.u64|.s8|.s16|.s32|.s64)", 1.0, 10
                / "cvt.sat.u64(.s8|.s16|.s32|.s64)", 1.0, 10
                / "cvt.sat.s8(.u8|.u16|.u32|.u64|.s16|.s32|.s64)", 1.0, 10
                / "cvt.sat.s16(.u16|.u32|.u64|.s32|.s64)", 1.0, 10
                / "cvt.sat.s32(.u32|.u64|.s64)", 1.0, 10
                / "cvt.sat.s64.u64", 1.0, 10,
                Integer, Pure, "9.7.9.20";
            /// Float to integer, rounded and clamped; NaN becomes 0 (in 64 bits, the top bit).
            float_to_integer: "cvt<to_whole>{.ftz}{.sat}<whole>.f32 d:T1, a:T2", 1.0, 10
                / "cvt<to_whole>{.sat}<whole>.f16", 1.0, 10
                / "cvt<to_whole>{.sat}<whole>.f64", 1.0, 13
                / "cvt<to_whole><whole>.bf16", 7.8, 90,
                Integer, Pure, "9.7.9.20";
            /// Integer to float, rounded.
            integer_to_float: "cvt<round>{.ftz}{.sat}.f32<whole> d:T1, a:T2", 1.0, 10
                / "cvt<round>{.sat}.f16<whole>", 1.0, 10
                / "cvt<round>{.sat}.f64<whole>", 1.0, 13
                / "cvt<round>.bf16<whole>", 7.8, 90,
                Integer, Pure, "9.7.9.20";
            /// Float to float: widened exactly, narrowed with rounding, or rounded to an integral value.
            float_to_float: "cvt{<to_whole>}{.ftz}{.sat}.f32.f32 d:T1, a:T2", 1.0, 10
                / "cvt<round>{.ftz}{.sat}.f32.f64", 1.0, 13
                / "cvt{.ftz}{.sat}.f64.f32", 1.0, 13
                / "cvt{<to_whole>}{.sat}.f64.f64", 1.0, 13
                / "cvt<round>{.ftz}{.sat}.f16.f32", 1.0, 10
                / "cvt<round>{.sat}.f16.f64", 1.0, 13
                / "cvt{.ftz}{.sat}.f32.f16", 1.0, 10
                / "cvt{.sat}.f64.f16", 1.0, 13
                / "cvt{<to_whole>}{.sat}.f16.f16", 1.0, 10
                / "cvt(.rn|.rz).relu(.f16|.bf16).f32", 7.0, 80
                / "cvt<round>{.ftz}.bf16.f32", 7.0, 80
                / "cvt{<round>}{.ftz}.f32.bf16", 7.1, 80
                / "cvt{<round>}(.f16|.f64).bf16", 7.8, 90
                / "cvt{<round>}.bf16.f16", 7.8, 90
                / "cvt<round>.bf16.f64", 7.8, 90
                / "cvt{<to_whole>}.bf16.bf16", 7.8, 90,
                Fp32, Pure, "9.7.9.20";
            /// Two singles to a pair of halves: d = {a, b}, a in the upper half.
            pack_halves: "cvt(.rn|.rz){.satfinite@8.1:80}{.relu}(.f16x2|.bf16x2).f32 d:T1, a:f32, b:f32", 7.0, 80, Fp32, Pure, "9.7.9.20";
            /// Single to half or bfloat, saturating at the largest number.
            half_finite: "cvt(.rn|.rz){.relu@8.1:80}.satfinite.f16.f32 d:T1, a:T2", 8.1, 70
                / "cvt(.rn|.rz){.relu}.satfinite.bf16.f32", 8.1, 80,
                Fp32, Pure, "9.7.9.20";
            /// Single to tf32, ties away from zero.
            tf32_away: "cvt.rna{.satfinite@8.1:80}.tf32.f32 d:T1, a:T2", 7.0, 80, Fp32, Pure, "9.7.9.20";
            /// Single to tf32.
            tf32: "cvt(.rn|.rz){.relu}.tf32.f32 d:T1, a:T2", 7.8, 90, Fp32, Pure, "9.7.9.20";
            /// Single to tf32, saturating at the largest number.
            tf32_finite: "cvt(.rn|.rz).satfinite{.relu}.tf32.f32 d:T1, a:T2", 8.6, 100, Fp32, Pure, "9.7.9.20";
            /// Two singles to a pair of 8-bit floats: d = {a, b}, a in the upper half.
            singles_to_fp8: "cvt.rn.satfinite{.relu}(.e4m3x2|.e5m2x2).f32 d:T1, a:f32, b:f32", 8.1, 89
                / "cvt.rn.satfinite{.relu}(.e4m3x2|.e5m2x2).f32", 7.8, 90,
                Fp32, Pure, "9.7.9.20";
            /// Two halves to a pair of 8-bit floats.
            halves_to_fp8: "cvt.rn.satfinite{.relu}(.e4m3x2|.e5m2x2).f16x2 d:T1, a:T2", 8.1, 89
                / "cvt.rn.satfinite{.relu}(.e4m3x2|.e5m2x2).f16x2", 7.8, 90,
                Fp32, Pure, "9.7.9.20";
            /// A pair of 8-bit floats to two halves.
            fp8_to_halves: "cvt.rn{.relu}.f16x2(.e4m3x2|.e5m2x2) d:T1, a:T2", 8.1, 89
                / "cvt.rn{.relu}.f16x2(.e4m3x2|.e5m2x2)", 7.8, 90,
                Fp32, Pure, "9.7.9.20";
            /// Two singles to a pair of 6-bit or 4-bit floats: d = {a, b}, a in the upper half.
            singles_to_fp6: "cvt.rn.satfinite{.relu}(.e2m3x2|.e3m2x2|.e2m1x2).f32 d:T1, a:f32, b:f32", 8.6, "100a", Fp32, Pure, "9.7.9.20";
            /// Two halves to a pair of 6-bit or 4-bit floats.
            halves_to_fp6: "cvt.rn.satfinite{.relu}(.e2m3x2|.e3m2x2|.e2m1x2).f16x2 d:T1, a:T2", 9.1, "100a", Fp32, Pure, "9.7.9.20";
            /// A pair of 6-bit or 4-bit floats to two halves.
            fp6_to_halves: "cvt.rn{.relu}.f16x2(.e2m3x2|.e3m2x2|.e2m1x2) d:T1, a:T2", 8.6, "100a", Fp32, Pure, "9.7.9.20";
            /// Two bfloats to a pair of 8-bit, 6-bit or 4-bit floats.
            bfloats_to_narrow: "cvt.rn.satfinite{.relu}(.e4m3x2|.e5m2x2|.e2m3x2|.e3m2x2|.e2m1x2).bf16x2 d:T1, a:T2", 9.1, "100a", Fp32, Pure, "9.7.9.20";
            /// Powers of 2 at or around two singles, by magnitude.
            singles_to_power: "cvt(.rz|.rp){.satfinite}.ue8m0x2.f32 d:T1, a:f32, b:f32", 8.6, "100a", Fp32, Pure, "9.7.9.20";
            /// Powers of 2 at or around two bfloats, by magnitude.
            bfloats_to_power: "cvt(.rz|.rp){.satfinite}.ue8m0x2.bf16x2 d:T1, a:T2", 8.6, "100a", Fp32, Pure, "9.7.9.20";
            /// Two powers of 2 to bfloats.
            power_to_bfloats: "cvt.rn.bf16x2.ue8m0x2 d:T1, a:T2", 8.6, "100a", Fp32, Pure, "9.7.9.20";
            /// A pair of narrow floats to two bfloats.
            narrow_to_bfloats: "cvt.rn{.satfinite}{.relu}.bf16x2(.e4m3x2|.e5m2x2|.e2m3x2|.e3m2x2|.e2m1x2) d:T1, a:T2", 9.2, "100a", Fp32, Pure, "9.7.9.20";
            /// Two singles to a pair of 8-bit fixed-point numbers: d = {a, b}, a in the upper half.
            singles_to_fixed: "cvt.rn.satfinite{.relu}.s2f6x2.f32 d:T1, a:f32, b:f32", 9.1, "100a", Fp32, Pure, "9.7.9.20";
            /// As singles_to_fixed, after division by the powers of 2 in c.
            singles_to_fixed_scaled: "cvt.rn.satfinite{.relu}.scaled::n2::ue8m0.s2f6x2.f32 d:T1, a:f32, b:f32, c:b16", 9.1, "100a", Fp32, Pure, "9.7.9.20";
            /// Two bfloats to a pair of 8-bit fixed-point numbers.
            bfloats_to_fixed: "cvt.rn.satfinite{.relu}.s2f6x2.bf16x2 d:T1, a:T2", 9.1, "100a", Fp32, Pure, "9.7.9.20";
            /// As bfloats_to_fixed, after division by the powers of 2 in b.
            bfloats_to_fixed_scaled: "cvt.rn.satfinite{.relu}.scaled::n2::ue8m0.s2f6x2.bf16x2 d:T1, a:T2, b:b16", 9.1, "100a", Fp32, Pure, "9.7.9.20";
            /// A pair of 8-bit fixed-point numbers to two bfloats.
            fixed_to_bfloats: "cvt.rn{.satfinite}{.relu}.bf16x2.s2f6x2 d:T1, a:T2", 9.1, "100a", Fp32, Pure, "9.7.9.20";
            /// As fixed_to_bfloats, followed by multiplication with the powers of 2 in b.
            fixed_to_bfloats_scaled: "cvt.rn{.satfinite}{.relu}.scaled::n2::ue8m0.bf16x2.s2f6x2 d:T1, a:T2, b:b16", 9.1, "100a", Fp32, Pure, "9.7.9.20";
            /// Two singles to a pair of halves, rounded stochastically by the random bits of c.
            stochastic_halves: "cvt.rs{.relu}{.satfinite}(.f16x2|.bf16x2).f32 d:T1, a:f32, b:f32, c:b32", 8.7, "100a", Fp32, Pure, "9.7.9.20";
            /// Four singles to narrow floats, rounded stochastically by the random bits of b.
            stochastic_narrow: "cvt.rs{.relu}.satfinite(.e4m3x4|.e5m2x4|.e2m3x4|.e3m2x4|.e2m1x4).f32 d:T1, a:quad, b:b32", 8.7, "100a", Fp32, Pure, "9.7.9.20";
            /// Two integers, clamped, in the halves of d.
            pack: "cvt.pack.sat(.u16|.s16).s32 d:b32, a:s32, b:s32", 6.5, 72, Integer, Pure, "9.7.9.21";
            /// Two clamped integers above the low bits of c.
            pack_more: "cvt.pack.sat(.u8|.s8).s32.b32 d:b32, a:s32, b:s32, c:b32", 6.5, 72, Integer, Pure, "9.7.9.21";
            /// Two integers, clamped to 4 or 2 bits, above the low bits of c.
            pack_small: "cvt.pack.sat(.u4|.s4|.u2|.s2).s32.b32 d:b32, a:s32, b:s32, c:b32", 6.5, 75, Integer, Pure, "9.7.9.21";
        ] }
    };
}
