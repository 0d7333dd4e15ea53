//! Resumption of a suspended launch under a timing model.

use functional::suspend::Window;
use functional::timed::turns::{Issued, Order, execute};
use functional::timed::{Identity, launch_from};

use crate::bench::{Bench, Case, decode, stop};
use crate::points::GRID_BARRIER;

/// Resumes on two SMs with room for two CTAs each; returns the CTAs in the order of their first
/// instruction, and the result.
fn go_on(case: &Case, window: Window, order: Order) -> (Vec<u64>, Vec<u32>) {
    let stopped = stop(case, &window);
    let bench = Bench::new(case);
    bench.restore(&stopped.memory);
    let mut ctas = Vec::new();
    let identity = Identity { launch: 1, stream: 0 };
    let state = decode(&stopped.state);
    let driven =
        launch_from(&bench.device, &bench.program, bench.config.clone(), &state, identity, |source| {
            execute(source, (2, 2), order, |issued: Issued<'_>| {
                if !ctas.contains(&issued.cta) {
                    ctas.push(issued.cta);
                }
            })
        });
    driven.unwrap();
    (ctas, bench.words())
}

const SQUARES: &str = "
    .shared .align 4 .b8 buffer[256]; mov.u32 %r5, buffer; mad.lo.u32 %r6, %r1, 4, %r5; st.shared.u32 [%r6], %r4;
    bar.sync 0; xor.b32 %r7, %r6, 252; ld.shared.u32 %r8, [%r7]; mul.lo.u32 %r8, %r8, %r8;
    setp.lt.u32 %p1, %r1, 9; @%p1 bra LOW; add.u32 %r8, %r8, 1; LOW: red.global.add.u32 [%rd3], %r8; ret;";

#[test]
fn model_resumes_started_ctas_where_they_stood() {
    let case = Case::new(SQUARES, (7, 64), 448);
    let bench = Bench::new(&case);
    bench.launch().unwrap();
    let plain = bench.words();
    drop(bench);
    for order in [Order::InTurn, Order::Random(7)] {
        for instructions in [0, 1, 4, 11, 23, 30] {
            let (mut ctas, words) = go_on(&case, Window { first: 2, ctas: 3, instructions }, order);
            ctas.sort_unstable();
            assert_eq!((ctas, words), ((2..7).collect(), plain.clone()), "{order:?}, after {instructions}");
        }
    }
}

#[test]
fn ended_ctas_are_not_resumed() {
    let (ctas, _) = go_on(
        &Case::new(SQUARES, (7, 64), 448),
        Window { first: 2, ctas: 3, instructions: 5000 },
        Order::InTurn,
    );
    assert_eq!(ctas, [5, 6]);
}

#[test]
fn cooperative_launch_resumes_under_a_model() {
    let case = Case::new(GRID_BARRIER, (4, 64), 12).cooperative();
    let bench = Bench::new(&case);
    bench.launch().unwrap();
    let plain = bench.words();
    drop(bench);
    for instructions in [5, 40, 90] {
        assert_eq!(go_on(&case, Window { first: 0, ctas: 1, instructions }, Order::InTurn).1, plain);
    }
}
