//! Floating-point arithmetic: single, double, half precision, and the approximate functions.

/// Lines of this group: `float_ops! { callback … }` expands to `callback! { … [ lines ] }`.
#[macro_export]
macro_rules! float_ops {
    ($callback:ident $($before:tt)*) => {
        $callback! { $($before)* [
            /// d = a + b.
            add: "add{<round>}{.ftz}{.sat}.f32 d, a, b", 1.0, 10, Fp32, Pure, "9.7.3.3";
            /// d = a + b.
            add_double: "add{<round>}.f64 d, a, b", 1.0, 13, Fp64, Pure, "9.7.3.3";
            /// d = a + b, half or bfloat precision, one or two values.
            add_half: "add{.rn}{.ftz}{.sat}(.f16|.f16x2) d, a, b", 4.2, 53
                / "add{.rn}(.bf16|.bf16x2)", 7.8, 90,
                Fp32, Pure, "9.7.4.1";
            /// d = a + b, two values.
            add_pair: "add{<round>}{.ftz}.f32x2 d, a, b", 8.6, 100, Fp32, Pure, "9.7.3.3";
            /// d = a + c, a half or bfloat precision.
            add_mixed: "add{<round>}{.sat}.f32(.f16|.bf16) d:T1, a:T2, c:T1", 8.6, 100, Fp32, Pure, "9.7.5.1";
            /// d = a - b.
            sub: "sub{<round>}{.ftz}{.sat}.f32 d, a, b", 1.0, 10, Fp32, Pure, "9.7.3.4";
            /// d = a - b.
            sub_double: "sub{<round>}.f64 d, a, b", 1.0, 13, Fp64, Pure, "9.7.3.4";
            /// d = a - b, half or bfloat precision, one or two values.
            sub_half: "sub{.rn}{.ftz}{.sat}(.f16|.f16x2) d, a, b", 4.2, 53
                / "sub{.rn}(.bf16|.bf16x2)", 7.8, 90,
                Fp32, Pure, "9.7.4.2";
            /// d = a - b, two values.
            sub_pair: "sub{<round>}{.ftz}.f32x2 d, a, b", 8.6, 100, Fp32, Pure, "9.7.3.4";
            /// d = a - c, a half or bfloat precision.
            sub_mixed: "sub{<round>}{.sat}.f32(.f16|.bf16) d:T1, a:T2, c:T1", 8.6, 100, Fp32, Pure, "9.7.5.2";
            /// d = a * b.
            mul: "mul{<round>}{.ftz}{.sat}.f32 d, a, b", 1.0, 10, Fp32, Pure, "9.7.3.5";
            /// d = a * b.
            mul_double: "mul{<round>}.f64 d, a, b", 1.0, 13, Fp64, Pure, "9.7.3.5";
            /// d = a * b, half or bfloat precision, one or two values.
            mul_half: "mul{.rn}{.ftz}{.sat}(.f16|.f16x2) d, a, b", 4.2, 53
                / "mul{.rn}(.bf16|.bf16x2)", 7.8, 90,
                Fp32, Pure, "9.7.4.3";
            /// d = a * b, two values.
            mul_pair: "mul{<round>}{.ftz}.f32x2 d, a, b", 8.6, 100, Fp32, Pure, "9.7.3.5";
            /// d = a * b + c, rounded once.
            fma: "fma<round>{.ftz}{.sat}.f32 d, a, b, c", 2.0, 20, Fp32, Pure, "9.7.3.6";
            /// d = a * b + c, rounded once.
            fma_double: "fma<round>.f64 d, a, b, c", 1.4, 13, Fp64, Pure, "9.7.3.6";
            /// d = a * b + c, rounded once, half or bfloat precision, one or two values.
            fma_half: "fma.rn{.ftz}{.sat}(.f16|.f16x2) d, a, b, c", 4.2, 53
                / "fma.rn{.ftz}.relu(.f16|.f16x2)", 7.0, 80
                / "fma.rn{.relu}(.bf16|.bf16x2)", 7.0, 80,
                Fp32, Pure, "9.7.4.4";
            /// d = a * b + c, rounded once; +0 if an operand is the NaN for elements outside of a tensor.
            fma_oob: "fma.rn.oob{.relu}(.f16|.f16x2|.bf16|.bf16x2) d, a, b, c", 8.1, 90, Fp32, Pure, "9.7.4.4";
            /// d = a * b + c, rounded once, two values.
            fma_pair: "fma<round>{.ftz}.f32x2 d, a, b, c", 8.6, 100, Fp32, Pure, "9.7.3.6";
            /// d = a * b + c, rounded once, a and b half or bfloat precision.
            fma_mixed: "fma<round>{.sat}.f32(.f16|.bf16) d:T1, a:T2, b:T2, c:T1", 8.6, 100, Fp32, Pure, "9.7.5.3";
            /// d = a * b + c, rounded once (sm_20 and later); to nearest even if PTX before 3.2 gives no
            /// rounding.
            mad: "mad{<round>}{.ftz}{.sat}.f32 d, a, b, c", 2.0, 20 / "mad{.sat}.f32", 1.0, 10, Fp32, Pure, "9.7.3.7";
            /// d = a * b + c, rounded once.
            mad_double: "mad<round>.f64 d, a, b, c", 1.4, 13, Fp64, Pure, "9.7.3.7";
            /// d = a / b, correctly rounded.
            div: "div<round>{.ftz}.f32 d, a, b", 1.4, 20, Fp32, Pure, "9.7.3.8";
            /// d = a / b, approximately.
            div_approx: "div(.approx|.full){.ftz}.f32 d, a, b", 1.4, 10, SpecialFunction, Pure, "9.7.3.8";
            /// d = a / b, correctly rounded.
            div_double: "div<round>.f64 d, a, b", 1.4, 13, Fp64, Pure, "9.7.3.8";
            /// d = |a|.
            abs: "abs{.ftz}.f32 d, a", 1.0, 10, Fp32, Pure, "9.7.3.9";
            /// d = |a|.
            abs_double: "abs.f64 d, a", 1.0, 13, Fp64, Pure, "9.7.3.9";
            /// d = |a|, half or bfloat precision, one or two values.
            abs_half: "abs{.ftz}(.f16|.f16x2) d, a", 6.5, 53
                / "abs(.bf16|.bf16x2)", 7.0, 80,
                Fp32, Pure, "9.7.4.6";
            /// d = -a.
            neg: "neg{.ftz}.f32 d, a", 1.0, 10, Fp32, Pure, "9.7.3.10";
            /// d = -a.
            neg_double: "neg.f64 d, a", 1.0, 13, Fp64, Pure, "9.7.3.10";
            /// d = -a, half or bfloat precision, one or two values.
            neg_half: "neg{.ftz}(.f16|.f16x2) d, a", 6.0, 53
                / "neg(.bf16|.bf16x2)", 7.0, 80,
                Fp32, Pure, "9.7.4.5";
            /// d = the smaller of a and b; a NaN loses unless .NaN is given.
            min: "min{.ftz}.f32 d, a, b", 1.0, 10
                / "min{.ftz}.NaN.f32", 7.0, 80
                / "min{.ftz}{.NaN}.xorsign.abs.f32", 7.2, 86,
                Fp32, Pure, "9.7.3.11";
            /// d = the smallest of a, b and c; a NaN loses unless .NaN is given.
            min_three: "min{.ftz}{.NaN}{.abs}.f32 d, a, b, c", 8.8, 100, Fp32, Pure, "9.7.3.11";
            /// d = the smaller of a and b.
            min_double: "min.f64 d, a, b", 1.0, 13, Fp64, Pure, "9.7.3.11";
            /// d = the smaller of a and b, half or bfloat precision, one or two values.
            min_half: "min{.ftz}{.NaN}(.f16|.f16x2) d, a, b", 7.0, 80
                / "min{.ftz}{.NaN}.xorsign.abs(.f16|.f16x2)", 7.2, 86
                / "min{.NaN}(.bf16|.bf16x2)", 7.0, 80
                / "min{.NaN}.xorsign.abs(.bf16|.bf16x2)", 7.2, 86,
                Fp32, Pure, "9.7.4.7";
            /// d = the larger of a and b; a NaN loses unless .NaN is given.
            max: "max{.ftz}.f32 d, a, b", 1.0, 10
                / "max{.ftz}.NaN.f32", 7.0, 80
                / "max{.ftz}{.NaN}.xorsign.abs.f32", 7.2, 86,
                Fp32, Pure, "9.7.3.12";
            /// d = the largest of a, b and c; a NaN loses unless .NaN is given.
            max_three: "max{.ftz}{.NaN}{.abs}.f32 d, a, b, c", 8.8, 100, Fp32, Pure, "9.7.3.12";
            /// d = the larger of a and b.
            max_double: "max.f64 d, a, b", 1.0, 13, Fp64, Pure, "9.7.3.12";
            /// d = the larger of a and b, half or bfloat precision, one or two values.
            max_half: "max{.ftz}{.NaN}(.f16|.f16x2) d, a, b", 7.0, 80
                / "max{.ftz}{.NaN}.xorsign.abs(.f16|.f16x2)", 7.2, 86
                / "max{.NaN}(.bf16|.bf16x2)", 7.0, 80
                / "max{.NaN}.xorsign.abs(.bf16|.bf16x2)", 7.2, 86,
                Fp32, Pure, "9.7.4.8";
            /// d = 1 / a, correctly rounded.
            rcp: "rcp<round>{.ftz}.f32 d, a", 1.4, 20, SpecialFunction, Pure, "9.7.3.13";
            /// d = 1 / a, approximately.
            rcp_approx: "rcp.approx{.ftz}.f32 d, a", 1.4, 10, SpecialFunction, Pure, "9.7.3.13";
            /// d = 1 / a, correctly rounded.
            rcp_double: "rcp<round>.f64 d, a", 1.4, 13, Fp64, Pure, "9.7.3.13";
            /// d = 1 / a from the upper 32 bits of a, lower 32 bits zero.
            rcp_approx_double: "rcp.approx.ftz.f64 d, a", 2.1, 20, SpecialFunction, Pure, "9.7.3.14";
            /// d = square root of a, correctly rounded.
            sqrt: "sqrt<round>{.ftz}.f32 d, a", 1.4, 20, SpecialFunction, Pure, "9.7.3.15";
            /// d = square root of a, approximately.
            sqrt_approx: "sqrt.approx{.ftz}.f32 d, a", 1.4, 10, SpecialFunction, Pure, "9.7.3.15";
            /// d = square root of a, correctly rounded.
            sqrt_double: "sqrt<round>.f64 d, a", 1.4, 13, Fp64, Pure, "9.7.3.15";
            /// d = 1 / square root of a, approximately.
            rsqrt_approx: "rsqrt.approx{.ftz}.f32 d, a", 1.0, 10, SpecialFunction, Pure, "9.7.3.16";
            /// d = 1 / square root of a, approximately.
            rsqrt_approx_double: "rsqrt.approx.f64 d, a", 1.0, 13, SpecialFunction, Pure, "9.7.3.16";
            /// d = 1 / square root of a from the upper 32 bits of a, lower 32 bits zero.
            rsqrt_approx_ftz_double: "rsqrt.approx.ftz.f64 d, a", 4.0, 20, SpecialFunction, Pure, "9.7.3.17";
            /// d = sine of a, approximately.
            sin_approx: "sin.approx{.ftz}.f32 d, a", 1.4, 10, SpecialFunction, Pure, "9.7.3.18";
            /// d = cosine of a, approximately.
            cos_approx: "cos.approx{.ftz}.f32 d, a", 1.4, 10, SpecialFunction, Pure, "9.7.3.19";
            /// d = binary logarithm of a, approximately.
            lg2_approx: "lg2.approx{.ftz}.f32 d, a", 1.4, 10, SpecialFunction, Pure, "9.7.3.20";
            /// d = 2 to the power of a, approximately.
            ex2_approx: "ex2.approx{.ftz}.f32 d, a", 1.4, 10, SpecialFunction, Pure, "9.7.3.21";
            /// d = hyperbolic tangent of a, approximately.
            tanh_approx: "tanh.approx.f32 d, a", 7.0, 75, SpecialFunction, Pure, "9.7.3.22";
            /// d = 2 to the power of a, approximately, one or two halves.
            ex2_approx_half: "ex2.approx(.f16|.f16x2) d, a", 7.0, 75, SpecialFunction, Pure, "9.7.4.10";
            /// d = 2 to the power of a, approximately, one or two bfloats.
            ex2_approx_bfloat: "ex2.approx.ftz(.bf16|.bf16x2) d, a", 7.8, 90, SpecialFunction, Pure, "9.7.4.10";
            /// d = hyperbolic tangent of a, approximately, half or bfloat precision, one or two values.
            tanh_approx_half: "tanh.approx(.f16|.f16x2) d, a", 7.0, 75
                / "tanh.approx(.bf16|.bf16x2)", 7.8, 90,
                SpecialFunction, Pure, "9.7.4.9";
            /// p = a is finite, infinite, a number, not a number, normal, or subnormal.
            testp: "testp(.finite|.infinite|.number|.notanumber|.normal|.subnormal)(.f32|.f64) p:pred, a", 2.0, 20, Fp32, Pure, "9.7.3.1";
            /// d = b with the sign of a.
            copysign: "copysign(.f32|.f64) d, a, b", 2.0, 20, Fp32, Pure, "9.7.3.2";
        ] }
    };
}
