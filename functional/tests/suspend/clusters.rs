//! Clusters: windows contain whole clusters, and barriers and shared memory survive resumption.

use functional::suspend::Window;

use crate::bench::{Bench, Case, decode, same_from, stop};

/// CTAs of a cluster write into the next CTA's shared memory, three times, with cluster barriers in
/// between.
const RING: &str = "
    .shared .align 4 .b32 cell[64];
    mov.u32 %r20, %cluster_ctarank; mov.u32 %r21, %cluster_nctarank; add.u32 %r22, %r20, 1; rem.u32 %r22, %r22, %r21;
    mov.u32 %r5, cell; mad.lo.u32 %r5, %r1, 4, %r5; mapa.shared::cluster.u32 %r6, %r5, %r22;
    mov.u32 %r7, %r4; mov.u32 %r8, 0;
    ROUND: barrier.cluster.arrive; barrier.cluster.wait;
    st.shared::cluster.u32 [%r6], %r7; barrier.cluster.arrive; barrier.cluster.wait;
    ld.shared.u32 %r9, [%r5]; mad.lo.u32 %r7, %r9, 3, %r20;
    add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 3; @%p1 bra ROUND;
    barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [%rd3], %r7; ret;";

fn ring() -> Case {
    Case::new(RING, (8, 64), 512).with_clusters(4)
}

#[test]
fn clusters_resume_equally_from_every_point() {
    let case = ring();
    let plain = Bench::new(&case).launch().unwrap();
    for first in [0, 4, 7] {
        for ctas in [1, 8] {
            for instructions in [0, 1, 5, 13, 20, 31, 44, 60, 90, 1000] {
                same_from(&case, &plain, Window { first, ctas, instructions });
            }
        }
    }
}

#[test]
fn windows_contain_whole_clusters() {
    let stopped = stop(&ring(), &Window { first: 5, ctas: 1, instructions: 10 });
    assert_eq!(decode(&stopped.state).ctas_started(), 4);
}

#[test]
fn cooperative_clusters_advance_together() {
    let case = ring().cooperative();
    let plain = Bench::new(&case).launch().unwrap();
    for instructions in [3, 25, 70] {
        same_from(&case, &plain, Window { first: 0, ctas: 1, instructions });
    }
}
