//! Truncated and changed states cause an error or another result, and nothing worse.

use std::time::Duration;

use functional::device::Settings;
use functional::suspend::{SuspendedLaunch, Window};
use functional::timed::turns::{Order, execute};
use functional::timed::{Identity, launch_from};
use voltsim_checkpoint::codec;

use crate::bench::{Bench, Case, LIMIT, Stopped, kernel, stepped, stop, with_other_bits};

/// Lanes that diverge, wait at barriers, call functions, and use local and shared memory.
fn case() -> Case {
    let function = ".func (.param .b32 result) triangle(.param .b32 n) {
        .reg .pred %p<3>; .reg .b32 %r<9>;
        ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, 0; @%p1 bra DONE;
        add.u32 %r3, %r1, -1;
        { .param .b32 a; .param .b32 v; st.param.b32 [a], %r3; call.uni (v), triangle, (a); ld.param.b32 %r4, [v]; }
        add.u32 %r2, %r4, %r1;
        DONE: st.param.b32 [result], %r2; ret; }";
    let code = "
        .shared .align 4 .b8 buffer[256];
        and.b32 %r6, %r4, 3; mov.u32 %r8, buffer; mad.lo.u32 %r9, %r1, 4, %r8; st.shared.u32 [%r9], %r4;
        setp.lt.u32 %p1, %r1, 20; @%p1 bra FEW; bar.sync 0;
        FEW: @%p1 bar.sync 0;
        { .param .b32 a; .param .b32 v; st.param.b32 [a], %r6; call.uni (v), triangle, (a); ld.param.b32 %r5, [v]; }
        ld.shared.u32 %r10, [%r9]; add.u32 %r5, %r5, %r10; st.global.u32 [%rd3], %r5; ret;";
    Case::of(&format!("{function}\n{}", kernel(code)), (3, 64), 192)
}

/// Decodes a state and resumes it; returns whether that succeeds.
fn survives(bench: &Bench, stopped: &Stopped, bytes: &[u8]) -> bool {
    let Ok(state) = codec::decode::<LIMIT, SuspendedLaunch>(bytes) else { return false };
    bench.restore(&stopped.memory);
    bench.launch_from(&state).is_ok()
}

/// [`survives`] under a timing model.
fn survives_under_a_model(bench: &Bench, stopped: &Stopped, bytes: &[u8]) -> bool {
    let Ok(state) = codec::decode::<LIMIT, SuspendedLaunch>(bytes) else { return false };
    bench.restore(&stopped.memory);
    let identity = Identity { launch: 1, stream: 0 };
    let config = bench.config.clone();
    let driven = launch_from(&bench.device, &bench.program, config, &state, identity, |source| {
        execute(source, (1, 2), Order::InTurn, |_| {})
    });
    driven.is_ok()
}

fn bench(case: &Case) -> Bench {
    Bench::with(case, Settings { watchdog: Some(Duration::from_millis(200)), ..stepped() })
}

#[test]
fn truncated_states_are_errors() {
    let case = case();
    let stopped = stop(&case, &Window { first: 1, ctas: 2, instructions: 45 });
    let lengths = (0..stopped.state.len()).step_by(7);
    for length in lengths {
        let decoded = codec::decode::<LIMIT, SuspendedLaunch>(&stopped.state[..length]);
        assert!(decoded.is_err(), "{length} bytes");
    }
}

/// Tries states with one bit changed: some resume, some do not.
fn other_bits(tries: usize, survives: fn(&Bench, &Stopped, &[u8]) -> bool) {
    let case = case();
    for instructions in [9, 31, 45, 70] {
        let stopped = stop(&case, &Window { first: 0, ctas: 2, instructions });
        let bench = bench(&case);
        assert!(survives(&bench, &stopped, &stopped.state));
        let (mut went_on, mut refused) = (0, 0);
        for bytes in with_other_bits(&stopped.state).take(tries) {
            match survives(&bench, &stopped, &bytes) {
                true => went_on += 1,
                false => refused += 1,
            }
        }
        assert!(went_on > 0 && refused > 0, "{went_on} resumed, {refused} did not");
    }
}

#[test]
fn changed_bits_cause_errors_or_resume() {
    other_bits(1500, survives);
}

#[test]
fn changed_bits_cause_errors_or_resume_under_a_model() {
    other_bits(400, survives_under_a_model);
}

#[test]
fn small_numbers_cause_errors_or_resume() {
    let case = case();
    let stopped = stop(&case, &Window { first: 0, ctas: 1, instructions: 45 });
    let bench = bench(&case);
    // Numbers below 251 are encoded as one byte.
    for at in (0..stopped.state.len()).filter(|&at| stopped.state[at] < 251) {
        for value in [0, 1, stopped.state[at].wrapping_add(1), 250] {
            let mut bytes = stopped.state.clone();
            bytes[at] = value;
            survives(&bench, &stopped, &bytes);
        }
    }
}
