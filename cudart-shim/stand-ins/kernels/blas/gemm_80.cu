// Products of bfloat16 and TF32 by the tensor cores of Ampere and later GPUs.
#include "tensor.cuh"

struct Bfloat {
    typedef u16 Element;
    struct Fragment {
        u32 words[4];
    };
    static const u32 DEPTH = 32, STEP = 16;
    static __device__ void round(uint4 &) {}
    static __device__ u16 rounded(u16 value) { return value; }
    LOADS(LOAD_4, "bf16", "m16n16k16")
    MULTIPLY_4(multiply_row_row, "row.row", "m16n16k16", "f32.bf16.bf16.f32")
    MULTIPLY_4(multiply_row_col, "row.col", "m16n16k16", "f32.bf16.bf16.f32")
    MULTIPLY_4(multiply_col_row, "col.row", "m16n16k16", "f32.bf16.bf16.f32")
    MULTIPLY_4(multiply_col_col, "col.col", "m16n16k16", "f32.bf16.bf16.f32")
    STORE("m16n16k16")
};

struct Tf32 {
    typedef float Element;
    struct Fragment {
        u32 words[4];
    };
    static const u32 DEPTH = 16, STEP = 8;
    static __device__ u32 rounded_word(u32 word) {
        u32 result;
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(bits_to_float(word)));
        return result;
    }
    static __device__ void round(uint4 &words) {
        words.x = rounded_word(words.x);
        words.y = rounded_word(words.y);
        words.z = rounded_word(words.z);
        words.w = rounded_word(words.w);
    }
    static __device__ float rounded(float value) { return bits_to_float(rounded_word(float_to_bits(value))); }
    LOADS(LOAD_4, "tf32", "m16n16k8")
    MULTIPLY_4(multiply_row_row, "row.row", "m16n16k8", "f32.tf32.tf32.f32")
    MULTIPLY_4(multiply_row_col, "row.col", "m16n16k8", "f32.tf32.tf32.f32")
    MULTIPLY_4(multiply_col_row, "col.row", "m16n16k8", "f32.tf32.tf32.f32")
    MULTIPLY_4(multiply_col_col, "col.col", "m16n16k8", "f32.tf32.tf32.f32")
    STORE("m16n16k8")
};

KERNEL(voltsim_gemm_bf16_tensor, Bfloat)
KERNEL(voltsim_gemm_tf32_tensor, Tf32)
