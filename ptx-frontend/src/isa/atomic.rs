//! Atomic operations on memory.

/// Lines of this group: `atomic_ops! { callback … }` expands to `callback! { … [ lines ] }`.
#[macro_export]
macro_rules! atomic_ops {
    ($callback:ident $($before:tt)*) => {
        $callback! { $($before)* [
            /// d = value at the address, replaced by its bitwise combination with b, or by b (exchange).
            atom_bits: "atom{<atomic_order>}{<scope>}{<atomic_space>}(.and|.or|.xor|.exch)(.b32|.b64) d, [a], b{, e:b64}", 1.1, 11
                / "atom{<atomic_order>}{<scope>}{.global}(.and|.or|.xor|.exch).L2::cache_hint(.b32|.b64)", 7.4, 80,
                Memory, Atomic, "9.7.13.5";
            /// d = value at the address, replaced by c if it equals b.
            atom_cas: "atom{<atomic_order>}{<scope>}{<atomic_space>}.cas(.b16@6.3:70|.b32|.b64) d, [a], b, c", 1.1, 11, Memory, Atomic, "9.7.13.5";
            /// d = 128 bits at the address, replaced by b.
            atom_exch_128: "atom{<atomic_order>}{.cta|.cluster|.gpu|.sys@8.4:90}{<atomic_space>}.exch.b128 d, [a], b{, e:b64}", 8.3, 90
                / "atom{<atomic_order>}{.cta|.cluster|.gpu|.sys@8.4:90}{.global}.exch.L2::cache_hint.b128", 8.3, 90,
                Memory, Atomic, "9.7.13.5";
            /// d = 128 bits at the address, replaced by c if they equal b.
            atom_cas_128: "atom{<atomic_order>}{.cta|.cluster|.gpu|.sys@8.4:90}{<atomic_space>}.cas.b128 d, [a], b, c", 8.3, 90, Memory, Atomic, "9.7.13.5";
            /// d = value at the address, replaced by its sum, minimum, or maximum with b.
            atom_integer: "atom{<atomic_order>}{<scope>}{<atomic_space>}(.min|.max)(.u32|.s32|.u64|.s64) d, [a], b{, e:b64}", 1.1, 11
                / "atom{<atomic_order>}{<scope>}{.global}(.min|.max).L2::cache_hint(.u32|.s32|.u64|.s64)", 7.4, 80
                / "atom{<atomic_order>}{<scope>}{<atomic_space>}.add(.u32|.s32|.u64)", 1.1, 11
                / "atom{<atomic_order>}{<scope>}{.global}.add.L2::cache_hint(.u32|.s32|.u64)", 7.4, 80,
                Memory, Atomic, "9.7.13.5";
            /// d = value at the address, counted up or down with wrap at b.
            atom_count: "atom{<atomic_order>}{<scope>}{<atomic_space>}(.inc|.dec).u32 d, [a], b{, e:b64}", 1.1, 11
                / "atom{<atomic_order>}{<scope>}{.global}(.inc|.dec).L2::cache_hint.u32", 7.4, 80,
                Memory, Atomic, "9.7.13.5";
            /// d = value at the address, replaced by its sum with b.
            atom_float: "atom{<atomic_order>}{<scope>}{<atomic_space>}.add(.f32|.f64@5.0:60) d, [a], b{, e:b64}", 2.0, 20
                / "atom{<atomic_order>}{<scope>}{.global}.add.L2::cache_hint(.f32|.f64)", 7.4, 80
                / "atom{<atomic_order>}{<scope>}{<atomic_space>}.add.noftz(.f16@6.3:70|.f16x2|.bf16@7.8:90|.bf16x2@7.8:90|.f32@9.4:90)", 6.2, 60
                / "atom{<atomic_order>}{<scope>}{.global}.add.noftz.L2::cache_hint(.f16|.f16x2|.bf16@7.8:90|.bf16x2@7.8:90|.f32@9.4:90)", 7.4, 80,
                Memory, Atomic, "9.7.13.5";
            /// d = elements at the address, each replaced by its sum with the element of b.
            atom_singles: "atom{<atomic_order>}{<scope>}{.global}.add{.noftz@9.4:90}{.L2::cache_hint@7.4:80}(.v2|.v4).f32 d:vector, [a], b:vector{, e:b64}", 8.1, 90, Memory, Atomic, "9.7.13.5";
            /// d = elements at the address, each replaced by its sum, minimum or maximum with b's element.
            atom_halves: "atom{<atomic_order>}{<scope>}{.global}(.add|.min|.max).noftz{.L2::cache_hint@7.4:80}(.v2|.v4|.v8)(.f16|.bf16) d:vector, [a], b:vector{, e:b64}", 8.1, 90, Memory, Atomic, "9.7.13.5";
            /// d = elements at the address, each replaced by its sum, minimum or maximum with b's element.
            atom_pairs: "atom{<atomic_order>}{<scope>}{.global}(.add|.min|.max).noftz{.L2::cache_hint@7.4:80}(.v2|.v4)(.f16x2|.bf16x2) d:vector, [a], b:vector{, e:b64}", 8.1, 90, Memory, Atomic, "9.7.13.5";
            /// Value at the address combined bitwise with b, without a result.
            red_bits: "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{<atomic_space>}(.and|.or|.xor)(.b32|.b64) [a], b{, e:b64}", 1.2, 11
                / "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{.global}(.and|.or|.xor).L2::cache_hint(.b32|.b64)", 7.4, 80,
                Memory, Atomic, "9.7.13.6";
            /// Value at the address replaced by its sum, minimum, or maximum with b, without a result.
            red_integer: "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{<atomic_space>}(.min|.max)(.u32|.s32|.u64|.s64) [a], b{, e:b64}", 1.2, 11
                / "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{.global}(.min|.max).L2::cache_hint(.u32|.s32|.u64|.s64)", 7.4, 80
                / "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{<atomic_space>}.add(.u32|.s32|.u64)", 1.2, 11
                / "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{.global}.add.L2::cache_hint(.u32|.s32|.u64)", 7.4, 80,
                Memory, Atomic, "9.7.13.6";
            /// Value at the address counted up or down with wrap at b, without a result.
            red_count: "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{<atomic_space>}(.inc|.dec).u32 [a], b{, e:b64}", 1.2, 11
                / "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{.global}(.inc|.dec).L2::cache_hint.u32", 7.4, 80,
                Memory, Atomic, "9.7.13.6";
            /// Value at the address replaced by its sum with b, without a result.
            red_float: "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{<atomic_space>}.add(.f32|.f64@5.0:60) [a], b{, e:b64}", 2.0, 20
                / "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{.global}.add.L2::cache_hint(.f32|.f64)", 7.4, 80
                / "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{<atomic_space>}.add.noftz(.f16@6.3:70|.f16x2|.bf16@7.8:90|.bf16x2@7.8:90|.f32@9.4:90)", 6.2, 60
                / "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{.global}.add.noftz.L2::cache_hint(.f16|.f16x2|.bf16@7.8:90|.bf16x2@7.8:90|.f32@9.4:90)", 7.4, 80,
                Memory, Atomic, "9.7.13.6";
            /// Elements at the address, each replaced by its sum with the element of b, without a result.
            red_singles: "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{.global}.add{.noftz@9.4:90}{.L2::cache_hint@7.4:80}(.v2|.v4).f32 [a], b:vector{, e:b64}", 8.1, 90, Memory, Atomic, "9.7.13.6";
            /// Elements at the address, each replaced by its sum, minimum or maximum with b's element.
            red_halves: "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{.global}(.add|.min|.max).noftz{.L2::cache_hint@7.4:80}(.v2|.v4|.v8)(.f16|.bf16) [a], b:vector{, e:b64}", 8.1, 90, Memory, Atomic, "9.7.13.6";
            /// Elements at the address, each replaced by its sum, minimum or maximum with b's element.
            red_pairs: "red{.relaxed@6.0:70|.release@6.0:70}{<scope>}{.global}(.add|.min|.max).noftz{.L2::cache_hint@7.4:80}(.v2|.v4)(.f16x2|.bf16x2) [a], b:vector{, e:b64}", 8.1, 90, Memory, Atomic, "9.7.13.6";
            /// Value in shared memory combined bitwise with b; completes as many transactions of barrier c
            /// as the value has bytes.
            red_async_bits: "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes(.and|.or|.xor).b32 [a], b, [c]", 8.1, 90, Memory, Atomic, "9.7.13.7";
            /// Value in shared memory replaced by its sum, minimum, or maximum with b; completes
            /// transactions of barrier c.
            red_async_integer: "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes(.add|.min|.max)(.u32|.s32) [a], b, [c]", 8.1, 90, Memory, Atomic, "9.7.13.7";
            /// Value in shared memory replaced by its sum with b; completes transactions of barrier c.
            red_async_wide: "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.add(.u64|.s64) [a], b, [c]", 8.1, 90, Memory, Atomic, "9.7.13.7";
            /// Value in shared memory counted up or down with wrap at b; completes transactions of barrier
            /// c.
            red_async_count: "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes(.inc|.dec).u32 [a], b, [c]", 8.1, 90, Memory, Atomic, "9.7.13.7";
            /// Value in global memory combined bitwise with b, after all earlier accesses.
            red_async_release_bits: "red.async.release(.gpu|.sys){.global}(.and|.or|.xor).b32 [a], b", 8.7, 100
                / "red.async.mmio.release.sys{.global}(.and|.or|.xor).b32", 8.7, 100,
                Memory, Atomic, "9.7.13.7";
            /// Value in global memory replaced by its sum, minimum or maximum with b, after earlier accesses.
            red_async_release_integer: "red.async.release(.gpu|.sys){.global}(.add|.min|.max)(.u32|.s32) [a], b", 8.7, 100
                / "red.async.mmio.release.sys{.global}(.add|.min|.max)(.u32|.s32)", 8.7, 100,
                Memory, Atomic, "9.7.13.7";
            /// Value in global memory replaced by its sum with b, after all earlier accesses.
            red_async_release_wide: "red.async.release(.gpu|.sys){.global}.add(.u64|.s64) [a], b", 8.7, 100
                / "red.async.mmio.release.sys{.global}.add(.u64|.s64)", 8.7, 100,
                Memory, Atomic, "9.7.13.7";
            /// Value in global memory counted up or down with wrap at b, after all earlier accesses.
            red_async_release_count: "red.async.release(.gpu|.sys){.global}(.inc|.dec).u32 [a], b", 8.7, 100
                / "red.async.mmio.release.sys{.global}(.inc|.dec).u32", 8.7, 100,
                Memory, Atomic, "9.7.13.7";
        ] }
    };
}
