//! Barriers, fences, votes, and exchange between the lanes of a warp.

/// Lines of this group: `parallel_ops! { callback … }` expands to `callback! { … [ lines ] }`.
#[macro_export]
macro_rules! parallel_ops {
    ($callback:ident $($before:tt)*) => {
        $callback! { $($before)* [
            /// Waits until b threads (all of the CTA without b) have arrived at barrier a.
            bar_sync: "bar{.cta@7.8:30}.sync a:u32{, b:u32}", 1.0, 10, Barrier, Barrier, "9.7.13.1";
            /// Arrives at barrier a without waiting.
            bar_arrive: "bar{.cta@7.8:30}.arrive a:u32, b:u32", 2.0, 20, Barrier, Barrier, "9.7.13.1";
            /// Waits at barrier a; d = number of threads whose predicate holds.
            bar_red_popc: "bar{.cta@7.8:30}.red.popc.u32 d, a:u32{, b:u32}, !c:pred", 2.0, 20, Barrier, Barrier, "9.7.13.1";
            /// Waits at barrier a; p = conjunction or disjunction of the threads' predicates.
            bar_red: "bar{.cta@7.8:30}.red(.and|.or).pred p:pred, a:u32{, b:u32}, !c:pred", 2.0, 20, Barrier, Barrier, "9.7.13.1";
            /// Waits until b threads have arrived at barrier a; parts of warps may arrive separately unless
            /// .aligned.
            barrier_sync: "barrier{.cta@7.8:30}.sync{.aligned} a:u32{, b:u32}", 6.0, 30, Barrier, Barrier, "9.7.13.1";
            /// Arrives at barrier a without waiting; parts of warps may arrive separately unless .aligned.
            barrier_arrive: "barrier{.cta@7.8:30}.arrive{.aligned} a:u32, b:u32", 6.0, 30, Barrier, Barrier, "9.7.13.1";
            /// Waits at barrier a; d = number of threads whose predicate holds.
            barrier_red_popc: "barrier{.cta@7.8:30}.red.popc{.aligned}.u32 d, a:u32{, b:u32}, !c:pred", 6.0, 30, Barrier, Barrier, "9.7.13.1";
            /// Waits at barrier a; p = conjunction or disjunction of the threads' predicates.
            barrier_red: "barrier{.cta@7.8:30}.red(.and|.or){.aligned}.pred p:pred, a:u32{, b:u32}, !c:pred", 6.0, 30, Barrier, Barrier, "9.7.13.1";
            /// Arrives at the cluster barrier without waiting.
            barrier_cluster_arrive: "barrier.cluster.arrive{.release@8.0:90|.relaxed@8.0:90}{.aligned}", 7.8, 90, Barrier, Barrier, "9.7.13.3";
            /// Waits until all threads of the cluster have arrived at its barrier.
            barrier_cluster_wait: "barrier.cluster.wait{.acquire@8.0:90}{.aligned}", 7.8, 90, Barrier, Barrier, "9.7.13.3";
            /// Waits for the lanes of the mask.
            bar_warp_sync: "bar.warp.sync a:b32", 6.0, 30, Barrier, Convergent, "9.7.13.2";
            /// Orders this thread's memory accesses at a level.
            membar: "membar(.cta|.gl|.sys)", 1.4, 10, Barrier, Fence, "9.7.13.4";
            /// Orders this thread's memory accesses in a scope.
            fence: "fence{.sc|.acq_rel|.acquire|.release}<scope>", 6.0, 70, Barrier, Fence, "9.7.13.4";
            /// Orders accesses to shared memory of the cluster, in one direction.
            fence_restricted: "fence.acquire.sync_restrict::shared::cluster.cluster", 8.6, 90
                / "fence.release.sync_restrict::shared::cta.cluster", 8.6, 90,
                Barrier, Fence, "9.7.13.4";
            /// Orders the initialisation of barriers before later accesses.
            fence_mbarrier_init: "fence.mbarrier_init.release.cluster", 8.0, 90, Barrier, Fence, "9.7.13.4";
            /// Orders accesses through different addresses of one location.
            fence_proxy_alias: "fence.proxy.alias", 7.5, 70
                / "fence.proxy.alias(.acquire|.release).sys", 9.4, 90
                / "fence.alias.sync_restrict::read.release.sys", 9.5, 90,
                Barrier, Fence, "9.7.13.4";
            /// Orders accesses of threads and of asynchronous copies.
            fence_proxy_async: "fence.proxy.async{<proxy_space>}", 8.0, 90, Barrier, Fence, "9.7.13.4";
            /// Orders accesses to a tensor map before accesses by copies.
            fence_proxy_tensormap_release: "fence.proxy.tensormap::generic.release<scope>", 8.3, 90, Barrier, Fence, "9.7.13.4";
            /// Orders changes of the tensor map at a, b bytes long, before copies that use the map.
            fence_proxy_tensormap_acquire: "fence.proxy.tensormap::generic.acquire<scope> [a], b:u32", 8.3, 90, Barrier, Fence, "9.7.13.4";
            /// Orders accesses to shared memory by threads and asynchronous copies, in one direction.
            fence_proxy_async_restricted: "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", 8.6, 90
                / "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", 8.6, 90
                / "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read(.cta|.cluster)", 9.4, 90,
                Barrier, Fence, "9.7.13.4";
            /// As fence.proxy.alias.
            membar_proxy_alias: "membar.proxy.alias", 7.5, 60, Barrier, Fence, "9.7.13.4";
            /// As fence.proxy.async.
            membar_proxy_async: "membar.proxy.async", 8.0, 90, Barrier, Fence, "9.7.13.4";
            /// p = true on all lanes, on any lane, or equal on all lanes of the mask.
            vote: "vote.sync(.all|.any|.uni).pred p:pred, !a:pred, b:b32", 6.0, 30, Integer, Convergent, "9.7.13.8";
            /// d = one bit per lane of the mask whose predicate holds.
            vote_ballot: "vote.sync.ballot.b32 d, !a:pred, b:b32", 6.0, 30, Integer, Convergent, "9.7.13.8";
            /// p = true on all active lanes, on any, or equal on all (before Volta).
            vote_unmasked: "vote(.all|.any|.uni).pred p:pred, !a:pred", 1.2, 12, Integer, Convergent, "9.7.13.7";
            /// d = one bit per active lane whose predicate holds (before Volta).
            vote_ballot_unmasked: "vote.ballot.b32 d, !a:pred", 2.0, 20, Integer, Convergent, "9.7.13.7";
            /// d = mask of the lanes with an equal value.
            match_any: "match.any.sync(.b32|.b64) d:b32, a, b:b32", 6.0, 70, Integer, Convergent, "9.7.13.9";
            /// d = the mask if all its lanes have an equal value, else 0; p = equality.
            match_all: "match.all.sync(.b32|.b64) d:b32{|p:pred}, a, b:b32", 6.0, 70, Integer, Convergent, "9.7.13.9";
            /// d = mask of the lanes that execute together.
            activemask: "activemask.b32 d", 6.2, 30, Integer, Convergent, "9.7.13.10";
            /// d = reduction of a over the lanes of the mask.
            redux: "redux.sync(.add|.min|.max)(.u32|.s32) d, a, b:b32", 7.0, 80
                / "redux.sync(.and|.or|.xor).b32", 7.0, 80,
                Integer, Convergent, "9.7.13.11";
            /// d = the smallest or largest of a over the lanes of the mask; a NaN loses unless .NaN is given.
            redux_float: "redux.sync(.min|.max){.abs}{.NaN}.f32 d, a, b:b32", 8.6, "100a", Integer, Convergent, "9.7.13.11";
            /// d = a of another lane of the mask; p = true if that lane is in range.
            shfl: "shfl.sync(.up|.down|.bfly|.idx).b32 d{|p:pred}, a, b:u32, c:u32, e:b32", 6.0, 30, Integer, Convergent, "9.7.9.6";
            /// d = a of another lane; p = true if that lane is in range (before Volta).
            shfl_unmasked: "shfl(.up|.down|.bfly|.idx).b32 d{|p:pred}, a, b:u32, c:u32", 3.0, 30, Integer, Convergent, "9.7.9.5";
            /// d = elected lane of the mask; p = true in that lane.
            elect: "elect.sync d:b32|p:pred, a:b32", 8.0, 90, Integer, Convergent, "9.7.13.15";
            /// Initialises a barrier in shared memory for b arrivals per phase.
            mbarrier_init: "mbarrier.init{<barrier_layout>}{<shared_cta>}.b64 [a], b:u32", 7.0, 80, Barrier, Atomic, "9.7.13.15";
            /// Invalidates a barrier, whose memory may then be reused.
            mbarrier_inval: "mbarrier.inval{<shared_cta>}.b64 [a]", 7.0, 80, Barrier, Atomic, "9.7.13.15";
            /// p = true if the barrier was initialised with this layout.
            mbarrier_check_layout: "mbarrier.check_layout(.layout::v0|.layout::v1){<shared_cta>}.b64 p:pred, [a]", 9.3, 90, Barrier, Atomic, "9.7.13.15";
            /// The current phase waits for b more transactions.
            mbarrier_expect_tx: "mbarrier.expect_tx{<shared_any>}.b64 [a], b:u32", 8.0, 90
                / "mbarrier.expect_tx.relaxed(.cta|.cluster){<shared_any>}.b64", 8.0, 90,
                Barrier, Atomic, "9.7.13.15";
            /// Completes b transactions of the current phase.
            mbarrier_complete_tx: "mbarrier.complete_tx{<shared_any>}.b64 [a], b:u32", 8.0, 90
                / "mbarrier.complete_tx.relaxed(.cta|.cluster){<shared_any>}.b64", 8.0, 90,
                Barrier, Atomic, "9.7.13.15";
            /// Arrives at the current phase; d = previous state.
            mbarrier_arrive: "mbarrier.arrive{<shared_remote>}.b64 d, [a]", 7.0, 80
                / "mbarrier.arrive(.release|.relaxed@8.6:90)(.cta|.cluster@8.0:90){<shared_any>}.b64", 8.0, 80,
                Barrier, Atomic, "9.7.13.15";
            /// Arrives at the current phase b times; d = previous state.
            mbarrier_arrive_count: "mbarrier.arrive{<shared_remote>}.b64 d, [a], b:u32", 7.8, 90
                / "mbarrier.arrive(.release|.relaxed@8.6:90)(.cta|.cluster){<shared_any>}.b64", 8.0, 90,
                Barrier, Atomic, "9.7.13.15";
            /// Arrives at the current phase b times without completing it; d = previous state.
            mbarrier_arrive_no_complete: "mbarrier.arrive.noComplete{<shared_cta>}.b64 d, [a], b:u32", 7.0, 80
                / "mbarrier.arrive.noComplete.release.cta{<shared_cta>}.b64", 8.0, 80,
                Barrier, Atomic, "9.7.13.15";
            /// Arrives at the current phase, which waits for b more transactions; d = previous state.
            mbarrier_arrive_expect_tx: "mbarrier.arrive.expect_tx{<shared_remote>}.b64 d, [a], b:u32", 8.0, 90
                / "mbarrier.arrive.expect_tx(.release|.relaxed@8.6:90)(.cta|.cluster){<shared_any>}.b64", 8.0, 90,
                Barrier, Atomic, "9.7.13.15";
            /// Arrives at the current phase for the last time; d = previous state.
            mbarrier_drop: "mbarrier.arrive_drop{<shared_remote>}.b64 d, [a]", 7.0, 80
                / "mbarrier.arrive_drop(.release|.relaxed@8.6:90)(.cta|.cluster@8.0:90){<shared_any>}.b64", 8.0, 80,
                Barrier, Atomic, "9.7.13.15";
            /// Arrives at the current phase b times for the last time; d = previous state.
            mbarrier_drop_count: "mbarrier.arrive_drop{<shared_remote>}.b64 d, [a], b:u32", 7.8, 90
                / "mbarrier.arrive_drop(.release|.relaxed@8.6:90)(.cta|.cluster){<shared_any>}.b64", 8.0, 90,
                Barrier, Atomic, "9.7.13.15";
            /// Arrives at the current phase b times for the last time without completing it; d = previous
            /// state.
            mbarrier_drop_no_complete: "mbarrier.arrive_drop.noComplete{<shared_cta>}.b64 d, [a], b:u32", 7.0, 80
                / "mbarrier.arrive_drop.noComplete.release.cta{<shared_cta>}.b64", 8.0, 80,
                Barrier, Atomic, "9.7.13.15";
            /// Arrives at the current phase, which waits for b more transactions, for the last time; d =
            /// previous state.
            mbarrier_drop_expect_tx: "mbarrier.arrive_drop.expect_tx{<shared_remote>}.b64 d, [a], b:u32", 8.0, 90
                / "mbarrier.arrive_drop.expect_tx(.release|.relaxed@8.6:90)(.cta|.cluster){<shared_any>}.b64", 8.0, 90,
                Barrier, Atomic, "9.7.13.15";
            /// p = true if the phase of state b is complete; q, d = reports of operations on the barrier:
            /// none.
            mbarrier_test_wait: "mbarrier.test_wait{.phase_type::primary@9.3:90}{<shared_cta>}.b64 p:pred{|q:pred}{, d:b8}, [a], b:b64", 7.0, 80
                / "mbarrier.test_wait{.phase_type::primary@9.3:90}(.acquire|.relaxed@8.6:90)(.cta|.cluster@8.0:90){<shared_cta>}.b64", 8.0, 80,
                Barrier, Atomic, "9.7.13.15";
            /// p = true if the phase of parity b is complete; q, d = reports of operations on the barrier:
            /// none.
            mbarrier_test_wait_parity: "mbarrier.test_wait.parity{<phase_type>}{<shared_cta>}.b64 p:pred{|q:pred}{, d:b8}, [a], b:u32", 7.1, 80
                / "mbarrier.test_wait.parity{<phase_type>}(.acquire|.relaxed@8.6:90)(.cta|.cluster@8.0:90){<shared_cta>}.b64", 8.0, 80,
                Barrier, Atomic, "9.7.13.15";
            /// Waits for some time; p = true if the phase of state b is complete; q, d = reports: none.
            mbarrier_try_wait: "mbarrier.try_wait{.phase_type::primary@9.3:90}{<shared_cta>}.b64 p:pred{|q:pred}{, d:b8}, [a], b:b64{, c:u32}", 7.8, 90
                / "mbarrier.try_wait{.phase_type::primary@9.3:90}(.acquire|.relaxed@8.6:90)(.cta|.cluster){<shared_cta>}.b64", 8.0, 90,
                Barrier, Atomic, "9.7.13.15";
            /// Waits for some time; p = true if the phase of parity b is complete; q, d = reports: none.
            mbarrier_try_wait_parity: "mbarrier.try_wait.parity{<phase_type>}{<shared_cta>}.b64 p:pred{|q:pred}{, d:b8}, [a], b:u32{, c:u32}", 7.8, 90
                / "mbarrier.try_wait.parity{<phase_type>}(.acquire|.relaxed@8.6:90)(.cta|.cluster){<shared_cta>}.b64", 8.0, 90,
                Barrier, Atomic, "9.7.13.15";
            /// d = pending arrivals in state a.
            mbarrier_pending_count: "mbarrier.pending_count{.layout::v0@9.3:90}.b64 d:b32, a:b64", 7.0, 80, Barrier, Atomic, "9.7.13.15";
            /// Arrives when the copies of this thread are complete; without .noinc the barrier expects one
            /// more arrival.
            cp_async_mbarrier_arrive: "cp.async.mbarrier.arrive{.noinc}{<shared_cta>}.b64 [a]", 7.0, 80, Barrier, Atomic, "9.7.13.15";
        ] }
    };
}
