//! Matrix multiplication by a warp, and loads and stores of fragments.

/// Lines of this group: `matrix_ops! { callback … }` expands to `callback! { … [ lines ] }`.
#[macro_export]
macro_rules! matrix_ops {
    ($callback:ident $($before:tt)*) => {
        $callback! { $($before)* [
            /// d = fragment of A or B, of binary16 numbers at the address.
            wmma_load: "wmma.load(.a|.b).sync{.aligned@6.3:70}(.row|.col)<wmma_shape>{<matrix_space>}.f16 d:fragment, [a]{, s:b32}", 6.0, 70, Memory, Load, "9.7.14.4.3";
            /// d = fragment of C, of floating-point numbers at the address.
            wmma_load_c: "wmma.load.c.sync{.aligned@6.3:70}(.row|.col)<wmma_shape>{<matrix_space>}(.f16|.f32) d:fragment, [a]{, s:b32}", 6.0, 70, Memory, Load, "9.7.14.4.3";
            /// Value at the address = fragment of D, floating-point numbers.
            wmma_store: "wmma.store.d.sync{.aligned@6.3:70}(.row|.col)<wmma_shape>{<matrix_space>}(.f16|.f32) [a], b:fragment{, s:b32}", 6.0, 70, Memory, Store, "9.7.14.4.4";
            /// D = A * B + C, A and B of binary16 numbers.
            wmma_mma: "wmma.mma.sync{.aligned@6.3:70}(.row|.col)(.row|.col)<wmma_shape>(.f16|.f32)(.f16|.f32){.satfinite} d:fragment, a:fragment, b:fragment, c:fragment", 6.0, 70, Tensor, Convergent, "9.7.14.4.5";
            /// d = fragment of A or B, of bytes at the address.
            wmma_load_byte: "wmma.load(.a|.b).sync.aligned(.row|.col)<wmma_shape>{<matrix_space>}(.u8|.s8) d:fragment, [a]{, s:b32}", 6.3, 72, Memory, Load, "9.7.14.4.3";
            /// d = fragment of C, of integers at the address.
            wmma_load_c_integer: "wmma.load.c.sync.aligned(.row|.col)<wmma_shape>{<matrix_space>}.s32 d:fragment, [a]{, s:b32}", 6.3, 72, Memory, Load, "9.7.14.4.3";
            /// Value at the address = fragment of D, integers.
            wmma_store_integer: "wmma.store.d.sync.aligned(.row|.col)<wmma_shape>{<matrix_space>}.s32 [a], b:fragment{, s:b32}", 6.3, 72, Memory, Store, "9.7.14.4.4";
            /// D = A * B + C, A and B of unsigned bytes.
            wmma_mma_u8: "wmma.mma.sync.aligned(.row|.col)(.row|.col)<wmma_shape>.s32.u8.u8.s32{.satfinite} d:fragment, a:fragment, b:fragment, c:fragment", 6.3, 72, Tensor, Convergent, "9.7.14.4.5";
            /// D = A * B + C, A and B of signed bytes.
            wmma_mma_s8: "wmma.mma.sync.aligned(.row|.col)(.row|.col)<wmma_shape>.s32.s8.s8.s32{.satfinite} d:fragment, a:fragment, b:fragment, c:fragment", 6.3, 72, Tensor, Convergent, "9.7.14.4.5";
            /// d = fragment of A, of 4-bit integers at the address.
            wmma_load_a_nibble: "wmma.load.a.sync.aligned.row.m8n8k32{<matrix_space>}(.u4|.s4) d:fragment, [a]{, s:b32}", 6.3, 75, Memory, Load, "9.7.14.4.3";
            /// d = fragment of B, of 4-bit integers at the address.
            wmma_load_b_nibble: "wmma.load.b.sync.aligned.col.m8n8k32{<matrix_space>}(.u4|.s4) d:fragment, [a]{, s:b32}", 6.3, 75, Memory, Load, "9.7.14.4.3";
            /// d = fragment of A, of bits at the address.
            wmma_load_a_bit: "wmma.load.a.sync.aligned.row.m8n8k128{<matrix_space>}.b1 d:fragment, [a]{, s:b32}", 6.3, 75, Memory, Load, "9.7.14.4.3";
            /// d = fragment of B, of bits at the address.
            wmma_load_b_bit: "wmma.load.b.sync.aligned.col.m8n8k128{<matrix_space>}.b1 d:fragment, [a]{, s:b32}", 6.3, 75, Memory, Load, "9.7.14.4.3";
            /// d = fragment of C, of integers at the address.
            wmma_load_c_narrow: "wmma.load.c.sync.aligned(.row|.col)(.m8n8k32|.m8n8k128){<matrix_space>}.s32 d:fragment, [a]{, s:b32}", 6.3, 75, Memory, Load, "9.7.14.4.3";
            /// Value at the address = fragment of D, integers.
            wmma_store_narrow: "wmma.store.d.sync.aligned(.row|.col)(.m8n8k32|.m8n8k128){<matrix_space>}.s32 [a], b:fragment{, s:b32}", 6.3, 75, Memory, Store, "9.7.14.4.4";
            /// D = A * B + C, A and B of unsigned 4-bit integers.
            wmma_mma_u4: "wmma.mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32{.satfinite} d:fragment, a:fragment, b:fragment, c:fragment", 6.3, 75, Tensor, Convergent, "9.7.14.4.5";
            /// D = A * B + C, A and B of signed 4-bit integers.
            wmma_mma_s4: "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32{.satfinite} d:fragment, a:fragment, b:fragment, c:fragment", 6.3, 75, Tensor, Convergent, "9.7.14.4.5";
            /// D = number of bits set in the rows of A xor the columns of B, + C.
            wmma_mma_bit_xor: "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 d:fragment, a:fragment, b:fragment, c:fragment", 6.3, 75, Tensor, Convergent, "9.7.14.4.5";
            /// D = number of bits set in the rows of A and the columns of B, + C.
            wmma_mma_bit_and: "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 d:fragment, a:fragment, b:fragment, c:fragment", 7.1, 80, Tensor, Convergent, "9.7.14.4.5";
            /// d = fragment of A or B, of bfloat16 numbers at the address.
            wmma_load_bf16: "wmma.load(.a|.b).sync.aligned(.row|.col)<wmma_shape>{<matrix_space>}.bf16 d:fragment, [a]{, s:b32}", 7.0, 80, Memory, Load, "9.7.14.4.3";
            /// D = A * B + C, A and B of bfloat16 numbers.
            wmma_mma_bf16: "wmma.mma.sync.aligned(.row|.col)(.row|.col)<wmma_shape>.f32.bf16.bf16.f32 d:fragment, a:fragment, b:fragment, c:fragment", 7.0, 80, Tensor, Convergent, "9.7.14.4.5";
            /// d = fragment of A or B, of tf32 numbers at the address.
            wmma_load_tf32: "wmma.load(.a|.b).sync.aligned(.row|.col).m16n16k8{<matrix_space>}.tf32 d:fragment, [a]{, s:b32}", 7.0, 80, Memory, Load, "9.7.14.4.3";
            /// d = fragment of C, for tf32 products.
            wmma_load_c_tf32: "wmma.load.c.sync.aligned(.row|.col).m16n16k8{<matrix_space>}.f32 d:fragment, [a]{, s:b32}", 7.0, 80, Memory, Load, "9.7.14.4.3";
            /// Value at the address = fragment of D, from a tf32 product.
            wmma_store_tf32: "wmma.store.d.sync.aligned(.row|.col).m16n16k8{<matrix_space>}.f32 [a], b:fragment{, s:b32}", 7.0, 80, Memory, Store, "9.7.14.4.4";
            /// D = A * B + C, A and B of tf32 numbers.
            wmma_mma_tf32: "wmma.mma.sync.aligned(.row|.col)(.row|.col).m16n16k8.f32.tf32.tf32.f32 d:fragment, a:fragment, b:fragment, c:fragment", 7.0, 80, Tensor, Convergent, "9.7.14.4.5";
            /// d = fragment of A, B or C, of double-precision numbers at the address.
            wmma_load_f64: "wmma.load(.a|.b|.c).sync.aligned(.row|.col).m8n8k4{<matrix_space>}.f64 d:fragment, [a]{, s:b32}", 7.0, 80, Memory, Load, "9.7.14.4.3";
            /// Value at the address = fragment of D, double-precision numbers.
            wmma_store_f64: "wmma.store.d.sync.aligned(.row|.col).m8n8k4{<matrix_space>}.f64 [a], b:fragment{, s:b32}", 7.0, 80, Memory, Store, "9.7.14.4.4";
            /// D = A * B + C in double precision.
            wmma_mma_f64: "wmma.mma.sync.aligned(.row|.col)(.row|.col).m8n8k4{<round>}.f64.f64.f64.f64 d:fragment, a:fragment, b:fragment, c:fragment", 7.0, 80, Tensor, Convergent, "9.7.14.4.5";
            /// D = A * B + C in single precision, four times: each group of eight lanes multiplies its own
            /// matrices.
            mma_quad_pair: "mma.sync.aligned.m8n8k4(.row|.col)(.row|.col).f32.f16.f16(.f16|.f32) d:fragment, a:fragment, b:fragment, c:fragment", 6.4, 70, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C in half precision, four times: each group of eight lanes multiplies its own
            /// matrices.
            mma_quad_pair_f16: "mma.sync.aligned.m8n8k4(.row|.col)(.row|.col).f16.f16.f16.f16 d:fragment, a:fragment, b:fragment, c:fragment", 6.4, 70, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C in single precision, A and B of binary16 numbers.
            mma_f16_f32: "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 d:fragment, a:fragment, b:fragment, c:fragment", 6.5, 75, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C in half precision, A and B of binary16 numbers.
            mma_f16_f16: "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 d:fragment, a:fragment, b:fragment, c:fragment", 6.5, 75, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C in single precision, A and B of binary16 numbers.
            mma_f16_f32_k16: "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d:fragment, a:fragment, b:fragment, c:fragment", 7.0, 80, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C in half precision, A and B of binary16 numbers.
            mma_f16_f16_k16: "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 d:fragment, a:fragment, b:fragment, c:fragment", 7.0, 80, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C, A and B of bfloat16 numbers.
            mma_bf16: "mma.sync.aligned(.m16n8k8|.m16n8k16).row.col.f32.bf16.bf16.f32 d:fragment, a:fragment, b:fragment, c:fragment", 7.0, 80, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C, A and B of tf32 numbers.
            mma_tf32: "mma.sync.aligned(.m16n8k4|.m16n8k8).row.col.f32.tf32.tf32.f32 d:fragment, a:fragment, b:fragment, c:fragment", 7.0, 80, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C in single precision, A and B of 8-bit floats.
            mma_fp8_f32: "mma.sync.aligned(.m16n8k16@8.7:89|.m16n8k32).row.col.f32(.e4m3|.e5m2)(.e4m3|.e5m2).f32 d:fragment, a:fragment, b:fragment, c:fragment", 8.4, 89, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C in half precision, A and B of 8-bit floats.
            mma_fp8_f16: "mma.sync.aligned(.m16n8k16|.m16n8k32).row.col.f16(.e4m3|.e5m2)(.e4m3|.e5m2).f16 d:fragment, a:fragment, b:fragment, c:fragment", 8.7, 89, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C in single precision, A and B of 8-bit, 6-bit or 4-bit floats, a byte each.
            mma_narrow_f32: "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32<narrow_float><narrow_float>.f32 d:fragment, a:fragment, b:fragment, c:fragment", 8.7, "120a"
                / "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32(.e4m3|.e5m2)(.e4m3|.e5m2).f32", 8.6, "100a",
                Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C in half precision, A and B of 8-bit, 6-bit or 4-bit floats, a byte each.
            mma_narrow_f16: "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16<narrow_float><narrow_float>.f16 d:fragment, a:fragment, b:fragment, c:fragment", 8.7, "120a"
                / "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16(.e4m3|.e5m2)(.e4m3|.e5m2).f16", 8.7, "100a",
                Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C of 8-bit, 6-bit or 4-bit floats, with rows and columns scaled by e and g.
            mma_scaled: "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale{.scale_vec::1X}.f32<narrow_float><narrow_float>.f32.ue8m0 d:fragment, a:fragment, b:fragment, c:fragment, e:scale, f:selector, g:scale, h:selector", 8.7, "120a", Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C, A and B of 4-bit floats, each half of their rows and columns scaled by e and g.
            mma_scaled_halves: "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0 d:fragment, a:fragment, b:fragment, c:fragment, e:scale, f:selector, g:scale, h:selector", 8.7, "120a", Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C of 4-bit floats; halves or quarters of rows and columns scaled by e and g.
            mma_scaled_quarters: "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale(.scale_vec::2X|.scale_vec::4X@9.1:120a).f32.e2m1.e2m1.f32.ue8m0 d:fragment, a:fragment, b:fragment, c:fragment, e:scale, f:selector, g:scale, h:selector", 8.7, "120a"
                / "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 8.7, "120a",
                Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C in double precision.
            mma_f64: "mma.sync.aligned.m8n8k4.row.col{<round>}.f64.f64.f64.f64 d:fragment, a:fragment, b:fragment, c:fragment", 7.0, 80, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C in double precision.
            mma_f64_m16: "mma.sync.aligned(.m16n8k4|.m16n8k8|.m16n8k16).row.col{<round>}.f64.f64.f64.f64 d:fragment, a:fragment, b:fragment, c:fragment", 7.8, 90, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C, A and B of bytes.
            mma_byte: "mma.sync.aligned.m8n8k16.row.col{.satfinite}.s32(.u8|.s8)(.u8|.s8).s32 d:fragment, a:fragment, b:fragment, c:fragment", 6.5, 75, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C, A and B of bytes.
            mma_byte_m16: "mma.sync.aligned(.m16n8k16|.m16n8k32).row.col{.satfinite}.s32(.u8|.s8)(.u8|.s8).s32 d:fragment, a:fragment, b:fragment, c:fragment", 7.0, 80, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C, A and B of 4-bit integers.
            mma_nibble: "mma.sync.aligned.m8n8k32.row.col{.satfinite}.s32(.u4|.s4)(.u4|.s4).s32 d:fragment, a:fragment, b:fragment, c:fragment", 6.5, 75, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C, A and B of 4-bit integers.
            mma_nibble_m16: "mma.sync.aligned(.m16n8k32|.m16n8k64).row.col{.satfinite}.s32(.u4|.s4)(.u4|.s4).s32 d:fragment, a:fragment, b:fragment, c:fragment", 7.0, 80, Tensor, Convergent, "9.7.14.5.14";
            /// D = number of bits set in the rows of A xor the columns of B, + C.
            mma_bit_xor: "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc d:fragment, a:fragment, b:fragment, c:fragment", 7.0, 75, Tensor, Convergent, "9.7.14.5.14";
            /// D = number of bits set in the rows of A xor the columns of B, + C.
            mma_bit_xor_m16: "mma.sync.aligned(.m16n8k128|.m16n8k256).row.col.s32.b1.b1.s32.xor.popc d:fragment, a:fragment, b:fragment, c:fragment", 7.0, 80, Tensor, Convergent, "9.7.14.5.14";
            /// D = number of bits set in the rows of A and the columns of B, + C.
            mma_bit_and: "mma.sync.aligned(.m8n8k128|.m16n8k128|.m16n8k256).row.col.s32.b1.b1.s32.and.popc d:fragment, a:fragment, b:fragment, c:fragment", 7.1, 80, Tensor, Convergent, "9.7.14.5.14";
            /// D = A * B + C, A sparse (metadata e, lanes f) of binary16 numbers.
            mma_sp_f16_f32: "mma<sparse>.sync.aligned(.m16n8k16|.m16n8k32).row.col.f32.f16.f16.f32 d:fragment, a:fragment, b:fragment, c:fragment, e:b32, f:u32", 7.1, 80, Tensor, Convergent, "9.7.14.6.3";
            /// D = A * B + C, A sparse (metadata e, lanes f) of binary16 numbers.
            mma_sp_f16_f16: "mma<sparse>.sync.aligned(.m16n8k16|.m16n8k32).row.col.f16.f16.f16.f16 d:fragment, a:fragment, b:fragment, c:fragment, e:b32, f:u32", 7.1, 80, Tensor, Convergent, "9.7.14.6.3";
            /// D = A * B + C, A sparse (metadata e, lanes f) of bfloat16 numbers.
            mma_sp_bf16: "mma<sparse>.sync.aligned(.m16n8k16|.m16n8k32).row.col.f32.bf16.bf16.f32 d:fragment, a:fragment, b:fragment, c:fragment, e:b32, f:u32", 7.1, 80, Tensor, Convergent, "9.7.14.6.3";
            /// D = A * B + C, A sparse (metadata e, lanes f) of tf32 numbers.
            mma_sp_tf32: "mma<sparse>.sync.aligned(.m16n8k8|.m16n8k16).row.col.f32.tf32.tf32.f32 d:fragment, a:fragment, b:fragment, c:fragment, e:b32, f:u32", 7.1, 80, Tensor, Convergent, "9.7.14.6.3";
            /// D = A * B + C, A sparse (metadata e, lanes f) of 8-bit floats.
            mma_sp_fp8: "mma<sparse>.sync.aligned.m16n8k64.row.col.f32(.e4m3|.e5m2)(.e4m3|.e5m2).f32 d:fragment, a:fragment, b:fragment, c:fragment, e:b32, f:u32", 8.4, 89, Tensor, Convergent, "9.7.14.6.3";
            /// D = A * B + C in half precision, A sparse (metadata e, lanes f) of 8-bit floats.
            mma_sp_fp8_f16: "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16(.e4m3|.e5m2)(.e4m3|.e5m2).f16 d:fragment, a:fragment, b:fragment, c:fragment, e:b32, f:u32", 8.7, "120a", Tensor, Convergent, "9.7.14.6.3";
            /// D = A * B + C, A sparse (metadata e, lanes f) of 8-bit, 6-bit or 4-bit floats, a byte each.
            mma_sp_narrow_f32: "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32<narrow_float><narrow_float>.f32 d:fragment, a:fragment, b:fragment, c:fragment, e:b32, f:u32", 8.7, "120a"
                / "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32(.e4m3|.e5m2)(.e4m3|.e5m2).f32", 8.6, "100a",
                Tensor, Convergent, "9.7.14.6.3";
            /// D = A * B + C in half precision, A sparse (metadata e, lanes f) of 8-bit, 6-bit or
            /// 4-bit floats, a byte each.
            mma_sp_narrow_f16: "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f16<narrow_float><narrow_float>.f16 d:fragment, a:fragment, b:fragment, c:fragment, e:b32, f:u32", 8.7, "120a", Tensor, Convergent, "9.7.14.6.3";
            /// As mma_sp_narrow_f32, rows of A and columns of B scaled by g and k.
            mma_sp_scaled: "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale{.scale_vec::1X}.f32<narrow_float><narrow_float>.f32.ue8m0 d:fragment, a:fragment, b:fragment, c:fragment, e:b32, f:u32, g:scale, h:selector, k:scale, l:selector", 8.7, "120a", Tensor, Convergent, "9.7.14.6.3";
            /// D = A * B + C, A sparse of 4-bit floats; halves of rows and columns scaled by g and k.
            mma_sp_scaled_halves: "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0 d:fragment, a:fragment, b:fragment, c:fragment, e:b32, f:u32, g:scale, h:selector, k:scale, l:selector", 8.7, "120a", Tensor, Convergent, "9.7.14.6.3";
            /// D = A * B + C, A sparse of 4-bit floats; halves or quarters of rows and columns
            /// scaled by g and k.
            mma_sp_scaled_quarters: "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale(.scale_vec::2X|.scale_vec::4X@9.1:120a).f32.e2m1.e2m1.f32.ue8m0 d:fragment, a:fragment, b:fragment, c:fragment, e:b32, f:u32, g:scale, h:selector, k:scale, l:selector", 8.7, "120a"
                / "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 8.7, "120a",
                Tensor, Convergent, "9.7.14.6.3";
            /// D = A * B + C, A sparse (metadata e, lanes f) of bytes.
            mma_sp_byte: "mma<sparse>.sync.aligned(.m16n8k32|.m16n8k64).row.col{.satfinite}.s32(.u8|.s8)(.u8|.s8).s32 d:fragment, a:fragment, b:fragment, c:fragment, e:b32, f:u32", 7.1, 80, Tensor, Convergent, "9.7.14.6.3";
            /// D = A * B + C, A sparse (metadata e, lanes f) of 4-bit integers.
            mma_sp_nibble: "mma<sparse>.sync.aligned(.m16n8k64|.m16n8k128).row.col{.satfinite}.s32(.u4|.s4)(.u4|.s4).s32 d:fragment, a:fragment, b:fragment, c:fragment, e:b32, f:u32", 7.1, 80, Tensor, Convergent, "9.7.14.6.3";
            /// d = matrices of 8 rows, each of 16 bytes at a lane's address.
            ldmatrix: "ldmatrix.sync.aligned.m8n8(.x1|.x2|.x4){.trans}{<shared_cta>}.b16 d:fragment, [a]", 6.5, 75, Memory, Load, "9.7.14.5.15";
            /// d = columns of matrices of 16 rows, each of 16 bytes at a lane's address.
            ldmatrix_bytes: "ldmatrix.sync.aligned.m16n16(.x1|.x2).trans{<shared_cta>}.b8 d:fragment, [a]", 8.6, "100a", Memory, Load, "9.7.14.5.15";
            /// d = matrices of 8 rows, each of 16 6-bit or 4-bit numbers at a lane's address, a byte each.
            ldmatrix_narrow: "ldmatrix.sync.aligned.m8n16(.x1|.x2|.x4){<shared_cta>}.b8x16(.b6x16_p32|.b4x16_p64) d:fragment, [a]", 8.6, "100a", Memory, Load, "9.7.14.5.15";
            /// d = matrices of 8 rows, each of 16 signed 4-bit integers in 8 bytes at a lane's address, a
            /// byte each.
            ldmatrix_nibbles: "ldmatrix.sync.aligned.m8n16(.x1|.x2|.x4){<shared_cta>}.s8.s4 d:fragment, [a]", 9.4, "90a", Memory, Load, "9.7.14.5.15";
            /// d = columns of matrices of 16 rows, each of 16 6-bit or 4-bit numbers at a lane's address, a
            /// byte each.
            ldmatrix_narrow_columns: "ldmatrix.sync.aligned.m16n16(.x1|.x2).trans{<shared_cta>}.b8x16(.b6x16_p32|.b4x16_p64) d:fragment, [a]", 8.6, "100a", Memory, Load, "9.7.14.5.15";
            /// 16 bytes at a lane's address = a column of b's matrices of 16 rows of 8 bytes.
            stmatrix_bytes: "stmatrix.sync.aligned.m16n8(.x1|.x2|.x4).trans{<shared_cta>}.b8 [a], b:fragment", 8.6, "100a", Memory, Store, "9.7.14.5.16";
            /// 16 bytes at a lane's address = a row of b's matrices of 8 rows.
            stmatrix: "stmatrix.sync.aligned.m8n8(.x1|.x2|.x4){.trans}{<shared_cta>}.b16 [a], b:fragment", 7.8, 90, Memory, Store, "9.7.14.5.16";
            /// d = a's matrix of 8 rows of 8 numbers, transposed.
            movmatrix: "movmatrix.sync.aligned.m8n8.trans.b16 d:b32, a:b32", 7.8, 75, Integer, Convergent, "9.7.14.5.17";
            /// Orders a warpgroup's register accesses before its products.
            wgmma_fence: "wgmma.fence.sync{.aligned}", 8.0, "90a", Tensor, Fence, "9.7.15.7.1";
            /// Forms a group of the products since the last one.
            wgmma_commit_group: "wgmma.commit_group.sync{.aligned}", 8.0, "90a", Tensor, Pure, "9.7.15.7.2";
            /// Waits until at most a groups of products are outstanding.
            wgmma_wait_group: "wgmma.wait_group.sync{.aligned} a:u32", 8.0, "90a", Tensor, Pure, "9.7.15.7.3";
            /// Warpgroup product A * B + D, or A * B if s is false: binary16 numbers, A in shared memory.
            wgmma_f16: "wgmma.mma_async.sync{.aligned}<m64k16>(.f16|.f32).f16.f16 d:fragment, a:b64, b:b64, s:pred, m:s32, n:s32, u:s32, v:s32", 8.0, "90a", Tensor, Convergent, "9.7.15.5";
            /// Warpgroup product A * B + D, or A * B if s is false: binary16 numbers, A in registers.
            wgmma_f16_registers: "wgmma.mma_async.sync{.aligned}<m64k16>(.f16|.f32).f16.f16 d:fragment, a:fragment, b:b64, s:pred, m:s32, n:s32, v:s32", 8.0, "90a", Tensor, Convergent, "9.7.15.5";
            /// Warpgroup product A * B + D, or A * B if s is false: binary16 numbers, A sparse, in
            /// shared memory.
            wgmma_sp_f16: "wgmma.mma_async.sp.sync{.aligned}<m64k32>(.f16|.f32).f16.f16 d:fragment, a:b64, b:b64, e:b32, f:u32, s:pred, m:s32, n:s32, u:s32, v:s32", 8.2, "90a", Tensor, Convergent, "9.7.15.6";
            /// Warpgroup product A * B + D, or A * B if s is false: binary16 numbers, A sparse, in registers.
            wgmma_sp_f16_registers: "wgmma.mma_async.sp.sync{.aligned}<m64k32>(.f16|.f32).f16.f16 d:fragment, a:fragment, b:b64, e:b32, f:u32, s:pred, m:s32, n:s32, v:s32", 8.2, "90a", Tensor, Convergent, "9.7.15.6";
            /// Warpgroup product A * B + D, or A * B if s is false: bfloat16 numbers, A in shared memory.
            wgmma_bf16: "wgmma.mma_async.sync{.aligned}<m64k16>.f32.bf16.bf16 d:fragment, a:b64, b:b64, s:pred, m:s32, n:s32, u:s32, v:s32", 8.0, "90a", Tensor, Convergent, "9.7.15.5";
            /// Warpgroup product A * B + D, or A * B if s is false: bfloat16 numbers, A in registers.
            wgmma_bf16_registers: "wgmma.mma_async.sync{.aligned}<m64k16>.f32.bf16.bf16 d:fragment, a:fragment, b:b64, s:pred, m:s32, n:s32, v:s32", 8.0, "90a", Tensor, Convergent, "9.7.15.5";
            /// Warpgroup product A * B + D, or A * B if s is false: bfloat16 numbers, A sparse, in
            /// shared memory.
            wgmma_sp_bf16: "wgmma.mma_async.sp.sync{.aligned}<m64k32>.f32.bf16.bf16 d:fragment, a:b64, b:b64, e:b32, f:u32, s:pred, m:s32, n:s32, u:s32, v:s32", 8.2, "90a", Tensor, Convergent, "9.7.15.6";
            /// Warpgroup product A * B + D, or A * B if s is false: bfloat16 numbers, A sparse, in registers.
            wgmma_sp_bf16_registers: "wgmma.mma_async.sp.sync{.aligned}<m64k32>.f32.bf16.bf16 d:fragment, a:fragment, b:b64, e:b32, f:u32, s:pred, m:s32, n:s32, v:s32", 8.2, "90a", Tensor, Convergent, "9.7.15.6";
            /// Warpgroup product A * B + D, or A * B if s is false: tf32 numbers, A in shared memory.
            wgmma_tf32: "wgmma.mma_async.sync{.aligned}<m64k8>.f32.tf32.tf32 d:fragment, a:b64, b:b64, s:pred, m:s32, n:s32", 8.0, "90a", Tensor, Convergent, "9.7.15.5";
            /// Warpgroup product A * B + D, or A * B if s is false: tf32 numbers, A in registers.
            wgmma_tf32_registers: "wgmma.mma_async.sync{.aligned}<m64k8>.f32.tf32.tf32 d:fragment, a:fragment, b:b64, s:pred, m:s32, n:s32", 8.0, "90a", Tensor, Convergent, "9.7.15.5";
            /// Warpgroup product A * B + D, or A * B if s is false: tf32 numbers, A sparse, in shared memory.
            wgmma_sp_tf32: "wgmma.mma_async.sp.sync{.aligned}<m64k16>.f32.tf32.tf32 d:fragment, a:b64, b:b64, e:b32, f:u32, s:pred, m:s32, n:s32", 8.2, "90a", Tensor, Convergent, "9.7.15.6";
            /// Warpgroup product A * B + D, or A * B if s is false: tf32 numbers, A sparse, in registers.
            wgmma_sp_tf32_registers: "wgmma.mma_async.sp.sync{.aligned}<m64k16>.f32.tf32.tf32 d:fragment, a:fragment, b:b64, e:b32, f:u32, s:pred, m:s32, n:s32", 8.2, "90a", Tensor, Convergent, "9.7.15.6";
            /// Warpgroup product A * B + D, or A * B if s is false: 8-bit floats, A in shared memory.
            wgmma_fp8: "wgmma.mma_async.sync{.aligned}<m64k32>(.f16|.f32)(.e4m3|.e5m2)(.e4m3|.e5m2) d:fragment, a:b64, b:b64, s:pred, m:s32, n:s32", 8.0, "90a", Tensor, Convergent, "9.7.15.5";
            /// Warpgroup product A * B + D, or A * B if s is false: 8-bit floats, A in registers.
            wgmma_fp8_registers: "wgmma.mma_async.sync{.aligned}<m64k32>(.f16|.f32)(.e4m3|.e5m2)(.e4m3|.e5m2) d:fragment, a:fragment, b:b64, s:pred, m:s32, n:s32", 8.0, "90a", Tensor, Convergent, "9.7.15.5";
            /// Warpgroup product A * B + D, or A * B if s is false: 8-bit floats, A sparse, in shared memory.
            wgmma_sp_fp8: "wgmma.mma_async.sp.sync{.aligned}<m64k64>(.f16|.f32)(.e4m3|.e5m2)(.e4m3|.e5m2) d:fragment, a:b64, b:b64, e:b32, f:u32, s:pred, m:s32, n:s32", 8.2, "90a", Tensor, Convergent, "9.7.15.6";
            /// Warpgroup product A * B + D, or A * B if s is false: 8-bit floats, A sparse, in registers.
            wgmma_sp_fp8_registers: "wgmma.mma_async.sp.sync{.aligned}<m64k64>(.f16|.f32)(.e4m3|.e5m2)(.e4m3|.e5m2) d:fragment, a:fragment, b:b64, e:b32, f:u32, s:pred, m:s32, n:s32", 8.2, "90a", Tensor, Convergent, "9.7.15.6";
            /// Warpgroup product A * B + D, or A * B if s is false: bytes, A in shared memory.
            wgmma_byte: "wgmma.mma_async.sync{.aligned}<m64k32_integer>{.satfinite}.s32(.u8|.s8)(.u8|.s8) d:fragment, a:b64, b:b64, s:pred", 8.0, "90a", Tensor, Convergent, "9.7.15.5";
            /// Warpgroup product A * B + D, or A * B if s is false: bytes, A in registers.
            wgmma_byte_registers: "wgmma.mma_async.sync{.aligned}<m64k32_integer>{.satfinite}.s32(.u8|.s8)(.u8|.s8) d:fragment, a:fragment, b:b64, s:pred", 8.0, "90a", Tensor, Convergent, "9.7.15.5";
            /// Warpgroup product A * B + D, or A * B if s is false: bytes, A sparse, in shared memory.
            wgmma_sp_byte: "wgmma.mma_async.sp.sync{.aligned}<m64k64_integer>{.satfinite}.s32(.u8|.s8)(.u8|.s8) d:fragment, a:b64, b:b64, e:b32, f:u32, s:pred", 8.2, "90a", Tensor, Convergent, "9.7.15.6";
            /// Warpgroup product A * B + D, or A * B if s is false: bytes, A sparse, in registers.
            wgmma_sp_byte_registers: "wgmma.mma_async.sp.sync{.aligned}<m64k64_integer>{.satfinite}.s32(.u8|.s8)(.u8|.s8) d:fragment, a:fragment, b:b64, e:b32, f:u32, s:pred", 8.2, "90a", Tensor, Convergent, "9.7.15.6";
            /// Warpgroup product A * B + D, or A * B if s is false: single bits, A in shared memory.
            wgmma_bit: "wgmma.mma_async.sync{.aligned}<m64k256_integer>.s32.b1.b1.and.popc d:fragment, a:b64, b:b64, s:pred", 8.0, "90a", Tensor, Convergent, "9.7.15.5";
            /// Warpgroup product A * B + D, or A * B if s is false: single bits, A in registers.
            wgmma_bit_registers: "wgmma.mma_async.sync{.aligned}<m64k256_integer>.s32.b1.b1.and.popc d:fragment, a:fragment, b:b64, s:pred", 8.0, "90a", Tensor, Convergent, "9.7.15.5";
        ] }
    };
}
