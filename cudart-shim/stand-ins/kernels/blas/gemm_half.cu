// Products of half precision by the tensor cores of Volta and later GPUs.
#include "tensor.cuh"

struct Half {
    typedef u16 Element;
    struct Fragment {
        u32 words[8];
    };
    static const u32 DEPTH = 32, STEP = 16;
    static __device__ void round(uint4 &) {}
    static __device__ u16 rounded(u16 value) { return value; }
    LOADS(LOAD_8, "f16", "m16n16k16")
    MULTIPLY_8(multiply_row_row, "row.row")
    MULTIPLY_8(multiply_row_col, "row.col")
    MULTIPLY_8(multiply_col_row, "col.row")
    MULTIPLY_8(multiply_col_col, "col.col")
    STORE("m16n16k16")
};

KERNEL(voltsim_gemm_f16_tensor, Half)
