// Matrix products by the tensor cores.
//
// A CTA of four warps makes 64 by 64 elements of the result, a warp 32 by 32. Tiles lie in shared
// memory with the contiguous dimension of the program's matrix first, so that copies are vectors.
#pragma once
#include "product.cuh"

enum : u32 {
    THREADS = 128,
    TILE = 64,
    // Stride of the result in shared memory, in elements.
    RESULT = TILE + 4,
};

// A copy of TILE by DEPTH elements. `outer` counts rows of a, or columns of b. The contiguous
// dimension is the outer one if its stride is 1.
template <class Kind> struct Operand {
    typedef typename Kind::Element Element;
    static const u32 VECTOR = 16 / sizeof(Element);
    static const u32 OUTER_STRIDE = TILE + VECTOR, DEPTH_STRIDE = Kind::DEPTH + VECTOR;
    static const u32 SIZE = TILE * DEPTH_STRIDE > Kind::DEPTH * OUTER_STRIDE ? TILE * DEPTH_STRIDE
                                                                               : Kind::DEPTH * OUTER_STRIDE;
    const Element *start;
    i64 stride;
    bool outer_first, is_aligned;

    __device__ Operand(const Matrix &matrix, u32 batch, i64 outer_stride, i64 depth_stride) {
        start = start_of<Element>(matrix, batch);
        outer_first = outer_stride == 1;
        stride = outer_first ? depth_stride : outer_stride;
        is_aligned = (u64)start % 16 == 0 && stride % VECTOR == 0;
    }

    __device__ void copy(Element *tile, u32 outer_start, u32 outer_end, u32 depth_start, u32 depth_end) const {
        // Both dimensions, the contiguous one first.
        u32 length = outer_first ? TILE : Kind::DEPTH;
        u32 pitch = outer_first ? OUTER_STRIDE : DEPTH_STRIDE;
        u32 near_start = outer_first ? outer_start : depth_start, near_end = outer_first ? outer_end : depth_end;
        u32 far_start = outer_first ? depth_start : outer_start, far_end = outer_first ? depth_end : outer_end;
#pragma unroll 1
        for (u32 vector = threadIdx.x; vector < TILE * Kind::DEPTH / VECTOR; vector += THREADS) {
            u32 near = vector % (length / VECTOR) * VECTOR, far = vector / (length / VECTOR);
            u32 x = near_start + near, y = far_start + far;
            Element *to = tile + far * pitch + near;
            const Element *from = start + stride * y + x;
            if (is_aligned && y < far_end && x + VECTOR <= near_end) {
                uint4 words = *(const uint4 *)from;
                Kind::round(words);
                *(uint4 *)to = words;
            } else {
#pragma unroll 1
                for (u32 element = 0; element < VECTOR; element++) {
                    Element value = 0;
                    if (y < far_end && x + element < near_end) value = from[element];
                    to[element] = Kind::rounded(value);
                }
            }
        }
    }
};

__device__ inline u32 shared_address(const void *pointer) {
    u32 address;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(address) : "l"(pointer));
    return address;
}

#define ACCUMULATORS(SUM)                                                                                    \
    "+f"(SUM[0]), "+f"(SUM[1]), "+f"(SUM[2]), "+f"(SUM[3]), "+f"(SUM[4]), "+f"(SUM[5]), "+f"(SUM[6]), "+f"(SUM[7])

