//! Run-ahead: instructions that execute before they issue, as shown by the value that a load finds.

use functional::launch::LaunchConfig;
use functional::timed::{Identity, launch};
use warp_stream::{
    Execution, KernelSource, MachineInstruction, MemorySpace, Moment, Next, OperationClass, Residence,
    SourceError, WarpSlot,
};

use crate::bench::{Bench, kernel};
use warp_stream::LaunchShape;

/// Effects of a warp; the number of issued instructions is written to memory before each issue.
struct Told {
    issued: Vec<MachineInstruction>,
    /// Value found by the load.
    loaded: u32,
    /// Number of issued instructions when the store first appeared.
    stored: Option<u32>,
}

/// Executes a warp that loads `%r5` from `[%rd4]` and may store to `[%rd5]`.
fn execute(body: &str) -> Told {
    let bench = Bench::new(&kernel(&format!(
        "add.s64 %rd4, %rd1, 256; add.s64 %rd5, %rd1, 512; mov.u32 %r6, 1; {body} st.global.u32 [%rd3], %r5; ret;"
    )));
    let out = bench.words(&[0; 160]);
    let config = LaunchConfig {
        shape: LaunchShape::new([1; 3], [32, 1, 1]),
        parameters: out.to_le_bytes().to_vec(),
        ..LaunchConfig::default()
    };
    let (mut issued, mut stored) = (Vec::new(), None);
    let program = bench.module.kernel("test").unwrap();
    let launched = launch(&bench.device, &program, config, Identity { launch: 1, stream: 0 }, |source| {
        let code = &source.kernel().code.instructions;
        let (mut warps, now) = (source.warps(0), Moment::default());
        let (warp, mut execution) = (WarpSlot { cta: 0, warp: 0 }, Execution::default());
        warps.start_cta(0, 0, Residence { sm: 0, first_warp: 0 })?;
        while let Next::Instruction(position) = warps.next(warp)? {
            let count = issued.len() as u32;
            if bench.read(out + 512, 1) != [0] {
                stored.get_or_insert(count);
            }
            bench.device.memory.write(out + 256, &count.to_le_bytes()).unwrap();
            warps.issue(warp, now, &mut execution)?;
            if let Some(deferred) = execution.deferred {
                warps.perform(deferred, now)?;
            }
            issued.push(code[position as usize]);
        }
        warps.end_cta(0);
        Ok::<(), SourceError>(())
    });
    assert!(launched.is_ok());
    Told { issued, loaded: bench.read(out, 1)[0], stored }
}

impl Told {
    /// Instructions issued before the first, or last, one that `wanted` selects.
    fn before_first(&self, wanted: impl Fn(&MachineInstruction) -> bool) -> u32 {
        self.issued.iter().position(wanted).unwrap() as u32
    }

    fn before_last(&self, wanted: impl Fn(&MachineInstruction) -> bool) -> u32 {
        self.issued.iter().rposition(wanted).unwrap() as u32
    }
}

fn is_global(instruction: &MachineInstruction) -> bool {
    instruction.memory.is_some_and(|memory| memory.space == MemorySpace::Global)
}

#[test]
fn plain_loads_run_ahead() {
    for load in
        ["ld.global.u32 %r5, [%rd4];", "ld.global.nc.u32 %r5, [%rd4];", "ld.weak.global.u32 %r5, [%rd4];"]
    {
        let told = execute(load);
        assert!(told.loaded < told.before_first(is_global), "{load}: {}", told.loaded);
    }
}

#[test]
fn ordered_and_l1_bypassing_loads_execute_at_issue() {
    let loads = [
        "ld.volatile.global.u32 %r5, [%rd4];",
        "ld.relaxed.cta.global.u32 %r5, [%rd4];",
        "ld.relaxed.gpu.global.u32 %r5, [%rd4];",
        "ld.acquire.gpu.global.u32 %r5, [%rd4];",
        "ld.acquire.sys.global.u32 %r5, [%rd4];",
        "ld.global.cg.u32 %r5, [%rd4];",
        "ld.global.cv.u32 %r5, [%rd4];",
        "atom.global.or.b32 %r5, [%rd4], 0;",
        "atom.relaxed.gpu.global.cas.b32 %r5, [%rd4], 99, 99;",
    ];
    for load in loads {
        let told = execute(load);
        assert_eq!(told.loaded, told.before_first(is_global), "{load}");
    }
}

#[test]
fn loads_after_synchronisation_wait_for_its_issue() {
    let meetings = [
        ("membar.gl;", OperationClass::Fence),
        ("fence.acq_rel.gpu;", OperationClass::Fence),
        ("bar.sync 0;", OperationClass::Barrier),
        ("bar.warp.sync -1;", OperationClass::WarpBarrier),
        ("mov.u32 %r7, %clock; st.global.u32 [%rd5], %r7;", OperationClass::SpecialRegister),
    ];
    for (meeting, class) in meetings {
        let told = execute(&format!("{meeting} ld.global.u32 %r5, [%rd4];"));
        let before = told.before_last(|instruction| instruction.class == class);
        assert!(
            told.loaded >= before,
            "{meeting} was issued after {before}, and the load found {}",
            told.loaded
        );
    }
}

#[test]
fn ordered_stores_take_effect_at_issue() {
    let is_store = |instruction: &MachineInstruction| is_global(instruction);
    let plain = execute("st.global.u32 [%rd5], %r6; mov.u32 %r5, 0;");
    assert!(plain.stored.unwrap() <= plain.before_first(is_store));
    for store in [
        "st.volatile.global.u32",
        "st.relaxed.gpu.global.u32",
        "st.release.gpu.global.u32",
        "red.global.add.u32",
    ] {
        let told = execute(&format!("{store} [%rd5], %r6; mov.u32 %r5, 0;"));
        assert_eq!(told.stored, Some(told.before_first(is_store) + 1), "{store}");
    }
}
