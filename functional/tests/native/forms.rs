//! Each emitted form on random and special values: for all lanes, under a guard, and diverged.

use crate::tiers::{Case, Random, agree, has_native};

/// Words with a special meaning as integers or as single-precision numbers.
const SPECIAL_WORDS: [u32; 24] = [
    0,
    1,
    2,
    31,
    32,
    33,
    63,
    64,
    u32::MAX,
    0x8000_0000,
    0x7fff_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc1_2345,
    0x7f80_0001,
    0xff80_0001,
    0x0000_0007,
    0x8000_0007,
    0x007f_ffff,
    0x0080_0000,
    0x7f7f_ffff,
];

/// Double words with a special meaning.
const SPECIAL_DOUBLES: [u64; 8] = [
    0,
    u64::MAX,
    1 << 63,
    (1 << 63) - 1,
    0x7ff0_0000_0000_0000,
    0x7ff8_0000_0000_1234,
    0xfff0_0000_0000_0001,
    0x8000_0000_0000_0000,
];

/// Forms with a result in `%r`, `%rd`, `%f` or `%p` (`{d}`).
const FORMS: &[(&str, &str)] = &[
    ("%r", "add.u32 {d}, %r1, %r2;"),
    ("%r", "sub.u32 {d}, %r1, %r2;"),
    ("%r", "mul.lo.u32 {d}, %r1, %r2;"),
    ("%r", "mad.lo.u32 {d}, %r1, %r2, %r3;"),
    ("%r", "min.u32 {d}, %r1, %r2;"),
    ("%r", "max.u32 {d}, %r1, %r2;"),
    ("%r", "min.s32 {d}, %r1, %r2;"),
    ("%r", "max.s32 {d}, %r1, %r2;"),
    ("%r", "abs.s32 {d}, %r1;"),
    ("%r", "neg.s32 {d}, %r1;"),
    ("%r", "and.b32 {d}, %r1, %r2;"),
    ("%r", "or.b32 {d}, %r1, %r2;"),
    ("%r", "xor.b32 {d}, %r1, %r2;"),
    ("%r", "not.b32 {d}, %r1;"),
    ("%r", "shl.b32 {d}, %r1, %r2;"),
    ("%r", "shr.u32 {d}, %r1, %r2;"),
    ("%r", "shr.s32 {d}, %r1, %r2;"),
    ("%r", "shl.b32 {d}, %r1, 7;"),
    ("%r", "shf.l.wrap.b32 {d}, %r1, %r1, %r2;"),
    ("%r", "shf.r.wrap.b32 {d}, %r1, %r1, %r2;"),
    ("%r", "lop3.b32 {d}, %r1, %r2, %r3, 0x80;"),
    ("%r", "lop3.b32 {d}, %r1, %r2, %r3, 0xfe;"),
    ("%r", "lop3.b32 {d}, %r1, %r2, %r3, 0x96;"),
    ("%r", "lop3.b32 {d}, %r1, %r2, %r3, 0xca;"),
    ("%r", "lop3.b32 {d}, %r1, %r2, %r3, 0xe8;"),
    ("%r", "lop3.b32 {d}, %r1, %r2, %r3, 0xf8;"),
    ("%r", "lop3.b32 {d}, %r1, %r2, %r3, 0x78;"),
    ("%r", "lop3.b32 {d}, %r1, %r2, %r3, 0x1b;"),
    ("%r", "mov.u32 {d}, %r1;"),
    ("%r", "mov.u32 {d}, %tid.x;"),
    ("%r", "cvt.u32.u64 {d}, %rd1;"),
    ("%r", "selp.b32 {d}, %r1, %r2, %p1;"),
    ("%r", "selp.b32 {d}, %r1, %r2, %p2;"),
    ("%r", "mov.b64 {{d}, %r19}, %rd1;"),
    ("%r", "mov.b64 {%r19, {d}}, %rd1;"),
    ("%rd", "add.u64 {d}, %rd1, %rd2;"),
    ("%rd", "sub.u64 {d}, %rd1, %rd2;"),
    ("%rd", "mul.lo.u64 {d}, %rd1, %rd2;"),
    ("%rd", "mad.lo.u64 {d}, %rd1, %rd2, %rd3;"),
    ("%rd", "min.u64 {d}, %rd1, %rd2;"),
    ("%rd", "max.u64 {d}, %rd1, %rd2;"),
    ("%rd", "min.s64 {d}, %rd1, %rd2;"),
    ("%rd", "max.s64 {d}, %rd1, %rd2;"),
    ("%rd", "abs.s64 {d}, %rd1;"),
    ("%rd", "neg.s64 {d}, %rd1;"),
    ("%rd", "and.b64 {d}, %rd1, %rd2;"),
    ("%rd", "or.b64 {d}, %rd1, %rd2;"),
    ("%rd", "xor.b64 {d}, %rd1, %rd2;"),
    ("%rd", "not.b64 {d}, %rd1;"),
    ("%rd", "shl.b64 {d}, %rd1, %r2;"),
    ("%rd", "shr.u64 {d}, %rd1, %r2;"),
    ("%rd", "shr.s64 {d}, %rd1, %r2;"),
    ("%rd", "mul.wide.u32 {d}, %r1, %r2;"),
    ("%rd", "mul.wide.s32 {d}, %r1, %r2;"),
    ("%rd", "mad.wide.u32 {d}, %r1, %r2, %rd3;"),
    ("%rd", "mad.wide.s32 {d}, %r1, %r2, %rd3;"),
    ("%rd", "mov.u64 {d}, %rd1;"),
    ("%rd", "cvt.u64.u32 {d}, %r1;"),
    ("%rd", "cvt.s64.s32 {d}, %r1;"),
    ("%rd", "selp.b64 {d}, %rd1, %rd2, %p1;"),
    ("%rd", "ld.param.u64 {d}, [in];"),
    ("%rd", "mov.b64 {d}, {%r1, %r2};"),
    ("%f", "add.rn.f32 {d}, %f1, %f2;"),
    ("%f", "sub.rn.f32 {d}, %f1, %f2;"),
    ("%f", "mul.rn.f32 {d}, %f1, %f2;"),
    ("%f", "fma.rn.f32 {d}, %f1, %f2, %f3;"),
    ("%f", "div.rn.f32 {d}, %f1, %f2;"),
    ("%f", "sqrt.rn.f32 {d}, %f1;"),
    ("%f", "add.rz.f32 {d}, %f1, %f2;"),
    ("%f", "add.ftz.f32 {d}, %f1, %f2;"),
    ("%f", "neg.f32 {d}, %f1;"),
    ("%f", "max.f32 {d}, %f1, %f2;"),
    ("%f", "cvt.rn.f32.s32 {d}, %r1;"),
    ("%f", "cvt.rn.f32.u32 {d}, %r1;"),
    ("%f", "add.rn.f32 %f7, %f1, %f2; mul.rn.f32 %f8, %f7, %f3; sub.rn.f32 {d}, %f8, %f7;"),
    ("%r", "mul.rn.f32 %f7, %f1, %f2; mov.b32 %r18, %f7; xor.b32 {d}, %r18, %r1;"),
    ("%f", "sub.ftz.f32 {d}, %f1, %f2;"),
    ("%f", "mul.ftz.f32 {d}, %f1, %f2;"),
    ("%f", "fma.rn.ftz.f32 {d}, %f1, %f2, %f3;"),
    ("%f", "mul.rn.f32 %f7, %f1, %f2; add.ftz.f32 {d}, %f7, %f3;"),
    ("%f", "min.f32 {d}, %f1, %f2;"),
    ("%f", "mul.rn.f32 %f7, %f1, %f2; max.f32 {d}, %f7, %f3;"),
    ("%f", "abs.f32 {d}, %f1;"),
    ("%f", "abs.ftz.f32 {d}, %f1;"),
    ("%f", "neg.ftz.f32 {d}, %f1;"),
    ("%f", "rcp.rn.f32 {d}, %f1;"),
    ("%f", "rcp.approx.f32 {d}, %f1;"),
    ("%f", "rcp.approx.ftz.f32 {d}, %f1;"),
    ("%f", "sqrt.approx.f32 {d}, %f1;"),
    ("%f", "sqrt.approx.ftz.f32 {d}, %f1;"),
    ("%f", "rsqrt.approx.f32 {d}, %f1;"),
    ("%f", "rsqrt.approx.ftz.f32 {d}, %f1;"),
    ("%f", "div.full.f32 {d}, %f1, %f2;"),
    ("%f", "div.full.ftz.f32 {d}, %f1, %f2;"),
    ("%f", "cvt.rn.f32.f64 {d}, %fd1;"),
    ("%f", "cvt.rn.ftz.f32.f64 {d}, %fd1;"),
    ("%f", "cvt.rn.f32.s64 {d}, %rd1;"),
    ("%f", "cvt.rn.f32.u64 {d}, %rd1;"),
    ("%f", "cvt.rn.f32.u16 {d}, %rs1;"),
    ("%f", "cvt.rn.f32.s16 {d}, %rs1;"),
    ("%fd", "add.f64 {d}, %fd1, %fd2;"),
    ("%fd", "sub.f64 {d}, %fd1, %fd2;"),
    ("%fd", "mul.f64 {d}, %fd1, %fd2;"),
    ("%fd", "div.rn.f64 {d}, %fd1, %fd2;"),
    ("%fd", "sqrt.rn.f64 {d}, %fd1;"),
    ("%fd", "fma.rn.f64 {d}, %fd1, %fd2, %fd3;"),
    ("%fd", "abs.f64 {d}, %fd1;"),
    ("%fd", "neg.f64 {d}, %fd1;"),
    ("%fd", "cvt.f64.f32 {d}, %f1;"),
    ("%fd", "cvt.ftz.f64.f32 {d}, %f1;"),
    ("%fd", "cvt.rn.f64.s32 {d}, %r1;"),
    ("%fd", "cvt.rn.f64.u32 {d}, %r1;"),
    ("%fd", "cvt.rn.f64.s64 {d}, %rd1;"),
    ("%fd", "cvt.rn.f64.u64 {d}, %rd1;"),
    ("%r", "mul.hi.u32 {d}, %r1, %r2;"),
    ("%r", "mul.hi.s32 {d}, %r1, %r2;"),
    ("%r", "mul.wide.u16 {d}, %rs1, %rs2;"),
    ("%r", "mul.wide.s16 {d}, %rs1, %rs2;"),
    ("%r", "cvt.rzi.s32.f32 {d}, %f1;"),
    ("%r", "cvt.rni.s32.f32 {d}, %f1;"),
    ("%r", "cvt.rmi.s32.f32 {d}, %f1;"),
    ("%r", "cvt.rpi.s32.f32 {d}, %f1;"),
    ("%r", "cvt.rzi.u32.f32 {d}, %f1;"),
    ("%r", "cvt.rni.u32.f32 {d}, %f1;"),
    ("%r", "cvt.rmi.u32.f32 {d}, %f1;"),
    ("%r", "cvt.rpi.u32.f32 {d}, %f1;"),
    ("%r", "cvt.u32.u16 {d}, %rs1;"),
    ("%r", "cvt.s32.s16 {d}, %rs1;"),
    ("%r", "cvt.u16.u32 %rs3, %r1; cvt.u32.u16 {d}, %rs3;"),
    ("%r", "cvt.u8.u32 {d}, %r1;"),
    ("%r", "cvt.u32.u8 {d}, %r1;"),
    ("%r", "cvt.s32.s8 {d}, %r1;"),
    ("%rd", "cvt.u64.u16 {d}, %rs1;"),
    ("%rd", "cvt.s64.s16 {d}, %rs1;"),
    ("%rd", "cvt.s64.s32 {d}, %rd1;"),
    ("%rd", "cvt.u64.u32 {d}, %rd1;"),
    ("%p", "and.pred {d}, %p1, %p2;"),
    ("%p", "or.pred {d}, %p1, %p2;"),
    ("%p", "xor.pred {d}, %p1, %p2;"),
    ("%p", "not.pred {d}, %p1;"),
    ("%p", "mov.pred {d}, %p1;"),
    ("%p", "setp.ltu.and.f32 {d}, %f1, %f2, %p1;"),
];

