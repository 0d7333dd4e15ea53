//! Rules of warp sources: use by several threads, readiness of warps, launches without a model.

use functional::launch::LaunchConfig;
use functional::timed::turns::TurnsError;
use functional::timed::{Identity, launch};
use warp_stream::{Execution, KernelSource, Moment, Next, Residence, SourceError, WarpSlot, WarpSource};

use crate::bench::{Bench, kernel};
use warp_stream::LaunchShape;

/// Executes a CTA of one warp to its end, with immediate deferred ops.
fn run_to_end(warps: &mut dyn WarpSource, cta: u64) {
    let (warp, now) = (WarpSlot { cta: 0, warp: 0 }, Moment::default());
    let mut execution = Execution::default();
    warps.start_cta(0, cta, Residence { sm: 0, first_warp: 0 }).unwrap();
    while let Next::Instruction(_) = warps.next(warp).unwrap() {
        warps.issue(warp, now, &mut execution).unwrap();
        if let Some(deferred) = execution.deferred {
            warps.perform(deferred, now).unwrap();
        }
    }
    warps.end_cta(0);
}

/// Device address of the code of a kernel that is launched.
fn code_address(bench: &Bench) -> u64 {
    let (out, program) = (bench.words(&[0]), bench.module.kernel("test").unwrap());
    let parameters = out.to_le_bytes().to_vec();
    let config = LaunchConfig {
        shape: LaunchShape::new([1, 1, 1], [32, 1, 1]),
        parameters,
        ..LaunchConfig::default()
    };
    let mut address = 0;
    // The launch is given up before its CTA starts, which is an outcome of no interest here.
    let _ = launch(&bench.device, &program, config, Identity { launch: 1, stream: 0 }, |source| {
        address = source.kernel().code_address;
        Ok::<(), TurnsError>(())
    });
    assert_ne!(address, 0);
    address
}

#[test]
fn the_address_of_code_depends_on_its_device_alone() {
    let body = kernel("ret;");
    let [first, second] = [(); 2].map(|()| Bench::new(&body));
    let address = code_address(&first);
    assert_eq!(code_address(&second), address);
    assert_eq!(code_address(&first), address);
}

#[test]
fn sms_can_run_on_separate_threads() {
    let bench = Bench::new(&kernel("red.global.add.u32 [%rd1], 1; ret;"));
    let out = bench.words(&[0]);
    let program = bench.module.kernel("test").unwrap();
    let config = LaunchConfig {
        shape: LaunchShape::new([1000, 1, 1], [32, 1, 1]),
        parameters: out.to_le_bytes().to_vec(),
        ..LaunchConfig::default()
    };
    let identity = Identity { launch: 1, stream: 0 };
    let launched = launch(&bench.device, &program, config, identity, |source| {
        std::thread::scope(|scope| {
            for sm in 0..2 {
                scope.spawn(move || {
                    let mut warps = source.warps(sm);
                    (0..500).for_each(|cta| run_to_end(&mut *warps, 2 * cta + u64::from(sm)));
                });
            }
        });
        Ok::<(), TurnsError>(())
    });
    assert!(launched.is_ok());
    assert_eq!(bench.read(out, 1), [32_000]);
}

#[test]
fn warps_that_are_not_ready_cannot_issue() {
    let bench = Bench::new(&kernel("bar.sync 0; ret;"));
    let (out, program) = (bench.words(&[0]), bench.module.kernel("test").unwrap());
    let config = LaunchConfig {
        shape: LaunchShape::new([1; 3], [64, 1, 1]),
        parameters: out.to_le_bytes().to_vec(),
        ..LaunchConfig::default()
    };
    let identity = Identity { launch: 1, stream: 0 };
    let launched = launch(&bench.device, &program, config, identity, |source| {
        let (mut warps, now) = (source.warps(0), Moment::default());
        let (warp, mut execution) = (WarpSlot { cta: 0, warp: 0 }, Execution::default());
        assert!(warps.next(warp).is_err(), "no CTA has started");
        warps.start_cta(0, 0, Residence { sm: 0, first_warp: 0 })?;
        while let Next::Instruction(_) = warps.next(warp)? {
            warps.issue(warp, now, &mut execution)?;
        }
        assert!(warps.issue(warp, now, &mut execution).is_err());
        assert!(warps.perform(0, now).is_err());
        Ok::<(), SourceError>(())
    });
    assert!(launched.is_ok());
}

#[test]
fn kernel_bound_for_a_model_runs_without_one() {
    let bench = Bench::new(&kernel(
        "mov.u32 %r5, 0; mov.u32 %r6, 0;
         LOOP: setp.ge.u32 %p1, %r6, %r1; @%p1 bra DONE; add.u32 %r5, %r5, %r6; add.u32 %r6, %r6, 1; bra LOOP;
         DONE: st.global.u32 [%rd3], %r5; ret;",
    ));
    let out = bench.words(&[0; 32]);
    let program = bench.module.kernel("test").unwrap();
    let config = LaunchConfig {
        shape: LaunchShape::new([1; 3], [32, 1, 1]),
        parameters: out.to_le_bytes().to_vec(),
        ..LaunchConfig::default()
    };
    functional::launch::launch(&bench.device, &program, config).unwrap();
    assert_eq!(bench.read(out, 32), (0..32).map(|n: u32| n * n.saturating_sub(1) / 2).collect::<Vec<_>>());
}
