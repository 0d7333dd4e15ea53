//! Data movement: moves, loads, stores, addresses, prefetches.

/// Lines of this group: `memory_ops! { callback … }` expands to `callback! { … [ lines ] }`.
#[macro_export]
macro_rules! memory_ops {
    ($callback:ident $($before:tt)*) => {
        $callback! { $($before)* [
            /// d = a: a register, constant, special register, or the address of a variable or function.
            mov: "mov(.b16|.b32|.b64|.b128|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64) d, a", 1.0, 10, Integer, Pure, "9.7.9.2";
            /// d = a, predicates.
            mov_predicate: "mov.pred d, a", 1.0, 10, Integer, Pure, "9.7.9.2";
            /// d = a, element by element.
            mov_vector: "mov(.v2|.v4)(.b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64) d:vector, a:vector", 1.0, 10, Integer, Pure, "9.7.9.2";
            /// d = value at the address, sign- or zero-extended to the register.
            ld: "ld{.weak@6.0:70}{<space>}{<cache_load>}{<vector>}<data> d:vector, [a]{, e:b64}", 1.0, 10
                / "ld{.weak@6.0:70}{.global}{<cache_load>}{<l2_evict>}{.L2::cache_hint@7.4:80}{<l2_prefetch>}{<vector>}<data>", 1.0, 10
                / "ld{.weak@6.0:70}{.global}<l1_evict>{<l2_evict>}{.L2::cache_hint@7.4:80}{<l2_prefetch>}{<vector>}<data>", 1.0, 10
                / "ld.volatile{.global|.local|<shared_any>}{<vector>}<data>", 1.0, 10
                / "ld.volatile{.global}{<l2_evict>}{<l2_prefetch>}{<vector>}<data>", 1.0, 10
                / "ld(.relaxed|.acquire)<scope>{.global|<shared_any>}{<vector>}<data>", 6.0, 70
                / "ld(.relaxed|.acquire)<scope>{.global}{<l1_evict>}{<l2_evict>}{.L2::cache_hint@7.4:80}{<l2_prefetch>}{<vector>}<data>", 6.0, 70
                / "ld.proxy::readonly{.global}{<vector>}<number>", 9.4, 90
                / "ld.mmio(.relaxed|.acquire@9.3:70).sys{.global}<data>", 8.2, 70,
                Memory, Load, "9.7.9.8";
            /// d = value at the address in global memory, read-only for the kernel's lifetime.
            ld_nc: "ld.global{.ca|.cg|.cs}.nc{<l2_evict>}{.L2::cache_hint@7.4:80}{<l2_prefetch>}{<vector>}<data> d:vector, [a]{, e:b64}", 3.1, 32
                / "ld.global.nc.proxy::readonly{<vector>}<number>", 9.4, 90
                / "ld.global.nc<l1_evict>{<l2_evict>}{.L2::cache_hint@7.4:80}{<l2_prefetch>}{<vector>}<data>", 3.1, 32,
                Memory, Load, "9.7.9.9";
            /// d = value at an address that is equal for all lanes.
            ldu: "ldu{.global}{.v2|.v4}<data> d:vector, [a]", 2.0, 20, Memory, Load, "9.7.9.10";
            /// Value at the address = b.
            st: "st{.weak@6.0:70}{<space>}{<cache_store>}{<vector>}<data> [a], b:vector{, e:b64}", 1.0, 10
                / "st{.weak@6.0:70}{.global}{<cache_store>}{<l2_evict>}{.L2::cache_hint@7.4:80}{<vector>}<data>", 1.0, 10
                / "st{.weak@6.0:70}{.global}<l1_evict>{<l2_evict>}{.L2::cache_hint@7.4:80}{<vector>}<data>", 1.0, 10
                / "st.volatile{.global|.local|<shared_any>}{<l2_evict>}{<vector>}<data>", 1.0, 10
                / "st(.relaxed|.release)<scope>{.global|<shared_any>}{<vector>}<data>", 6.0, 70
                / "st(.relaxed|.release)<scope>{.global}{<l1_evict>}{<l2_evict>}{.L2::cache_hint@7.4:80}{<vector>}<data>", 6.0, 70
                / "st.mmio(.relaxed|.release@9.3:70).sys{.global}<data>", 8.2, 70,
                Memory, Store, "9.7.9.11";
            /// Value in shared memory = b; completes as many transactions of barrier c as the value has
            /// bytes.
            st_async: "st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.v2}(.b32|.b64|.u32|.u64|.s32|.s64|.f32|.f64) [a], b:vector, [c]", 8.1, 90
                / "st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes.v4(.b32|.u32|.s32|.f32)", 8.1, 90
                / "st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes.b128", 9.2, 90,
                Memory, Store, "9.7.9.12";
            /// Value in global memory = b, after all earlier accesses.
            st_async_release: "st.async.release(.gpu|.sys){.global}<number> [a], b", 8.7, 100
                / "st.async.mmio.release.sys{.global}<number>", 8.7, 100,
                Memory, Store, "9.7.9.12";
            /// b bytes of shared memory = zeros.
            st_bulk: "st.bulk{.weak}{.shared::cta} [a], b:u64, c:u32", 8.6, 100, Memory, Store, "9.7.9.13";
            /// d = combination of the values at a multicast address, one per device.
            multimem_ld_reduce: "multimem.ld_reduce{.weak}{.global}(.and|.or|.xor)(.b32|.b64) d, [a]", 8.1, 90
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}(.and|.or|.xor)(.b32|.b64)", 8.1, 90
                / "multimem.ld_reduce{.weak}{.global}(.min|.max)(.u32|.s32|.u64|.s64)", 8.1, 90
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}(.min|.max)(.u32|.s32|.u64|.s64)", 8.1, 90
                / "multimem.ld_reduce{.weak}{.global}.add(.u32|.s32|.u64)", 8.1, 90
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}.add(.u32|.s32|.u64)", 8.1, 90,
                Memory, Load, "9.7.9.14";
            /// d = combination of the floating-point values at a multicast address, one per device.
            multimem_ld_reduce_float: "multimem.ld_reduce{.weak}{.global}.add.f64 d:vector, [a]", 8.1, 90
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}.add.f64", 8.1, 90
                / "multimem.ld_reduce{.weak}{.global}.add{.v2|.v4}.f32", 8.1, 90
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}.add{.v2|.v4}.f32", 8.1, 90
                / "multimem.ld_reduce{.weak}{.global}(.add|.min|.max){.v2|.v4}(.f16x2|.bf16x2)", 8.1, 90
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}(.add|.min|.max){.v2|.v4}(.f16x2|.bf16x2)", 8.1, 90
                / "multimem.ld_reduce{.weak}{.global}(.add|.min|.max)(.v2|.v4|.v8)(.f16|.bf16)", 8.1, 90
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}(.add|.min|.max)(.v2|.v4|.v8)(.f16|.bf16)", 8.1, 90
                / "multimem.ld_reduce{.weak}{.global}.add.acc::f32{.v2|.v4}(.f16x2|.bf16x2)", 8.2, 90
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}.add.acc::f32{.v2|.v4}(.f16x2|.bf16x2)", 8.2, 90
                / "multimem.ld_reduce{.weak}{.global}.add.acc::f32(.v2|.v4|.v8)(.f16|.bf16)", 8.2, 90
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}.add.acc::f32(.v2|.v4|.v8)(.f16|.bf16)", 8.2, 90
                / "multimem.ld_reduce{.weak}{.global}(.add|.min|.max){.v2|.v4}(.e4m3x4|.e5m2x4)", 8.6, "100a"
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}(.add|.min|.max){.v2|.v4}(.e4m3x4|.e5m2x4)", 8.6, "100a"
                / "multimem.ld_reduce{.weak}{.global}(.add|.min|.max)(.v2|.v4|.v8)(.e4m3x2|.e5m2x2)", 8.6, "100a"
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}(.add|.min|.max)(.v2|.v4|.v8)(.e4m3x2|.e5m2x2)", 8.6, "100a"
                / "multimem.ld_reduce{.weak}{.global}(.add|.min|.max)(.v4|.v8)(.e4m3|.e5m2)", 8.6, "100a"
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}(.add|.min|.max)(.v4|.v8)(.e4m3|.e5m2)", 8.6, "100a"
                / "multimem.ld_reduce{.weak}{.global}.add.acc::f16{.v2|.v4}(.e4m3x4|.e5m2x4)", 8.6, "100a"
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}.add.acc::f16{.v2|.v4}(.e4m3x4|.e5m2x4)", 8.6, "100a"
                / "multimem.ld_reduce{.weak}{.global}.add.acc::f16(.v2|.v4|.v8)(.e4m3x2|.e5m2x2)", 8.6, "100a"
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}.add.acc::f16(.v2|.v4|.v8)(.e4m3x2|.e5m2x2)", 8.6, "100a"
                / "multimem.ld_reduce{.weak}{.global}.add.acc::f16(.v4|.v8)(.e4m3|.e5m2)", 8.6, "100a"
                / "multimem.ld_reduce(.relaxed|.acquire)<scope>{.global}.add.acc::f16(.v4|.v8)(.e4m3|.e5m2)", 8.6, "100a",
                Memory, Load, "9.7.9.14";
            /// Value at a multicast address, in each device's memory, = b.
            multimem_st: "multimem.st{.weak}{.global}(.b32|.b64|.u32|.u64|.s32|.s64|.f64) [a], b:vector", 8.1, 90
                / "multimem.st(.relaxed|.release)<scope>{.global}(.b32|.b64|.u32|.u64|.s32|.s64|.f64)", 8.1, 90
                / "multimem.st{.weak}{.global}{.v2|.v4}(.f32|.f16x2|.bf16x2)", 8.1, 90
                / "multimem.st(.relaxed|.release)<scope>{.global}{.v2|.v4}(.f32|.f16x2|.bf16x2)", 8.1, 90
                / "multimem.st{.weak}{.global}(.v2|.v4|.v8)(.f16|.bf16)", 8.1, 90
                / "multimem.st(.relaxed|.release)<scope>{.global}(.v2|.v4|.v8)(.f16|.bf16)", 8.1, 90
                / "multimem.st{.weak}{.global}{.v2|.v4}(.e4m3x4|.e5m2x4)", 8.6, "100a"
                / "multimem.st(.relaxed|.release)<scope>{.global}{.v2|.v4}(.e4m3x4|.e5m2x4)", 8.6, "100a"
                / "multimem.st{.weak}{.global}(.v2|.v4|.v8)(.e4m3x2|.e5m2x2)", 8.6, "100a"
                / "multimem.st(.relaxed|.release)<scope>{.global}(.v2|.v4|.v8)(.e4m3x2|.e5m2x2)", 8.6, "100a"
                / "multimem.st{.weak}{.global}(.v4|.v8)(.e4m3|.e5m2)", 8.6, "100a"
                / "multimem.st(.relaxed|.release)<scope>{.global}(.v4|.v8)(.e4m3|.e5m2)", 8.6, "100a",
                Memory, Store, "9.7.9.14";
            /// Value at a multicast address, in each device's memory, combined with b.
            multimem_red: "multimem.red{.global}(.and|.or|.xor)(.b32|.b64) [a], b", 8.1, 90
                / "multimem.red(.relaxed|.release)<scope>{.global}(.and|.or|.xor)(.b32|.b64)", 8.1, 90
                / "multimem.red{.global}(.min|.max)(.u32|.s32|.u64|.s64)", 8.1, 90
                / "multimem.red(.relaxed|.release)<scope>{.global}(.min|.max)(.u32|.s32|.u64|.s64)", 8.1, 90
                / "multimem.red{.global}.add(.u32|.s32|.u64)", 8.1, 90
                / "multimem.red(.relaxed|.release)<scope>{.global}.add(.u32|.s32|.u64)", 8.1, 90,
                Memory, Atomic, "9.7.9.14";
            /// Floating-point value at a multicast address, in each device's memory, combined with b.
            multimem_red_float: "multimem.red{.global}.add(.f64|.f16x2|.bf16x2) [a], b:vector", 8.1, 90
                / "multimem.red(.relaxed|.release)<scope>{.global}.add(.f64|.f16x2|.bf16x2)", 8.1, 90
                / "multimem.red{.global}.add{.v2|.v4}.f32", 8.1, 90
                / "multimem.red(.relaxed|.release)<scope>{.global}.add{.v2|.v4}.f32", 8.1, 90
                / "multimem.red{.global}(.add|.min|.max)(.v2|.v4)(.f16x2|.bf16x2)", 8.1, 90
                / "multimem.red(.relaxed|.release)<scope>{.global}(.add|.min|.max)(.v2|.v4)(.f16x2|.bf16x2)", 8.1, 90
                / "multimem.red{.global}(.add|.min|.max)(.v2|.v4|.v8)(.f16|.bf16)", 8.1, 90
                / "multimem.red(.relaxed|.release)<scope>{.global}(.add|.min|.max)(.v2|.v4|.v8)(.f16|.bf16)", 8.1, 90,
                Memory, Atomic, "9.7.9.14";
            /// Prefetches a line; values are unaffected.
            prefetch: "prefetch{.global|.local}(.L1|.L2) [a]", 2.0, 20
                / "prefetch{.global}.L1::32B.valid_addr", 9.4, 90,
                Memory, Pure, "9.7.9.15";
            /// Prefetches a line with an eviction priority; values are unaffected.
            prefetch_evict: "prefetch{.global}(.L2::evict_last|.L2::evict_normal) [a]", 7.4, 80, Memory, Pure, "9.7.9.15";
            /// Prefetches a line into the uniform cache; values are unaffected.
            prefetchu: "prefetchu.L1 [a]", 2.0, 20, Memory, Pure, "9.7.9.15";
            /// Prefetches a tensor map; values are unaffected.
            prefetch_tensormap: "prefetch{.const|.param}.tensormap [a]", 8.0, 90, Memory, Pure, "9.7.9.15";
            /// Sets the eviction priority of 128 bytes; values are unaffected.
            applypriority: "applypriority{.global}.L2::evict_normal [a], b:u32", 7.4, 80, Memory, Pure, "9.7.9.16";
            /// Discards 128 bytes, whose values become undefined; here they are kept.
            discard: "discard{.global}.L2 [a], b:u32", 7.4, 80, Memory, Pure, "9.7.9.17";
            /// d = a cache policy, with a priority for a part of the accesses.
            createpolicy_fractional: "createpolicy.fractional<l2_priority>{<l2_secondary>}.b64 d{, a:f32}", 7.4, 80, Memory, Pure, "9.7.9.18";
            /// d = a cache policy, with a priority for a range of addresses.
            createpolicy_range: "createpolicy.range{.global}<l2_priority>{<l2_secondary>}.b64 d, [a], b:u32, c:u32", 7.4, 80, Memory, Pure, "9.7.9.18";
            /// d = the cache policy for an access property.
            createpolicy_cvt: "createpolicy.cvt.L2.b64 d, a", 7.4, 80, Memory, Pure, "9.7.9.18";
            /// d = address in CTA b of the cluster that corresponds to a.
            mapa: "mapa{.shared::cluster}(.u32|.u64|.s32|.s64) d, a, b:u32", 7.8, 90, Integer, Pure, "9.7.9.24";
            /// d = cluster rank of the CTA that owns the address.
            getctarank: "getctarank{.shared::cluster}(.u32|.u64|.s32|.s64) d:u32, a", 7.8, 90, Integer, Pure, "9.7.9.25";
            /// Copies c bytes from global to shared memory; bytes from the e-th on become 0.
            cp_async: "cp.async(.ca|.cg)(.shared|.shared::cta).global{<l2_prefetch>} [a], [b], c:u32{, e:u32}", 7.0, 80, Memory, Store, "9.7.9.26.3";
            /// As cp_async, with a cache policy.
            cp_async_hint: "cp.async(.ca|.cg)(.shared|.shared::cta).global.L2::cache_hint{<l2_prefetch>} [a], [b], c:u32{, e:u32}, f:b64", 7.4, 80, Memory, Store, "9.7.9.26.3";
            /// Copies c bytes from global to shared memory; zeros instead if e.
            cp_async_ignore: "cp.async(.ca|.cg)(.shared|.shared::cta).global{<l2_prefetch>} [a], [b], c:u32, e:pred", 7.5, 80, Memory, Store, "9.7.9.26.3";
            /// As cp_async_ignore, with a cache policy.
            cp_async_ignore_hint: "cp.async(.ca|.cg)(.shared|.shared::cta).global.L2::cache_hint{<l2_prefetch>} [a], [b], c:u32, e:pred, f:b64", 7.5, 80, Memory, Store, "9.7.9.26.3";
            /// Forms a group of the copies since the last one.
            cp_async_commit_group: "cp.async.commit_group", 7.0, 80, Memory, Pure, "9.7.9.26.3";
            /// Waits until at most a groups of copies are outstanding.
            cp_async_wait_group: "cp.async.wait_group a:u32", 7.0, 80, Memory, Pure, "9.7.9.26.3";
            /// Waits for all copies.
            cp_async_wait_all: "cp.async.wait_all", 7.0, 80, Memory, Pure, "9.7.9.26.3";
            /// Copies c bytes from global to shared memory, as transactions of barrier e.
            cp_async_bulk_load: "cp.async.bulk{.weak@9.3:90}(.shared::cluster|.shared::cta@8.6:90).global.mbarrier::complete_tx::bytes{.L2::cache_hint} [a], [b], c:u32, [e]{, f:b64}", 8.0, 90
                / "cp.async.bulk.relaxed<scope>.shared::cta.global.mbarrier::complete_tx::bytes{.L2::cache_hint}.b128", 9.3, 90
                / "cp.async.bulk.relaxed<scope>.shared::cluster.global.mbarrier::complete_tx::bytes{.L2::cache_hint}.b128", 9.3, "90a",
                Memory, Store, "9.7.9.26.4";
            /// As cp_async_bulk_load, without the first e and the last f bytes.
            cp_async_bulk_load_inside: "cp.async.bulk{.weak@9.3:90}.shared::cta.global.mbarrier::complete_tx::bytes{.L2::cache_hint}.ignore_oob [a], [b], c:u32, e:u32, f:u32, [g]{, h:b64}", 9.2, 90
                / "cp.async.bulk.relaxed<scope>.shared::cta.global.mbarrier::complete_tx::bytes{.L2::cache_hint}.ignore_oob.b128", 9.3, 90,
                Memory, Store, "9.7.9.26.4";
            /// As cp_async_bulk_load, to the CTAs of the cluster set in f.
            cp_async_bulk_multicast: "cp.async.bulk{.weak@9.3:90}.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster{.L2::cache_hint} [a], [b], c:u32, [e], f:b16{, g:b64}", 8.0, 90
                / "cp.async.bulk.relaxed<scope>.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster{.L2::cache_hint}.b128", 9.3, "90a",
                Memory, Store, "9.7.9.26.4";
            /// Copies c bytes within the shared memory of a cluster, as transactions of barrier e.
            cp_async_bulk_shared: "cp.async.bulk{.weak@9.3:90}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [a], [b], c:u32, [e]", 8.0, 90
                / "cp.async.bulk.relaxed(.cta|.cluster).shared::cluster.shared::cta.mbarrier::complete_tx::bytes.b128", 9.3, 90,
                Memory, Store, "9.7.9.26.4";
            /// Copies c bytes from shared to global memory.
            cp_async_bulk_store: "cp.async.bulk{.weak@9.3:90}.global.shared::cta.bulk_group{.L2::cache_hint} [a], [b], c:u32{, f:b64}", 8.0, 90
                / "cp.async.bulk.relaxed<scope>.global.shared::cta.bulk_group{.L2::cache_hint}.b128", 9.3, 90,
                Memory, Store, "9.7.9.26.4";
            /// As cp_async_bulk_store, for bytes whose position modulo 16 is set in e.
            cp_async_bulk_store_masked: "cp.async.bulk{.weak@9.3:90}.global.shared::cta.bulk_group.cp_mask [a], [b], c:u32, e:b16", 8.6, 100
                / "cp.async.bulk.relaxed<scope>.global.shared::cta.bulk_group.cp_mask.b128", 9.3, 100,
                Memory, Store, "9.7.9.26.4";
            /// As cp_async_bulk_store_masked, with a cache policy.
            cp_async_bulk_store_masked_hint: "cp.async.bulk{.weak@9.3:90}.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [a], [b], c:u32, f:b64, e:b16", 8.6, 100
                / "cp.async.bulk.relaxed<scope>.global.shared::cta.bulk_group.L2::cache_hint.cp_mask.b128", 9.3, 100,
                Memory, Store, "9.7.9.26.4";
            /// Copies c bytes from shared memory to a multicast address, into each device's memory.
            multimem_cp_async_bulk: "multimem.cp.async.bulk{.weak@9.3:90}.global.shared::cta.bulk_group [a], [b], c:u32", 9.1, 90
                / "multimem.cp.async.bulk.relaxed<scope>.global.shared::cta.bulk_group.b128", 9.3, 90,
                Memory, Store, "9.7.9.26.4";
            /// As multimem_cp_async_bulk, for bytes whose position modulo 16 is set in e.
            multimem_cp_async_bulk_masked: "multimem.cp.async.bulk{.weak@9.3:90}.global.shared::cta.bulk_group.cp_mask [a], [b], c:u32, e:b16", 9.1, 100
                / "multimem.cp.async.bulk.relaxed<scope>.global.shared::cta.bulk_group.cp_mask.b128", 9.3, 100,
                Memory, Store, "9.7.9.26.4";
            /// Combines c bytes of elements at a multicast address, in each device's memory, with elements
            /// in shared memory.
            multimem_cp_reduce_async_bulk: "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group(.and|.or|.xor)(.b32|.b64) [a], [b], c:u32", 9.1, 90
                / "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add(.u32|.s32|.u64|.f32|.f64)", 9.1, 90
                / "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group(.inc|.dec).u32", 9.1, 90
                / "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group(.min|.max)(.f16|.bf16|.u32|.s32|.u64|.s64)", 9.1, 90
                / "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz(.f16|.bf16|.f32@9.4:90)", 9.1, 90
                / "multimem.cp.reduce.async.bulk.relaxed<scope>.global.shared::cta.bulk_group(.and|.or|.xor)(.b32|.b64)", 9.3, 90
                / "multimem.cp.reduce.async.bulk.relaxed<scope>.global.shared::cta.bulk_group.add(.u32|.s32|.u64|.f32|.f64)", 9.3, 90
                / "multimem.cp.reduce.async.bulk.relaxed<scope>.global.shared::cta.bulk_group(.inc|.dec).u32", 9.3, 90
                / "multimem.cp.reduce.async.bulk.relaxed<scope>.global.shared::cta.bulk_group(.min|.max)(.f16|.bf16|.u32|.s32|.u64|.s64)", 9.3, 90
                / "multimem.cp.reduce.async.bulk.relaxed<scope>.global.shared::cta.bulk_group.add.noftz(.f16|.bf16|.f32@9.4:90)", 9.3, 90,
                Memory, Atomic, "9.7.9.26.4";
            /// Combines c bytes of elements in global memory with elements in shared memory.
            cp_reduce_async_bulk: "cp.reduce.async.bulk{.relaxed@9.3:90}{<scope>}.global.shared::cta.bulk_group{.L2::cache_hint}(.and|.or|.xor)(.b32|.b64) [a], [b], c:u32{, f:b64}", 8.0, 90
                / "cp.reduce.async.bulk{.relaxed@9.3:90}{<scope>}.global.shared::cta.bulk_group{.L2::cache_hint}.add(.u32|.s32|.u64|.f32|.f64)", 8.0, 90
                / "cp.reduce.async.bulk{.relaxed@9.3:90}{<scope>}.global.shared::cta.bulk_group{.L2::cache_hint}(.inc|.dec).u32", 8.0, 90
                / "cp.reduce.async.bulk{.relaxed@9.3:90}{<scope>}.global.shared::cta.bulk_group{.L2::cache_hint}(.min|.max)(.f16|.bf16|.u32|.s32|.u64|.s64)", 8.0, 90
                / "cp.reduce.async.bulk{.relaxed@9.3:90}{<scope>}.global.shared::cta.bulk_group{.L2::cache_hint}.add.noftz(.f16|.bf16|.f32@9.4:90)", 8.0, 90,
                Memory, Atomic, "9.7.9.26.4";
            /// Combines c bytes of elements within the shared memory of a cluster, as transactions of
            /// barrier e.
            cp_reduce_async_bulk_shared: "cp.reduce.async.bulk{.relaxed@9.3:90}{.cta@9.3:90|.cluster@9.3:90}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes(.and|.or|.xor).b32 [a], [b], c:u32, [e]", 8.0, 90
                / "cp.reduce.async.bulk{.relaxed@9.3:90}{.cta@9.3:90|.cluster@9.3:90}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add(.u32|.s32|.u64)", 8.0, 90
                / "cp.reduce.async.bulk{.relaxed@9.3:90}{.cta@9.3:90|.cluster@9.3:90}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes(.inc|.dec).u32", 8.0, 90
                / "cp.reduce.async.bulk{.relaxed@9.3:90}{.cta@9.3:90|.cluster@9.3:90}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes(.min|.max)(.u32|.s32)", 8.0, 90,
                Memory, Atomic, "9.7.9.26.4";
            /// Prefetches b bytes; values are unaffected.
            cp_async_bulk_prefetch: "cp.async.bulk.prefetch.L2.global{.L2::cache_hint} [a], b:u32{, c:b64}", 8.0, 90, Memory, Pure, "9.7.9.26.4";
            /// Copies the box of a tensor at b to shared memory at a, as transactions of barrier c.
            cp_async_bulk_tensor: "cp.async.bulk.tensor<tensor_geometry>(.shared::cluster|.shared::cta@8.6:90).global{.tile}.mbarrier::complete_tx::bytes{<cta_group>}{.L2::cache_hint} [a], [b:tensor], [c]{, f:b64}", 8.0, 90
                / "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes{<cta_group>}{.L2::cache_hint}", 8.6, 100
                / "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes{<cta_group>}{.L2::cache_hint}", 8.6, "100a",
                Memory, Store, "9.7.9.26.5";
            /// As cp_async_bulk_tensor, to the CTAs of the cluster set in e.
            cp_async_bulk_tensor_multicast: "cp.async.bulk.tensor<tensor_geometry>.shared::cluster.global{.tile}.mbarrier::complete_tx::bytes.multicast::cluster{<cta_group>}{.L2::cache_hint} [a], [b:tensor], [c], e:b16{, f:b64}", 8.0, 90
                / "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes.multicast::cluster{<cta_group>}{.L2::cache_hint}", 8.6, "100a",
                Memory, Store, "9.7.9.26.5";
            /// Copies pixels of a tensor from b on, each shifted by e, to shared memory at a, as
            /// transactions of barrier c.
            cp_async_bulk_tensor_image: "cp.async.bulk.tensor<image_geometry>(.shared::cluster|.shared::cta@8.6:90).global.im2col.mbarrier::complete_tx::bytes{<cta_group>}{.L2::cache_hint} [a], [b:tensor], [c], e:pixel_offsets{, f:b64}", 8.0, 90, Memory, Store, "9.7.9.26.5";
            /// As cp_async_bulk_tensor_image, to the CTAs of the cluster set in g.
            cp_async_bulk_tensor_image_multicast: "cp.async.bulk.tensor<image_geometry>.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster{<cta_group>}{.L2::cache_hint} [a], [b:tensor], [c], e:pixel_offsets, g:b16{, f:b64}", 8.0, 90, Memory, Store, "9.7.9.26.5";
            /// Copies shared memory at b to the box of a tensor, or to its pixels, at a.
            cp_async_bulk_tensor_store: "cp.async.bulk.tensor<tensor_geometry>.global.shared::cta{.tile}.bulk_group{.L2::cache_hint} [a:tensor], [b]{, f:b64}", 8.0, 90
                / "cp.async.bulk.tensor<image_geometry>.global.shared::cta.im2col_no_offs.bulk_group{.L2::cache_hint}", 8.0, 90
                / "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group{.L2::cache_hint}", 8.6, "100a",
                Memory, Store, "9.7.9.26.5";
            /// Combines the box of a tensor at a, or its pixels, with elements in shared memory at b.
            cp_reduce_async_bulk_tensor: "cp.reduce.async.bulk.tensor<tensor_geometry>.global.shared::cta<bulk_operation>{.tile}.bulk_group{.L2::cache_hint} [a:tensor], [b]{, f:b64}", 8.0, 90
                / "cp.reduce.async.bulk.tensor<image_geometry>.global.shared::cta<bulk_operation>.im2col_no_offs.bulk_group{.L2::cache_hint}", 8.0, 90,
                Memory, Atomic, "9.7.9.26.5";
            /// Prefetches the box of a tensor; values are unaffected.
            cp_async_bulk_prefetch_tensor: "cp.async.bulk.prefetch.tensor<tensor_geometry>.L2.global{.tile}{.L2::cache_hint} [a:tensor]{, f:b64}", 8.0, 90
                / "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4{.L2::cache_hint}", 8.6, "100a",
                Memory, Pure, "9.7.9.26.5";
            /// Prefetches pixels of a tensor; values are unaffected.
            cp_async_bulk_prefetch_tensor_image: "cp.async.bulk.prefetch.tensor<image_geometry>.L2.global.im2col{.L2::cache_hint} [a:tensor], e:pixel_offsets{, f:b64}", 8.0, 90, Memory, Pure, "9.7.9.26.5";
            /// Address of the tensor of the map at a = b.
            tensormap_replace_address: "tensormap.replace.tile.global_address{<tensormap_space>}.b1024.b64 [a], b", 8.3, "90a", Memory, Store, "9.7.9.27";
            /// Stride in bytes of dimension b + 1 of the tensor map at a = c.
            tensormap_replace_stride: "tensormap.replace.tile.global_stride{<tensormap_space>}.b1024.b64 [a], b:u32, c", 8.3, "90a", Memory, Store, "9.7.9.27";
            /// Size, box or step of dimension b of the tensor map at a = c.
            tensormap_replace_dimension: "tensormap.replace.tile(.box_dim|.global_dim|.element_stride){<tensormap_space>}.b1024.b32 [a], b:u32, c", 8.3, "90a", Memory, Store, "9.7.9.27";
            /// Rank - 1, type, interleave, swizzle or fill of the tensor map at a = b.
            tensormap_replace_property: "tensormap.replace.tile(.rank|.elemtype|.interleave_layout|.swizzle_mode|.fill_mode|.swizzle_atomicity@8.6:100a){<tensormap_space>}.b1024.b32 [a], b", 8.3, "90a", Memory, Store, "9.7.9.27";
            /// Copies the tensor map of c bytes at b to global memory, before copies that use it.
            tensormap_cp_fenceproxy: "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release<scope>.sync.aligned [a], [b], c:u32", 8.3, 90, Memory, Store, "9.7.13.4";
            /// Forms a group of the bulk copies since the last one.
            cp_async_bulk_commit_group: "cp.async.bulk.commit_group", 8.0, 90, Memory, Pure, "9.7.9.26.4";
            /// Waits until at most a groups of bulk copies are outstanding, or still read.
            cp_async_bulk_wait_group: "cp.async.bulk.wait_group{.read} a:u32", 8.0, 90
                / "cp.async.bulk.wait_group.sync_restrict::proxy::async", 9.5, 90,
                Memory, Pure, "9.7.9.26.4";
            /// p = the generic address points into this space.
            isspacep: "isspacep(.const@3.1:20|.global|.local|.shared) p:pred, a:u64", 2.0, 20
                / "isspacep.shared::cta", 7.8, 30
                / "isspacep.shared::cluster", 7.8, 90
                / "isspacep.param", 7.7, 70
                / "isspacep.param::entry", 8.3, 70,
                Integer, Pure, "9.7.9.18";
            /// d = generic address of an address in this space.
            cvta: "cvta(.const@3.1:20|.global|.local|.shared).u64 d, a", 2.0, 20
                / "cvta.shared::cta.u64", 7.8, 30
                / "cvta.shared::cluster.u64", 7.8, 90
                / "cvta.param.u64", 7.7, 70
                / "cvta.param::entry.u64", 8.3, 70,
                Integer, Pure, "9.7.9.19";
            /// d = address in this space of a generic address.
            cvta_to: "cvta.to(.const@3.1:20|.global|.local|.shared).u64 d, a", 2.0, 20
                / "cvta.to.shared::cta.u64", 7.8, 30
                / "cvta.to.shared::cluster.u64", 7.8, 90
                / "cvta.to.param.u64", 7.7, 70
                / "cvta.to.param::entry.u64", 8.3, 70,
                Integer, Pure, "9.7.9.19";
            /// d = address in local memory of a bytes, aligned to b, allocated until the function returns.
            alloca: "alloca(.u32|.u64) d, a{, b:u32}", 7.3, 52, Integer, Volatile, "9.7.17.3";
            /// d = the stack pointer.
            stacksave: "stacksave(.u32|.u64) d", 7.3, 52, Integer, Volatile, "9.7.17.1";
            /// The stack pointer = a.
            stackrestore: "stackrestore(.u32|.u64) a", 7.3, 52, Integer, Volatile, "9.7.17.2";
        ] }
    };
}
