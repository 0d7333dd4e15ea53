// Matrix products by multiply-adds of scalars, for all types and layouts.
//
// A CTA of 256 threads makes a square of the result. A thread makes SIZE by SIZE elements, 16 rows
// and columns apart, so that neighbouring threads write neighbouring rows.
#include "product.cuh"

enum : u32 {
    THREADS = 256,
    // Elements of the inner dimension in shared memory.
    DEPTH = 16,
};

// How a kernel reads the elements of a matrix.
template <class T> struct Plain {
    const T *start;
    const Matrix &matrix;
    __device__ Plain(const Matrix &matrix, u32 batch) : start(start_of<T>(matrix, batch)), matrix(matrix) {}
    __device__ T get(u32 i, u32 j) const {
        u32 flags = matrix.flags;
        bool is_conjugated = flags & IS_CONJUGATED;
        if (flags & HAS_TRIANGLE) {
            if (i == j && flags & HAS_UNIT_DIAGONAL) return T{1};
            if (!is_written(matrix, i, j)) {
                if (!(flags & (IS_SYMMETRIC | IS_HERMITIAN))) return zero_of(T());
                u32 k = i;
                i = j;
                j = k;
                if (flags & IS_HERMITIAN) is_conjugated = !is_conjugated;
            }
        }
        T value = conjugate_if(start[matrix.row * i + matrix.column * j], is_conjugated);
        if (i == j && flags & IS_HERMITIAN) {
            value = (value + conjugate(value)) * T{(typename Traits<T>::Real)0.5};
        }
        return value;
    }
};

struct Mixed {
    u64 start;
    const Matrix &matrix;
    __device__ Mixed(const Matrix &matrix, u32 batch) : start(mixed_start_of(matrix, batch)), matrix(matrix) {}
    __device__ float get(u32 i, u32 j) const {
        return load_mixed(start, matrix.row * i + matrix.column * j, matrix.type);
    }
};

struct Bytes {
    const signed char *start;
    const Matrix &matrix;
    __device__ Bytes(const Matrix &matrix, u32 batch) : start(start_of<signed char>(matrix, batch)), matrix(matrix) {}
    __device__ int get(u32 i, u32 j) const { return start[matrix.row * i + matrix.column * j]; }
};

// Copies a tile of TILE by DEPTH elements to shared memory. `outer` counts rows of the left matrix, or
// columns of the right one.
template <u32 TILE, bool IS_RIGHT, class T, class Source>
__device__ inline void copy_tile(T *tile, const Source &source, u32 outer_start, u32 outer_end, u32 depth_start,
                                 u32 depth_end) {
    bool outer_first = (IS_RIGHT ? source.matrix.column : source.matrix.row) == 1;
#pragma unroll 1
    for (u32 element = threadIdx.x; element < TILE * DEPTH; element += THREADS) {
        u32 outer = outer_first ? element % TILE : element / DEPTH;
        u32 depth = outer_first ? element / TILE : element % DEPTH;
        u32 i = outer_start + outer, l = depth_start + depth;
        T value = zero_of(T());
        if (i < outer_end && l < depth_end) value = IS_RIGHT ? source.get(l, i) : source.get(i, l);
        tile[depth * (TILE + 1) + outer] = value;
    }
}

// Only types of eight bits have factors, and their scalars are floats.
__device__ inline float scaled(float value, u64 factor) { return value * scale_at(factor); }
template <class Scale> __device__ inline Scale scaled(Scale value, u64) { return value; }

