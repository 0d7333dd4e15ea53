//! Comparison and selection.

/// Lines of this group: `compare_ops! { callback … }` expands to `callback! { … [ lines ] }`.
#[macro_export]
macro_rules! compare_ops {
    ($callback:ident $($before:tt)*) => {
        $callback! { $($before)* [
            /// p = a compared with b (and q = its negation), each combined with c if given.
            setp_integer: "setp<order>{<boolean>}(.u16|.u32|.u64|.s16|.s32|.s64) p:pred{|q:pred}, a, b{, !c:pred}", 1.0, 10
                / "setp(.lo|.ls|.hi|.hs){<boolean>}(.u16|.u32|.u64)", 1.0, 10
                / "setp(.eq|.ne){<boolean>}<bits>", 1.0, 10,
                Integer, Pure, "9.7.6.2";
            /// p = a compared with b (and q = its negation), each combined with c if given; NaN forms.
            setp_float: "setp<compare_float>{<boolean>}{.ftz}.f32 p:pred{|q:pred}, a, b{, !c:pred}", 1.0, 10, Fp32, Pure, "9.7.6.2";
            /// p = a compared with b (and q = its negation), each combined with c if given; NaN forms.
            setp_double: "setp<compare_float>{<boolean>}.f64 p:pred{|q:pred}, a, b{, !c:pred}", 1.0, 13, Fp64, Pure, "9.7.6.2";
            /// p = a compared with b, half or bfloat precision.
            setp_half: "setp<compare_float>{<boolean>}{.ftz}.f16 p:pred, a, b{, !c:pred}", 4.2, 53
                / "setp<compare_float>{<boolean>}.bf16", 7.8, 90,
                Fp32, Pure, "9.7.7.2";
            /// p = low halves compared, q = high halves compared.
            setp_half_pair: "setp<compare_float>{<boolean>}{.ftz}.f16x2 p:pred|q:pred, a, b{, !c:pred}", 4.2, 53
                / "setp<compare_float>{<boolean>}.bf16x2", 7.8, 90,
                Fp32, Pure, "9.7.7.2";
            /// d = all ones or 1.0 if the comparison of a and b holds, else 0.
            set_integer: "set<order>{<boolean>}(.u32|.s32|.f32)(.u16|.u32|.u64|.s16|.s32|.s64) d:T1, a, b{, !c:pred}", 1.0, 10
                / "set(.lo|.ls|.hi|.hs){<boolean>}(.u32|.s32|.f32)(.u16|.u32|.u64)", 1.0, 10
                / "set(.eq|.ne){<boolean>}(.u32|.s32|.f32)<bits>", 1.0, 10,
                Integer, Pure, "9.7.6.1";
            /// d = all ones or 1.0 if the comparison of a and b holds, else 0; NaN forms.
            set_float: "set<compare_float>{<boolean>}{.ftz}(.u32|.s32|.f32).f32 d:T1, a, b{, !c:pred}", 1.0, 10
                / "set<compare_float>{<boolean>}(.u32|.s32|.f32).f64", 1.0, 13,
                Fp32, Pure, "9.7.6.1";
            /// d = all ones or 1.0 if the comparison of a and b holds, else 0; half or bfloat precision on
            /// either side.
            set_half: "set<compare_float>{<boolean>}{.ftz}(.f16|.u16@6.5:53|.s16@6.5:53|.u32@6.5:53|.s32@6.5:53).f16 d:T1, a, b{, !c:pred}", 4.2, 53
                / "set<compare_float>{<boolean>}(.bf16|.u16|.s16|.u32|.s32).bf16", 7.8, 90,
                Fp32, Pure, "9.7.7.1";
            /// Comparison of low halves and of high halves, with two packed results.
            set_half_pair: "set<compare_float>{<boolean>}{.ftz}(.f16x2|.u32@6.5:53|.s32@6.5:53).f16x2 d:T1, a, b{, !c:pred}", 4.2, 53
                / "set<compare_float>{<boolean>}(.bf16x2|.u32|.s32).bf16x2", 7.8, 90,
                Fp32, Pure, "9.7.7.1";
            /// d = a if c holds, else b.
            selp: "selp(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64) d, a, b, c:pred", 1.0, 10, Integer, Pure, "9.7.6.3";
            /// d = a if c is not negative, else b.
            slct: "slct(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64).s32 d:T1, a:T1, b:T1, c:T2", 1.0, 10
                / "slct{.ftz}(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64).f32", 1.0, 10,
                Integer, Pure, "9.7.6.4";
        ] }
    };
}
