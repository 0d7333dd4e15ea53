//! SMs with store buffers: visibility of stores to the SM itself and to other SMs.

use functional::launch::LaunchConfig;
use functional::timed::{Identity, launch};
use warp_stream::{Execution, KernelSource, Moment, Next, Residence, SourceError, WarpSlot, WarpSource};

use crate::bench::{Bench, kernel};
use warp_stream::LaunchShape;

const WARP: WarpSlot = WarpSlot { cta: 0, warp: 0 };

/// Two SMs with store buffers, with a CTA of one warp each.
struct Sms<'s>([Box<dyn WarpSource + 's>; 2]);

impl Sms<'_> {
    /// Executes a CTA's warp at a cycle up to a deferred op, whose number is returned, or to its end.
    fn run(&mut self, sm: usize, cycle: u64) -> Result<Option<u32>, SourceError> {
        let (warps, mut execution) = (&mut self.0[sm], Execution::default());
        let now = Moment { cycle, nanoseconds: cycle };
        while let Next::Instruction(_) = warps.next(WARP)? {
            warps.issue(WARP, now, &mut execution)?;
            if execution.deferred.is_some() {
                return Ok(execution.deferred);
            }
        }
        Ok(None)
    }

    fn publish(&mut self) -> Result<(), SourceError> {
        self.0.iter_mut().try_for_each(|warps| warps.publish(u64::MAX))
    }
}