template <u32 SIZE, class T, class Scale, class Source> __device__ inline void product(const Product &p) {
    const u32 TILE = 16 * SIZE, TILES = 2 * DEPTH * (TILE + 1);
    const u32 RESULTS = SIZE > 1 ? SIZE * SIZE * THREADS : 1;
    // The tiles, and later the results of each thread.
    __shared__ __align__(16) char memory[sizeof(T) * (TILES > RESULTS ? TILES : RESULTS)];
    T *a_tile = (T *)memory, *b_tile = a_tile + DEPTH * (TILE + 1), *results = (T *)memory + threadIdx.x;
    u32 row = threadIdx.x % 16, column = threadIdx.x / 16;
    u32 first_row = blockIdx.x * TILE, first_column = blockIdx.y * TILE;
    Scale alpha = ScalarOf<Scale>::get(p.alpha), beta = ScalarOf<Scale>::get(p.beta);
    alpha = scaled(alpha, p.scale_a);
    alpha = scaled(alpha, p.scale_b);
    for (u32 batch = blockIdx.z; batch < p.batches; batch += gridDim.z) {
        Source a(p.a, batch), b(p.b, batch);
        T sums[SIZE][SIZE];
#pragma unroll
        for (u32 x = 0; x < SIZE; x++) {
#pragma unroll
            for (u32 y = 0; y < SIZE; y++) sums[x][y] = zero_of(T());
        }
        for (u32 start = 0; start < p.k; start += DEPTH) {
            copy_tile<TILE, false>(a_tile, a, first_row, p.m, start, p.k);
            copy_tile<TILE, true>(b_tile, b, first_column, p.n, start, p.k);
            __syncthreads();
#pragma unroll 4
            for (u32 l = 0; l < DEPTH; l++) {
                T left[SIZE], right[SIZE];
#pragma unroll
                for (u32 x = 0; x < SIZE; x++) left[x] = a_tile[l * (TILE + 1) + row + 16 * x];
#pragma unroll
                for (u32 y = 0; y < SIZE; y++) right[y] = b_tile[l * (TILE + 1) + column + 16 * y];
#pragma unroll
                for (u32 x = 0; x < SIZE; x++) {
#pragma unroll
                    for (u32 y = 0; y < SIZE; y++) sums[x][y] = multiply_add(left[x], right[y], sums[x][y]);
                }
            }
            __syncthreads();
        }
        u64 c = mixed_start_of(p.c, batch), d = mixed_start_of(p.d, batch);
        if (SIZE == 1) {
            u32 i = first_row + row, j = first_column + column;
            if (i < p.m && j < p.n && is_written(p.d, i, j)) finish(p, batch, c, d, i, j, alpha, beta, sums[0][0]);
            continue;
        }
        // A loop over registers would be unrolled, with an epilogue for each.
#pragma unroll
        for (u32 y = 0; y < SIZE; y++) {
#pragma unroll
            for (u32 x = 0; x < SIZE; x++) results[THREADS * (SIZE * y + x)] = sums[x][y];
        }
#pragma unroll 1
        for (u32 element = 0; element < SIZE * SIZE; element++) {
            u32 i = first_row + row + 16 * (element % SIZE), j = first_column + column + 16 * (element / SIZE);
            if (i < p.m && j < p.n && is_written(p.d, i, j)) finish(p, batch, c, d, i, j, alpha, beta, results[THREADS * element]);
        }
        __syncthreads();
    }
}

#define KERNEL(NAME, SIZE, T, SCALE, SOURCE)                                                    \
    extern "C" __global__ void __launch_bounds__(256) NAME(const __grid_constant__ Product p) { \
        product<SIZE, T, SCALE, SOURCE>(p);                                                     \
    }

KERNEL(voltsim_gemm_f32_16, 1, float, float, Plain<float>)
KERNEL(voltsim_gemm_f32_64, 4, float, float, Plain<float>)
KERNEL(voltsim_gemm_mixed_16, 1, float, float, Mixed)
KERNEL(voltsim_gemm_mixed_64, 4, float, float, Mixed)
KERNEL(voltsim_gemm_f64_16, 1, double, double, Plain<double>)
KERNEL(voltsim_gemm_f64_64, 4, double, double, Plain<double>)
KERNEL(voltsim_gemm_c32_16, 1, complex32, complex32, Plain<complex32>)
KERNEL(voltsim_gemm_c32_32, 2, complex32, complex32, Plain<complex32>)
KERNEL(voltsim_gemm_c64_16, 1, complex64, complex64, Plain<complex64>)
KERNEL(voltsim_gemm_s8_16, 1, int, double, Bytes)
KERNEL(voltsim_gemm_s8_64, 4, int, double, Bytes)

// Sums of the rows of a matrix: the gradient of a bias.
extern "C" __global__ void __launch_bounds__(128)
    voltsim_row_sums(const __grid_constant__ Matrix matrix, u32 rows, u32 columns, u64 sums, u32 type) {
    u32 i = blockIdx.x;
    __shared__ float partial[128];
    float sum = 0;
    for (u32 j = threadIdx.x; j < columns; j += 128) {
        sum += load_mixed(matrix.base, matrix.row * i + matrix.column * j, matrix.type);
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (u32 half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) store_mixed(sums, i, type, partial[0]);
}