template <class Kind> __device__ inline void product(const Product &p) {
    typedef typename Kind::Element Element;
    typedef Operand<Kind> Side;
    __shared__ __align__(16) char memory[sizeof(float) * TILE * RESULT];
    Element *a_tile = (Element *)memory, *b_tile = a_tile + Side::SIZE;
    float *result = (float *)memory;
    u32 warp = threadIdx.x / 32;
    u32 warp_row = warp % 2 * 32, warp_column = warp / 2 * 32;
    u32 first_row = blockIdx.x * TILE, first_column = blockIdx.y * TILE;
    float alpha = ScalarOf<float>::get(p.alpha), beta = ScalarOf<float>::get(p.beta);
    for (u32 batch = blockIdx.z; batch < p.batches; batch += gridDim.z) {
        Side a(p.a, batch, p.a.row, p.a.column), b(p.b, batch, p.b.column, p.b.row);
        float sums[2][2][8];
#pragma unroll
        for (u32 x = 0; x < 2; x++) {
#pragma unroll
            for (u32 y = 0; y < 2; y++) {
#pragma unroll
                for (u32 e = 0; e < 8; e++) sums[x][y][e] = 0;
            }
        }
        for (u32 start = 0; start < p.k; start += Kind::DEPTH) {
            a.copy(a_tile, first_row, p.m, start, p.k);
            b.copy(b_tile, first_column, p.n, start, p.k);
            __syncthreads();
#pragma unroll
            for (u32 l = 0; l < Kind::DEPTH; l += Kind::STEP) {
                typename Kind::Fragment left[2], right[2];
#pragma unroll
                for (u32 x = 0; x < 2; x++) {
                    u32 outer = warp_row + 16 * x;
                    if (a.outer_first) {
                        Kind::load_a_column(left[x], shared_address(a_tile + l * Side::OUTER_STRIDE + outer),
                                            Side::OUTER_STRIDE);
                    } else {
                        Kind::load_a_row(left[x], shared_address(a_tile + outer * Side::DEPTH_STRIDE + l),
                                         Side::DEPTH_STRIDE);
                    }
                }
#pragma unroll
                for (u32 y = 0; y < 2; y++) {
                    u32 outer = warp_column + 16 * y;
                    if (b.outer_first) {
                        Kind::load_b_row(right[y], shared_address(b_tile + l * Side::OUTER_STRIDE + outer),
                                         Side::OUTER_STRIDE);
                    } else {
                        Kind::load_b_column(right[y], shared_address(b_tile + outer * Side::DEPTH_STRIDE + l),
                                            Side::DEPTH_STRIDE);
                    }
                }
                // The layouts of the fragments are part of the instruction.
#define MULTIPLY(LAYOUT)                                                               \
    _Pragma("unroll") for (u32 x = 0; x < 2; x++) {                                    \
        _Pragma("unroll") for (u32 y = 0; y < 2; y++) {                                \
            Kind::multiply_##LAYOUT(sums[x][y], left[x], right[y]);                    \
        }                                                                              \
    }
                if (a.outer_first) {
                    if (b.outer_first) {
                        MULTIPLY(col_row)
                    } else {
                        MULTIPLY(col_col)
                    }
                } else {
                    if (b.outer_first) {
                        MULTIPLY(row_row)
                    } else {
                        MULTIPLY(row_col)
                    }
                }
            }
            __syncthreads();
        }
#pragma unroll
        for (u32 x = 0; x < 2; x++) {
#pragma unroll
            for (u32 y = 0; y < 2; y++) {
                Kind::store(sums[x][y],
                            shared_address(result + (warp_column + 16 * y) * RESULT + warp_row + 16 * x), RESULT);
            }
        }
        __syncthreads();
        u64 c = mixed_start_of(p.c, batch), d = mixed_start_of(p.d, batch);
        u32 i = threadIdx.x % TILE;
#pragma unroll 1
        for (u32 j = threadIdx.x / TILE; j < TILE; j += THREADS / TILE) {
            if (first_row + i < p.m && first_column + j < p.n) {
                finish(p, batch, c, d, first_row + i, first_column + j, alpha, beta, result[j * RESULT + i]);
            }
        }
        __syncthreads();
    }
}