/// Comparisons of each type, all of them forms with a predicate.
fn comparisons() -> Vec<String> {
    let integers = ["eq", "ne", "lt", "le", "gt", "ge"];
    let others = ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];
    let mut forms = Vec::new();
    for (ty, register) in [("u32", "%r"), ("s32", "%r"), ("u64", "%rd"), ("s64", "%rd")] {
        forms.extend(integers.map(|how| format!("setp.{how}.{ty} {{d}}, {register}1, {register}2;")));
    }
    for (ty, register) in [("f32", "%f"), ("f64", "%fd")] {
        for how in integers.into_iter().chain(others) {
            forms.push(format!("setp.{how}.{ty} {{d}}, {register}1, {register}2;"));
        }
    }
    forms
}

/// Three operands of 64 bits for each of 256 threads.
fn operands(random: &mut Random) -> Vec<u8> {
    let mut words = Vec::new();
    for _ in 0..256 * 4 {
        let choice = random.next();
        let pick = |list: &[u32], by: u64| u64::from(list[by as usize % list.len()]);
        words.push(match choice % 4 {
            0 => random.next(),
            1 => SPECIAL_DOUBLES[choice as usize / 4 % SPECIAL_DOUBLES.len()],
            _ => pick(&SPECIAL_WORDS, choice / 4) | pick(&SPECIAL_WORDS, choice / 256) << 32,
        });
    }
    words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect()
}