/// Launches a kernel with two CTAs of a warp on SMs with store buffers.
fn on_two_sms(
    text: &str,
    words: &[u32],
    what: impl FnOnce(&Bench, u64, &mut Sms<'_>) -> Result<(), SourceError>,
) -> Vec<u32> {
    let bench = Bench::new(text);
    let out = bench.words(words);
    let program = bench.module.kernel("test").unwrap();
    let parameters = out.to_le_bytes().to_vec();
    let config = LaunchConfig {
        shape: LaunchShape::new([2, 1, 1], [32, 1, 1]),
        parameters,
        ..LaunchConfig::default()
    };
    launch(&bench.device, &program, config, Identity { launch: 1, stream: 0 }, |source| {
        let mut sms = Sms([0, 1].map(|sm| source.warps(sm)));
        for (sm, warps) in (0_u32..).zip(&mut sms.0) {
            warps.hold_stores();
            warps.start_cta(0, sm.into(), Residence { sm, first_warp: 0 })?;
        }
        what(&bench, out, &mut sms)?;
        sms.publish()
    })
    .unwrap();
    bench.read(out, words.len())
}

#[test]
fn other_sm_sees_a_store_once_it_is_published() {
    // CTA 0 stores 7; CTA 1 copies the word before the publication, and again after a clock that follows
    // it.
    let text = kernel(
        "setp.eq.u32 %p1, %r2, 0;
         @%p1 st.global.u32 [%rd1], 7;
         @%p1 bra DONE;
         ld.global.u32 %r5, [%rd1]; st.global.u32 [%rd1+4], %r5;
         atom.global.add.u32 %r6, [%rd1+12], 1;
         and.b32 %r6, %r6, 0; cvt.u64.u32 %rd4, %r6; add.s64 %rd4, %rd4, %rd1;
         ld.global.u32 %r5, [%rd4]; st.global.u32 [%rd1+8], %r5;
         DONE: ret;",
    );
    let left = on_two_sms(&text, &[1, 0, 0, 0], |bench, out, sms| {
        assert_eq!(sms.run(0, 5)?, None);
        assert_eq!(sms.0[0].oldest_held(), Some(5));
        let deferred = sms.run(1, 6)?.expect("an atomic operation");
        assert_eq!(bench.read(out, 2), [1, 0]);
        sms.publish()?;
        assert_eq!(bench.read(out, 2), [7, 1]);
        sms.0[1].perform(deferred, Moment::default())?;
        sms.run(1, 7).map(drop)
    });
    assert_eq!(left, [7, 1, 7, 32]);
}

#[test]
fn stores_reach_memory_in_cycle_order() {
    let text = kernel("add.u32 %r5, %r2, 10; st.global.u32 [%rd1], %r5; ret;");
    for (first, second, last) in [(5, 6, 11), (6, 5, 10), (5, 5, 11)] {
        let left = on_two_sms(&text, &[0], |_, _, sms| {
            sms.run(0, first)?;
            sms.run(1, second)?;
            let mut oldest = Vec::from([0, 1].map(|sm| (sms.0[sm].oldest_held().expect("a store"), sm)));
            oldest.sort_unstable();
            oldest.into_iter().try_for_each(|(cycle, sm)| sms.0[sm].publish(cycle))
        });
        assert_eq!(left, [last], "{first} {second}");
    }
}

#[test]
fn publication_leaves_later_stores_held() {
    let text = kernel(
        "st.global.u32 [%rd1], 1; atom.global.add.u32 %r6, [%rd1+8], 1;
         st.global.u32 [%rd1+4], %r6; ret;",
    );
    on_two_sms(&text, &[0, 9, 0], |bench, out, sms| {
        let deferred = sms.run(0, 5)?.expect("an atomic operation");
        sms.0[0].publish(4)?;
        assert_eq!(bench.read(out, 1), [0]);
        sms.publish()?;
        sms.0[0].perform(deferred, Moment::default())?;
        sms.run(0, 8)?;
        sms.0[0].publish(7)?;
        assert_eq!((bench.read(out, 2), sms.0[0].oldest_held()), (vec![1, 9], Some(8)));
        Ok(())
    });
}

#[test]
fn own_sm_sees_its_stores_of_all_widths() {
    let text = kernel(
        "shl.b32 %r5, %r4, 4; cvt.u64.u32 %rd4, %r5; add.s64 %rd4, %rd4, %rd1;
         mov.u32 %r6, 0x01020304; mul.lo.u32 %r6, %r6, 3;
         st.global.v4.u32 [%rd4], {%r4, %r6, %r4, %r6};
         st.global.u8 [%rd4+5], 77;
         st.global.u16 [%rd4+8], 0x1234;
         cvta.to.global.u64 %rd5, %rd4;
         ld.u32 %r7, [%rd5+4];
         ld.global.v2.u32 {%r8, %r9}, [%rd4+8];
         ld.global.s8 %r10, [%rd4+5];
         add.u32 %r7, %r7, %r8; add.u32 %r7, %r7, %r9; add.u32 %r7, %r7, %r10;
         st.global.u32 [%rd4+12], %r7; ret;",
    );
    let left = on_two_sms(&text, &vec![0; 256], |bench, out, sms| {
        sms.run(0, 5)?;
        sms.run(1, 5)?;
        assert_eq!(bench.read(out, 256), vec![0; 256]);
        Ok(())
    });
    for thread in 0..64_u32 {
        let word = 0x0102_0304 * 3;
        let changed = word & 0xffff_00ff | 77 << 8;
        let half = thread & 0xffff_0000 | 0x1234;
        let sum = [half, word, 77].into_iter().fold(changed, u32::wrapping_add);
        assert_eq!(left[4 * thread as usize..][..4], [thread, changed, half, sum], "thread {thread}");
    }
}

#[test]
fn later_load_sees_own_atomic_once() {
    let text = kernel(
        "red.global.add.u32 [%rd1], 1; ld.global.u32 %r5, [%rd1];
         setp.eq.u32 %p1, %r1, 0; @!%p1 bra DONE;
         mul.wide.u32 %rd4, %r2, 4; add.s64 %rd4, %rd4, %rd1; st.global.u32 [%rd4+4], %r5;
         DONE: ret;",
    );
    let left = on_two_sms(&text, &[100, 0, 0], |bench, out, sms| {
        let deferred = [sms.run(0, 5)?, sms.run(1, 5)?];
        sms.run(0, 6)?;
        sms.run(1, 6)?;
        assert_eq!(bench.read(out, 1), [100]);
        sms.publish()?;
        assert_eq!(bench.read(out, 1), [164]);
        for (warps, number) in sms.0.iter_mut().zip(deferred) {
            warps.perform(number.expect("an atomic operation"), Moment::default())?;
        }
        Ok(())
    });
    assert_eq!(left, [164, 132, 132]);
}

#[test]
fn unbuffered_memory_changes_need_sm_order() {
    let cases = [
        ("st.global.u32 [%rd3], 1;", false),
        ("st.volatile.global.u32 [%rd3], 1; ld.volatile.global.u32 %r5, [%rd3];", false),
        ("atom.global.add.u32 %r5, [%rd1], 1; red.global.max.u32 [%rd1], 5;", false),
        ("mov.u32 %r5, 0; atom.shared.add.u32 %r5, [%r5], 1;", false),
        (
            "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r5,%r6,%r7,%r8,%r9,%r10,%r11,%r12}, [%rd1];",
            true,
        ),
    ];
    for (body, needs) in cases {
        let bench = Bench::new(&kernel(&format!("{body} ret;")));
        let program = bench.module.kernel("test").unwrap();
        let out = bench.words(&[0; 256]);
        let config = LaunchConfig {
            shape: LaunchShape::new([1; 3], [32, 1, 1]),
            parameters: out.to_le_bytes().to_vec(),
            ..LaunchConfig::default()
        };
        let identity = Identity { launch: 1, stream: 0 };
        let launched = launch(&bench.device, &program, config, identity, |source| {
            assert_eq!(source.needs_sm_order(), needs, "{body}");
            Err::<(), &str>("given up")
        });
        assert!(launched.is_err());
    }
}