#define LOAD_8(NAME, OPERAND, LAYOUT, TYPE, SHAPE)                                                            \
    static __device__ void NAME(Fragment &f, u32 address, u32 stride) {                                       \
        asm volatile("wmma.load." OPERAND ".sync.aligned." LAYOUT "." SHAPE ".shared." TYPE                   \
                     " {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"                                                  \
                     : "=r"(f.words[0]), "=r"(f.words[1]), "=r"(f.words[2]), "=r"(f.words[3]),                \
                       "=r"(f.words[4]), "=r"(f.words[5]), "=r"(f.words[6]), "=r"(f.words[7])                 \
                     : "r"(address), "r"(stride)                                                              \
                     : "memory");                                                                             \
    }

#define LOAD_4(NAME, OPERAND, LAYOUT, TYPE, SHAPE)                                                            \
    static __device__ void NAME(Fragment &f, u32 address, u32 stride) {                                       \
        asm volatile("wmma.load." OPERAND ".sync.aligned." LAYOUT "." SHAPE ".shared." TYPE                   \
                     " {%0,%1,%2,%3}, [%4], %5;"                                                              \
                     : "=r"(f.words[0]), "=r"(f.words[1]), "=r"(f.words[2]), "=r"(f.words[3])                 \
                     : "r"(address), "r"(stride)                                                              \
                     : "memory");                                                                             \
    }

#define LOADS(LOAD, TYPE, SHAPE)                  \
    LOAD(load_a_row, "a", "row", TYPE, SHAPE)     \
    LOAD(load_a_column, "a", "col", TYPE, SHAPE)  \
    LOAD(load_b_row, "b", "row", TYPE, SHAPE)     \
    LOAD(load_b_column, "b", "col", TYPE, SHAPE)

#define MULTIPLY_8(NAME, LAYOUTS)                                                                             \
    static __device__ void NAME(float *d, const Fragment &a, const Fragment &b) {                             \
        asm volatile("wmma.mma.sync.aligned." LAYOUTS ".m16n16k16.f32.f32 {%0,%1,%2,%3,%4,%5,%6,%7},"         \
                     "{%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19,%20,%21,%22,%23},"                    \
                     "{%0,%1,%2,%3,%4,%5,%6,%7};"                                                             \
                     : ACCUMULATORS(d)                                                                        \
                     : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(a.words[4]),   \
                       "r"(a.words[5]), "r"(a.words[6]), "r"(a.words[7]), "r"(b.words[0]), "r"(b.words[1]),   \
                       "r"(b.words[2]), "r"(b.words[3]), "r"(b.words[4]), "r"(b.words[5]), "r"(b.words[6]),   \
                       "r"(b.words[7]));                                                                      \
    }

#define MULTIPLY_4(NAME, LAYOUTS, SHAPE, TYPES)                                                               \
    static __device__ void NAME(float *d, const Fragment &a, const Fragment &b) {                             \
        asm volatile("wmma.mma.sync.aligned." LAYOUTS "." SHAPE "." TYPES " {%0,%1,%2,%3,%4,%5,%6,%7},"       \
                     "{%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3,%4,%5,%6,%7};"                         \
                     : ACCUMULATORS(d)                                                                        \
                     : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[0]),   \
                       "r"(b.words[1]), "r"(b.words[2]), "r"(b.words[3]));                                    \
    }

#define STORE(SHAPE)                                                                                          \
    static __device__ void store(const float *d, u32 address, u32 stride) {                                   \
        asm volatile("wmma.store.d.sync.aligned.col." SHAPE ".shared.f32 [%8], {%0,%1,%2,%3,%4,%5,%6,%7}, %9;" \
                     :                                                                                        \
                     : "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]), "f"(d[4]), "f"(d[5]), "f"(d[6]), "f"(d[7]), \
                       "r"(address), "r"(stride)                                                              \
                     : "memory");                                                                             \
    }

#define KERNEL(NAME, KIND)                                                                      \
    extern "C" __global__ void __launch_bounds__(128) NAME(const __grid_constant__ Product p) { \
        product<KIND>(p);                                                                       \
    }
