//! Loops of machine instructions leave the bytes of functional mode.

use std::fmt::Write as _;
use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings};
use functional::launch::{LaunchConfig, launch};
use functional::module::Module;
use functional::timed::turns::Order;

use crate::bench::{Bench, kernel};
use warp_stream::LaunchShape;

/// Kernels that are drawn, each with several loops.
const KERNELS: u64 = 40;
const LOOPS: u64 = 6;
/// Most iterations of a loop.
const TRIPS: u64 = 20;
/// Words before the threads' own: the loops read them.
const READ: usize = 128;
/// Words of a thread: each loop stores one behind each iteration, and its sum.
const WORDS: usize = 24 * LOOPS as usize;
const THREADS: usize = 32;

/// Knuth's linear congruential generator MMIX.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len() as u64) as usize]
    }
}

/// Step and test of a loop whose number of iterations lowering may know. Start and bound go to
/// `text`.
fn counter(draw: &mut Draw, text: &mut String) -> (i64, String) {
    let trips = 1 + draw.below(TRIPS) as i64;
    let step = [1_i64, 1, 1, 2, 3, 4, 7][draw.below(7) as usize] * if draw.below(3) == 0 { -1 } else { 1 };
    let first = draw.below(40) as i64 + 200;
    let is_equality = draw.below(3) == 0;
    // Other tests end the loop at any distance, and at once if the bound is passed.
    let slack = if is_equality { 0 } else { draw.below(step.unsigned_abs()) as i64 };
    let passed = if !is_equality && draw.below(8) == 0 { 50 } else { 0 };
    let end = first + step * trips - (slack + passed) * step.signum();
    let order = match (is_equality, step > 0) {
        (true, _) => "ne",
        (false, true) => draw.of(&["lt", "le"]),
        (false, false) => draw.of(&["gt", "ge"]),
    };
    let ty = draw.of(&["s32", "u32"]);
    let bound = match draw.below(4) {
        // Lanes end together, or each after a number of its own.
        0 | 1 => end.to_string(),
        2 => {
            let _ = writeln!(text, "ld.global.u32 %r7, [%rd1]; add.s32 %r7, %r7, {end};");
            "%r7".to_owned()
        }
        _ => {
            let _ = writeln!(text, "and.b32 %r7, %r1, 3; min.s32 %r7, %r7, {};", trips - 1);
            let _ = writeln!(text, "mad.lo.s32 %r7, %r7, {}, {end};", -step);
            "%r7".to_owned()
        }
    };
    let _ = match draw.below(4) {
        0 => writeln!(text, "ld.global.u32 %r5, [%rd1]; add.s32 %r5, %r5, {first};"),
        _ => writeln!(text, "mov.u32 %r5, {first};"),
    };
    (step, format!("setp.{order}.{ty} %p1, %r5, {bound};"))
}

/// A statement of a loop's body.
fn statement(draw: &mut Draw, number: u64) -> String {
    match draw.below(9) {
        0 | 1 => "ld.global.u32 %r8, [%rd5]; xor.b32 %r6, %r6, %r8; add.s64 %rd5, %rd5, 4;".to_owned(),
        2 => "and.b32 %r8, %r5, 63; mul.wide.u32 %rd7, %r8, 4; add.s64 %rd7, %rd1, %rd7;
              ld.global.u32 %r8, [%rd7+4]; mad.lo.u32 %r6, %r6, 31, %r8;"
            .to_owned(),
        3 => "ld.shared.u32 %r8, [%r9+128]; add.u32 %r6, %r6, %r8; add.s32 %r9, %r9, 128;".to_owned(),
        4 => "setp.gt.u32 %p2, %r6, 0x60000000; @%p2 add.s32 %r6, %r6, %r5;".to_owned(),
        5 => format!(
            "and.b32 %r8, %r6, 1; setp.eq.u32 %p2, %r8, 0; @%p2 bra SKIP{number};
             mad.lo.u32 %r6, %r6, 5, %r10; add.s32 %r10, %r10, 3; SKIP{number}:"
        ),
        6 => "mov.u32 %r8, %r10; add.u32 %r10, %r6, 9; mov.u32 %r6, %r8;".to_owned(),
        7 => "st.shared.u32 [%r9], %r6;".to_owned(),
        _ => "mad.lo.u32 %r6, %r6, 31, %r5;".to_owned(),
    }
}

