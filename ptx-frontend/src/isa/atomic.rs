//! Atomic operations on memory.

/// The lines of this group: `atomic_ops! { callback … }` expands to `callback! { … [ lines ] }`.
#[macro_export]
macro_rules! atomic_ops {
    ($callback:ident $($before:tt)*) => {
        $callback! { $($before)* [
            /// d = value at the address, replaced by its bitwise combination with b, or by b (exchange).
            atom_bits: "atom{.relaxed|.acquire|.release|.acq_rel}{<scope>}{.global|.shared|.shared::cta|.shared::cluster}(.and|.or|.xor|.exch){.L2::cache_hint}(.b32|.b64) d, [a], b{, e:b64}", 1.1, 11, Memory, Atomic, "9.7.13.5";
            /// d = value at the address, replaced by c if it equals b.
            atom_cas: "atom{.relaxed|.acquire|.release|.acq_rel}{<scope>}{.global|.shared|.shared::cta|.shared::cluster}.cas{.L2::cache_hint}(.b16|.b32|.b64|.b128) d, [a], b, c{, e:b64}", 1.1, 11, Memory, Atomic, "9.7.13.5";
            /// d = value at the address, replaced by its sum, minimum, or maximum with b.
            atom_integer: "atom{.relaxed|.acquire|.release|.acq_rel}{<scope>}{.global|.shared|.shared::cta|.shared::cluster}(.add|.min|.max){.L2::cache_hint}(.u32|.s32|.u64|.s64) d, [a], b{, e:b64}", 1.1, 11, Memory, Atomic, "9.7.13.5";
            /// d = value at the address, counted up or down with wrap at b.
            atom_count: "atom{.relaxed|.acquire|.release|.acq_rel}{<scope>}{.global|.shared|.shared::cta|.shared::cluster}(.inc|.dec){.L2::cache_hint}.u32 d, [a], b{, e:b64}", 1.1, 11, Memory, Atomic, "9.7.13.5";
            /// d = value at the address, replaced by its sum with b.
            atom_float: "atom{.relaxed|.acquire|.release|.acq_rel}{<scope>}{.global|.shared|.shared::cta|.shared::cluster}.add{.noftz}{.L2::cache_hint}(.f16|.f16x2|.bf16|.bf16x2|.f32|.f64) d, [a], b{, e:b64}", 2.0, 20, Memory, Atomic, "9.7.13.5";
            /// Value at the address combined bitwise with b, no answer.
            red_bits: "red{.relaxed|.release}{<scope>}{.global|.shared|.shared::cta|.shared::cluster}(.and|.or|.xor){.L2::cache_hint}(.b32|.b64) [a], b{, e:b64}", 1.2, 11, Memory, Atomic, "9.7.13.6";
            /// Value at the address replaced by its sum, minimum, or maximum with b, no answer.
            red_integer: "red{.relaxed|.release}{<scope>}{.global|.shared|.shared::cta|.shared::cluster}(.add|.min|.max){.L2::cache_hint}(.u32|.s32|.u64|.s64) [a], b{, e:b64}", 1.2, 11, Memory, Atomic, "9.7.13.6";
            /// Value at the address counted up or down with wrap at b, no answer.
            red_count: "red{.relaxed|.release}{<scope>}{.global|.shared|.shared::cta|.shared::cluster}(.inc|.dec){.L2::cache_hint}.u32 [a], b{, e:b64}", 1.2, 11, Memory, Atomic, "9.7.13.6";
            /// Value at the address replaced by its sum with b, no answer.
            red_float: "red{.relaxed|.release}{<scope>}{.global|.shared|.shared::cta|.shared::cluster}.add{.noftz}{.L2::cache_hint}(.f16|.f16x2|.bf16|.bf16x2|.f32|.f64) [a], b{, e:b64}", 2.0, 20, Memory, Atomic, "9.7.13.6";
        ] }
    };
}