fn body(class: &str, form: &str) -> String {
    let (store, start) = match class {
        "%r" => ("st.global.u32 [%rd31+OFFSET], %r4;", "mov.u32 %r4, 0x1234567;"),
        "%rd" => ("st.global.u64 [%rd31+OFFSET], %rd4;", "mov.u64 %rd4, 0x123456789abcdef;"),
        "%fd" => ("st.global.f64 [%rd31+OFFSET], %fd4;", "mov.f64 %fd4, 0d7ff0000000123456;"),
        "%f" => ("st.global.f32 [%rd31+OFFSET], %f4;", "mov.f32 %f4, 0f7fc01234;"),
        _ => ("selp.u32 %r4, 1, 0, %p4; st.global.u32 [%rd31+OFFSET], %r4;", "setp.eq.u32 %p4, %r1, %r2;"),
    };
    let form = form.replace("{d}", &format!("{class}4"));
    let store = |offset: &str| store.replace("OFFSET", offset);
    let guarded: String = form
        .split_inclusive(';')
        .filter(|one| !one.trim().is_empty())
        .map(|one| format!("@%p1 {} ", one.trim()))
        .collect();
    format!(
        "mul.wide.u32 %rd30, %thread, 32; add.u64 %rd31, %rd_out, %rd30; add.u64 %rd30, %rd_in, %rd30;
         ld.global.u64 %rd1, [%rd30]; ld.global.u64 %rd2, [%rd30+8]; ld.global.u64 %rd3, [%rd30+16];
         ld.global.u32 %r10, [%rd30+24];
         cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3;
         mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.f32 %f7, 0f00000000;
         mov.f32 %f8, 0f00000000; mov.u32 %r18, 0; mov.u32 %r19, 0;
         cvt.u16.u32 %rs1, %r1; cvt.u16.u32 %rs2, %r2; mov.u16 %rs3, 0;
         mov.b64 %fd1, %rd1; mov.b64 %fd2, %rd2; mov.b64 %fd3, %rd3;
         and.b32 %r11, %r10, 1; setp.ne.u32 %p1, %r11, 0;
         and.b32 %r11, %r10, 2; setp.ne.u32 %p2, %r11, 0;
         {start} {form} {}
         {start} {guarded} {}
         {start} @%p2 bra SKIP; {form} SKIP: {}",
        store("0"),
        store("8"),
        store("16"),
    )
}

fn check(class: &str, form: &str, random: &mut Random) {
    let body = body(class, form);
    for block in [[64, 1, 1], [50, 1, 1]] {
        agree(&Case { body: &body, grid: 3, block, input: operands(random) });
    }
}

#[test]
fn emitted_forms_equal_the_interpreter() {
    if has_native() {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        FORMS.iter().for_each(|(class, form)| check(class, form, &mut random));
    }
}

#[test]
fn emitted_comparisons_equal_the_interpreter() {
    if has_native() {
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        comparisons().iter().for_each(|form| check("%p", form, &mut random));
    }
}