/// A kernel of several loops.
fn drawn(seed: u64) -> String {
    let mut draw = Draw(seed);
    let mut text = ".shared .align 4 .b8 words[32768];
        mov.u32 %r12, words; mad.lo.u32 %r11, %r1, 4, %r12; mov.u32 %r9, %r11; mov.u32 %r5, 0;
        FILL: mad.lo.u32 %r8, %r5, 77, %r1; st.shared.u32 [%r9], %r8; add.s32 %r9, %r9, 128;
        add.s32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 256; @%p1 bra FILL;"
        .to_owned();
    let _ = writeln!(text, "mul.wide.u32 %rd4, %r1, {}; add.s64 %rd4, %rd1, %rd4;", WORDS * 4);
    let _ = writeln!(text, "add.s64 %rd4, %rd4, {}; mov.u32 %r6, 7; mov.u32 %r10, 1;", READ * 4);
    for number in 0..LOOPS {
        let (step, test) = counter(&mut draw, &mut text);
        let skips = draw.below(4) == 0;
        text.push_str("mov.u64 %rd5, %rd1; mov.u64 %rd6, %rd4; mov.u32 %r9, %r11;\n");
        if skips {
            let _ = writeln!(text, "setp.lt.u32 %p3, %r1, 5; @%p3 bra END{number};");
        }
        let _ = writeln!(text, "LOOP{number}:");
        let exits = draw.below(5) == 0;
        for at in 0..=draw.below(5) {
            text.push_str(&statement(&mut draw, number * 10 + at));
            text.push('\n');
        }
        if exits {
            let _ = writeln!(text, "setp.gt.u32 %p2, %r6, 0xC0000000; @%p2 bra END{number};");
        }
        text.push_str("st.global.u32 [%rd6], %r6; add.s64 %rd6, %rd6, 4;\n");
        let _ = writeln!(text, "add.s32 %r5, %r5, {step}; {test} @%p1 bra LOOP{number};\nEND{number}:");
        text.push_str(
            "mad.lo.u32 %r6, %r6, 3, %r5; st.global.u32 [%rd4+88], %r6; st.global.u32 [%rd4+92], %r10;\n",
        );
        text.push_str("add.s64 %rd4, %rd4, 96;\n");
    }
    kernel(&(text + "ret;"))
}

/// A device for functional mode.
fn functional_bench(body: &str) -> Bench {
    let text = format!(".version 7.5\n.target sm_70\n.address_size 64\n{body}");
    let device = Arc::new(Device::new(DeviceSpec::default(), Settings::default()).unwrap());
    let ptx = Arc::new(ptx_frontend::Module::parse(text, "test.ptx").unwrap());
    let module = Module::load(&device, vec![ptx]).unwrap();
    Bench { device, module }
}

/// Words of memory after the kernel, lowered or not.
fn left(text: &str, is_lowered: bool) -> Vec<u32> {
    let bench = if is_lowered { Bench::new(text) } else { functional_bench(text) };
    let mut words: Vec<u32> = (0..READ as u32).map(|n| n.wrapping_mul(2_654_435_761)).collect();
    words.resize(READ + THREADS * WORDS, 0);
    let out = bench.words(&words);
    if is_lowered {
        bench.launch(Order::Random(3), 1, THREADS as u32, out).unwrap();
    } else {
        let program = bench.module.kernel("test").unwrap();
        let parameters = out.to_le_bytes().to_vec();
        let config = LaunchConfig {
            shape: LaunchShape::new([1; 3], [THREADS as u32, 1, 1]),
            parameters,
            ..LaunchConfig::default()
        };
        launch(&bench.device, &program, config).unwrap();
    }
    bench.read(out, words.len())
}

#[test]
fn random_loops_leave_the_bytes_of_functional_mode() {
    for seed in 0..KERNELS {
        let text = drawn(seed);
        assert!(left(&text, true) == left(&text, false), "seed {seed}: {text}");
    }
}
