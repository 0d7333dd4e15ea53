//! Video instructions: scalars with parts of words as operands, and two or four packed numbers.

/// Lines of this group: `video_ops! { callback … }` expands to `callback! { … [ lines ] }`.
#[macro_export]
macro_rules! video_ops {
    ($callback:ident $($before:tt)*) => {
        $callback! { $($before)* [
            /// d = a + b, then combined with c or inserted into a part of c.
            vadd: "vadd<word><word><word>{.sat}{.add|.min|.max} d.part:T1, a.part:T2, b.part:T3{, c:T1}", 2.0, 20, Integer, Pure, "9.7.18.1";
            /// d = a - b, then combined with c or inserted into a part of c.
            vsub: "vsub<word><word><word>{.sat}{.add|.min|.max} d.part:T1, a.part:T2, b.part:T3{, c:T1}", 2.0, 20, Integer, Pure, "9.7.18.1";
            /// d = |a - b|, then combined with c or inserted into a part of c.
            vabsdiff: "vabsdiff<word><word><word>{.sat}{.add|.min|.max} d.part:T1, a.part:T2, b.part:T3{, c:T1}", 2.0, 20, Integer, Pure, "9.7.18.1";
            /// d = the smaller of a and b, then combined with c or inserted into a part of c.
            vmin: "vmin<word><word><word>{.sat}{.add|.min|.max} d.part:T1, a.part:T2, b.part:T3{, c:T1}", 2.0, 20, Integer, Pure, "9.7.18.1";
            /// d = the larger of a and b, then combined with c or inserted into a part of c.
            vmax: "vmax<word><word><word>{.sat}{.add|.min|.max} d.part:T1, a.part:T2, b.part:T3{, c:T1}", 2.0, 20, Integer, Pure, "9.7.18.1";
            /// d = a << b, b clamped to 32 or modulo 32, then combined with c or inserted into a part of c.
            vshl: "vshl<word><word>.u32{.sat}(.clamp|.wrap){.add|.min|.max} d.part:T1, a.part:T2, b.part:T3{, c:T1}", 2.0, 20, Integer, Pure, "9.7.18.2";
            /// d = a >> b, b clamped to 32 or modulo 32, then combined with c or inserted into a part of c.
            vshr: "vshr<word><word>.u32{.sat}(.clamp|.wrap){.add|.min|.max} d.part:T1, a.part:T2, b.part:T3{, c:T1}", 2.0, 20, Integer, Pure, "9.7.18.2";
            /// d = a * b + c with optional negations, plus one with .po, shifted right.
            vmad: "vmad<word><word><word>{.po}{.sat}{.shr7|.shr15} d:T1, -a.part:T2, -b.part:T3, -c:T1", 2.0, 20, Integer, Pure, "9.7.18.3";
            /// d = a compared with b, 1 or 0, then combined with c or inserted into a part of c.
            vset: "vset<word><word><order>{.add|.min|.max} d.part:u32, a.part:T1, b.part:T2{, c:u32}", 2.0, 20, Integer, Pure, "9.7.18.4";
            /// Two sums of halves, inserted into positions of c or added to c.
            vadd2: "vadd2<word><word><word>{.sat|.add} d.mask2:T1, a.pick2:T2, b.pick2:T3, c:T1", 3.0, 30, Integer, Pure, "9.7.18.5";
            /// Two differences of halves, inserted into positions of c or added to c.
            vsub2: "vsub2<word><word><word>{.sat|.add} d.mask2:T1, a.pick2:T2, b.pick2:T3, c:T1", 3.0, 30, Integer, Pure, "9.7.18.5";
            /// Two averages of halves, inserted into positions of c or added to c.
            vavrg2: "vavrg2<word><word><word>{.sat|.add} d.mask2:T1, a.pick2:T2, b.pick2:T3, c:T1", 3.0, 30, Integer, Pure, "9.7.18.5";
            /// Two absolute differences of halves, inserted into positions of c or added to c.
            vabsdiff2: "vabsdiff2<word><word><word>{.sat|.add} d.mask2:T1, a.pick2:T2, b.pick2:T3, c:T1", 3.0, 30, Integer, Pure, "9.7.18.5";
            /// Two minima of halves, inserted into positions of c or added to c.
            vmin2: "vmin2<word><word><word>{.sat|.add} d.mask2:T1, a.pick2:T2, b.pick2:T3, c:T1", 3.0, 30, Integer, Pure, "9.7.18.5";
            /// Two maxima of halves, inserted into positions of c or added to c.
            vmax2: "vmax2<word><word><word>{.sat|.add} d.mask2:T1, a.pick2:T2, b.pick2:T3, c:T1", 3.0, 30, Integer, Pure, "9.7.18.5";
            /// Two comparisons of halves, 1 or 0, inserted into positions of c or added to c.
            vset2: "vset2<word><word><order>{.add} d.mask2:u32, a.pick2:T1, b.pick2:T2, c:u32", 3.0, 30, Integer, Pure, "9.7.18.6";
            /// Four sums of bytes, inserted into positions of c or added to c.
            vadd4: "vadd4<word><word><word>{.sat|.add} d.mask4:T1, a.pick4:T2, b.pick4:T3, c:T1", 3.0, 30, Integer, Pure, "9.7.18.7";
            /// Four differences of bytes, inserted into positions of c or added to c.
            vsub4: "vsub4<word><word><word>{.sat|.add} d.mask4:T1, a.pick4:T2, b.pick4:T3, c:T1", 3.0, 30, Integer, Pure, "9.7.18.7";
            /// Four averages of bytes, inserted into positions of c or added to c.
            vavrg4: "vavrg4<word><word><word>{.sat|.add} d.mask4:T1, a.pick4:T2, b.pick4:T3, c:T1", 3.0, 30, Integer, Pure, "9.7.18.7";
            /// Four absolute differences of bytes, inserted into positions of c or added to c.
            vabsdiff4: "vabsdiff4<word><word><word>{.sat|.add} d.mask4:T1, a.pick4:T2, b.pick4:T3, c:T1", 3.0, 30, Integer, Pure, "9.7.18.7";
            /// Four minima of bytes, inserted into positions of c or added to c.
            vmin4: "vmin4<word><word><word>{.sat|.add} d.mask4:T1, a.pick4:T2, b.pick4:T3, c:T1", 3.0, 30, Integer, Pure, "9.7.18.7";
            /// Four maxima of bytes, inserted into positions of c or added to c.
            vmax4: "vmax4<word><word><word>{.sat|.add} d.mask4:T1, a.pick4:T2, b.pick4:T3, c:T1", 3.0, 30, Integer, Pure, "9.7.18.7";
            /// Four comparisons of bytes, 1 or 0, inserted into positions of c or added to c.
            vset4: "vset4<word><word><order>{.add} d.mask4:u32, a.pick4:T1, b.pick4:T2, c:u32", 3.0, 30, Integer, Pure, "9.7.18.8";
        ] }
    };
}
