// Level 2, and level 3 but for products: matrices with structure and vectors.
#include "number.cuh"

enum Storage : u32 { FULL = 0, BAND = 1, PACKED = 2 };

enum : u32 {
    TRANSPOSED = 1,
    CONJUGATED = 2,
    // The triangle that is stored.
    LOWER = 4,
    UPPER = 8,
    // The other triangle is the mirrored one; otherwise it is zero.
    SYMMETRIC = 16,
    HERMITIAN = 32,
    UNIT_DIAGONAL = 64,
};

// A matrix of any storage, or one for each part of a batch: an array of addresses.
struct Shaped {
    u64 base;
    i64 leading;
    u32 size, storage, below, above, flags, is_array;
};

struct Vector {
    u64 start;
    i64 increment;
};

template <class T> __device__ inline T &at(const Vector &v, u32 index) {
    return ((T *)v.start)[v.increment * index];
}

template <class T> __device__ inline T *start_of(const Shaped &a, u32 batch) {
    return a.is_array ? ((T *const *)a.base)[batch] : (T *)a.base;
}

// Place of an element that is stored.
__device__ inline i64 place_of(const Shaped &a, u32 i, u32 j) {
    if (a.storage == FULL) return (i64)j * a.leading + i;
    if (a.storage == BAND) return (i64)j * a.leading + a.above + i - j;
    if (a.flags & LOWER) return i + (i64)(2 * (i64)a.size - j - 1) * j / 2;
    return i + (i64)j * (j + 1) / 2;
}

// Element (i, j) of the matrix that the flags describe.
template <class T> __device__ inline T element(const Shaped &a, const T *start, u32 i, u32 j) {
    bool is_conjugated = a.flags & CONJUGATED;
    if (a.flags & TRANSPOSED) {
        u32 k = i;
        i = j;
        j = k;
    }
    if (i == j && a.flags & UNIT_DIAGONAL) return T{1};
    bool is_other = (a.flags & LOWER && i < j) || (a.flags & UPPER && i > j);
    if (is_other) {
        if (!(a.flags & (SYMMETRIC | HERMITIAN))) return zero_of(T());
        u32 k = i;
        i = j;
        j = k;
        if (a.flags & HERMITIAN) is_conjugated = !is_conjugated;
    }
    if (a.storage == BAND && ((i64)i - j > a.below || (i64)j - i > a.above)) return zero_of(T());
    T value = conjugate_if(start[place_of(a, i, j)], is_conjugated);
    if (i == j && a.flags & HERMITIAN) value = (value + conjugate(value)) * T{(typename Traits<T>::Real)0.5};
    return value;
}

// y = alpha * a * x + beta * y: a thread for each row.
template <class T>
__device__ inline void matvec(const Shaped &a, u32 rows, u32 columns, const Scalar &alpha_at, Vector x,
                              const Scalar &beta_at, Vector y) {
    u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    T alpha = ScalarOf<T>::get(alpha_at), beta = ScalarOf<T>::get(beta_at);
    const T *start = start_of<T>(a, 0);
    T sum = zero_of(T());
    bool is_plain = a.storage == FULL && !(a.flags & ~(TRANSPOSED | CONJUGATED));
    if (is_plain) {
        i64 row = a.flags & TRANSPOSED ? a.leading : 1, column = a.flags & TRANSPOSED ? 1 : a.leading;
        const T *from = start + row * i;
        bool is_conjugated = a.flags & CONJUGATED;
        for (u32 j = 0; j < columns; j++, from += column) {
            sum = multiply_add(conjugate_if(*from, is_conjugated), at<T>(x, j), sum);
        }
    } else {
        for (u32 j = 0; j < columns; j++) sum = multiply_add(element(a, start, i, j), at<T>(x, j), sum);
    }
    T value = alpha * sum;
    if (!is_zero(beta)) value = multiply_add(beta, at<T>(y, i), value);
    at<T>(y, i) = value;
}

// a += alpha * x * y' and, for `both`, + conj(alpha) * y * x', in the stored triangle.
template <class T>
__device__ inline void rank(const Shaped &a, u32 rows, u32 columns, const Scalar &alpha_at, Vector x, Vector y,
                            u32 both) {
    u32 i = blockIdx.x * 16 + threadIdx.x % 16, j = blockIdx.y * 16 + threadIdx.x / 16;
    if (i >= rows || j >= columns || (a.flags & LOWER && i < j) || (a.flags & UPPER && i > j)) return;
    T alpha = ScalarOf<T>::get(alpha_at);
    bool is_conjugated = a.flags & CONJUGATED, is_hermitian = a.flags & HERMITIAN;
    T *to = start_of<T>(a, 0) + place_of(a, i, j);
    T value = multiply_add(alpha * at<T>(x, i), conjugate_if(at<T>(y, j), is_conjugated), *to);
    if (both) {
        T other = conjugate_if(alpha, is_hermitian) * at<T>(y, i);
        value = multiply_add(other, conjugate_if(at<T>(x, j), is_conjugated), value);
    }
    if (is_hermitian && i == j) value = (value + conjugate(value)) * T{(typename Traits<T>::Real)0.5};
    *to = value;
}

// Solves a * x = alpha * b in place, a CTA for each right side. The matrix is a triangle.
template <class T>
__device__ inline void solve(const Shaped &a, u32 n, const Scalar &alpha_at, u64 base, i64 row, i64 column,
                             u32 is_array) {
    u32 batch = blockIdx.z;
    T *b = is_array ? ((T *const *)base)[batch] : (T *)base;
    b += column * blockIdx.x;
    const T *start = start_of<T>(a, batch);
    T alpha = ScalarOf<T>::get(alpha_at);
    for (u32 i = threadIdx.x; i < n; i += 128) b[row * i] = alpha * b[row * i];
    __syncthreads();
    bool is_lower = !(a.flags & LOWER) == !!(a.flags & TRANSPOSED);
    for (u32 count = 0; count < n; count++) {
        u32 i = is_lower ? count : n - 1 - count;
        T value = b[row * i];
        __syncthreads();
        if (!(a.flags & UNIT_DIAGONAL)) value = value / element(a, start, i, i);
        if (threadIdx.x == 0) b[row * i] = value;
        u32 end = is_lower ? n : i;
        for (u32 k = (is_lower ? i + 1 : 0) + threadIdx.x; k < end; k += 128) {
            T factor = element(a, start, k, i);
            b[row * k] = b[row * k] - factor * value;
        }
        __syncthreads();
    }
}

// c = alpha * op(a) + beta * op(b); a matrix whose scalar is zero is not read.
template <class T>
__device__ inline void add(u32 m, u32 n, const Scalar &alpha_at, const Shaped &a, const Scalar &beta_at,
                           const Shaped &b, u64 c, i64 leading) {
    u32 i = blockIdx.x * 16 + threadIdx.x % 16, j = blockIdx.y * 16 + threadIdx.x / 16;
    if (i >= m || j >= n) return;
    T alpha = ScalarOf<T>::get(alpha_at), beta = ScalarOf<T>::get(beta_at);
    T value = zero_of(T());
    if (!is_zero(alpha)) value = alpha * element(a, (const T *)a.base, i, j);
    if (!is_zero(beta)) value = multiply_add(beta, element(b, (const T *)b.base, i, j), value);
    ((T *)c)[leading * j + i] = value;
}

// c = a * diag(x), or diag(x) * a for `from_left`.
template <class T>
__device__ inline void diagonal(u32 m, u32 n, u32 from_left, const Shaped &a, Vector x, u64 c, i64 leading) {
    u32 i = blockIdx.x * 16 + threadIdx.x % 16, j = blockIdx.y * 16 + threadIdx.x / 16;
    if (i >= m || j >= n) return;
    ((T *)c)[leading * j + i] = element(a, (const T *)a.base, i, j) * at<T>(x, from_left ? i : j);
}

// Copies a triangle from one storage to another.
template <class T> __device__ inline void triangle(u32 n, const Shaped &from, const Shaped &to) {
    u32 i = blockIdx.x * 16 + threadIdx.x % 16, j = blockIdx.y * 16 + threadIdx.x / 16;
    if (i >= n || j >= n || (from.flags & LOWER && i < j) || (from.flags & UPPER && i > j)) return;
    ((T *)to.base)[place_of(to, i, j)] = ((const T *)from.base)[place_of(from, i, j)];
}

template <class T> __device__ inline typename Traits<T>::Real size_of_pivot(T value) { return absolute(value); }
template <class R> __device__ inline R size_of_pivot(Complex<R> value) {
    return absolute(value.re) + absolute(value.im);
}

// Factors of square matrices with partial pivoting, a CTA for each matrix. Without `pivots`, rows stay.
template <class T> __device__ inline void factor(u32 n, const Shaped &a, int *pivots, int *information) {
    typedef typename Traits<T>::Real Real;
    __shared__ Real sizes[128];
    __shared__ u32 rows[128];
    T *start = start_of<T>(a, blockIdx.x);
    i64 leading = a.leading;
    int zero = 0;
    for (u32 k = 0; k < n; k++) {
        u32 chosen = k;
        if (pivots) {
            Real best = -1;
            u32 row = k;
            for (u32 i = k + threadIdx.x; i < n; i += 128) {
                Real size = size_of_pivot(start[leading * k + i]);
                if (size > best) {
                    best = size;
                    row = i;
                }
            }
            sizes[threadIdx.x] = best;
            rows[threadIdx.x] = row;
            __syncthreads();
            best = -1;
            for (u32 thread = 0; thread < 128; thread++) {
                if (sizes[thread] > best || (sizes[thread] == best && rows[thread] < chosen)) {
                    best = sizes[thread];
                    chosen = rows[thread];
                }
            }
            if (threadIdx.x == 0) pivots[(i64)blockIdx.x * n + k] = (int)chosen + 1;
            __syncthreads();
            if (chosen != k) {
                for (u32 j = threadIdx.x; j < n; j += 128) {
                    T value = start[leading * j + k];
                    start[leading * j + k] = start[leading * j + chosen];
                    start[leading * j + chosen] = value;
                }
                __syncthreads();
            }
        }
        T pivot = start[leading * k + k];
        if (is_zero(pivot)) {
            if (zero == 0) zero = (int)k + 1;
            continue;
        }
        for (u32 i = k + 1 + threadIdx.x; i < n; i += 128) {
            start[leading * k + i] = start[leading * k + i] / pivot;
        }
        __syncthreads();
        u32 rest = n - k - 1;
        for (u32 place = threadIdx.x; place < rest * rest; place += 128) {
            u32 i = k + 1 + place % rest, j = k + 1 + place / rest;
            T *to = start + leading * j + i;
            *to = *to - start[leading * k + i] * start[leading * j + k];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0 && information) information[blockIdx.x] = zero;
}

// Exchanges rows of right sides as the factors did, or back.
template <class T>
__device__ inline void permute(u32 n, u32 columns, const int *pivots, const Shaped &b, u32 is_backwards) {
    T *start = start_of<T>(b, blockIdx.z);
    const int *own = pivots + (i64)blockIdx.z * n;
    for (u32 j = blockIdx.x * 128 + threadIdx.x; j < columns; j += gridDim.x * 128) {
        for (u32 count = 0; count < n; count++) {
            u32 k = is_backwards ? n - 1 - count : count;
            u32 other = (u32)own[k] - 1;
            T value = start[b.leading * j + k];
            start[b.leading * j + k] = start[b.leading * j + other];
            start[b.leading * j + other] = value;
        }
    }
}

// Identity matrices.
template <class T> __device__ inline void identity(u32 n, const Shaped &c) {
    u32 i = blockIdx.x * 16 + threadIdx.x % 16, j = blockIdx.y * 16 + threadIdx.x / 16;
    if (i < n && j < n) start_of<T>(c, blockIdx.z)[c.leading * j + i] = i == j ? T{1} : zero_of(T());
}

#define CONST const __grid_constant__
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

#define OF_TYPE(NAME, T)                                                                                           \
    KERNEL(128)                                                                                                    \
    voltsim_matvec_##NAME(CONST Shaped a, u32 rows, u32 columns, CONST Scalar alpha, Vector x, CONST Scalar beta,  \
                          Vector y) {                                                                              \
        matvec<T>(a, rows, columns, alpha, x, beta, y);                                                            \
    }                                                                                                              \
    KERNEL(256)                                                                                                    \
    voltsim_rank_##NAME(CONST Shaped a, u32 rows, u32 columns, CONST Scalar alpha, Vector x, Vector y, u32 both) { \
        rank<T>(a, rows, columns, alpha, x, y, both);                                                              \
    }                                                                                                              \
    KERNEL(128)                                                                                                    \
    voltsim_solve_##NAME(CONST Shaped a, u32 n, CONST Scalar alpha, u64 b, i64 row, i64 column, u32 is_array) {    \
        solve<T>(a, n, alpha, b, row, column, is_array);                                                           \
    }                                                                                                              \
    KERNEL(256)                                                                                                    \
    voltsim_geam_##NAME(u32 m, u32 n, CONST Scalar alpha, CONST Shaped a, CONST Scalar beta, CONST Shaped b,       \
                        u64 c, i64 leading) {                                                                      \
        add<T>(m, n, alpha, a, beta, b, c, leading);                                                               \
    }                                                                                                              \
    KERNEL(256)                                                                                                    \
    voltsim_dgmm_##NAME(u32 m, u32 n, u32 from_left, CONST Shaped a, Vector x, u64 c, i64 leading) {               \
        diagonal<T>(m, n, from_left, a, x, c, leading);                                                            \
    }                                                                                                              \
    KERNEL(256)                                                                                                    \
    voltsim_triangle_##NAME(u32 n, CONST Shaped from, CONST Shaped to) { triangle<T>(n, from, to); }               \
    KERNEL(128)                                                                                                    \
    voltsim_getrf_##NAME(u32 n, CONST Shaped a, u64 pivots, u64 information) {                                     \
        factor<T>(n, a, (int *)pivots, (int *)information);                                                        \
    }                                                                                                              \
    KERNEL(128)                                                                                                    \
    voltsim_permute_##NAME(u32 n, u32 columns, u64 pivots, CONST Shaped b, u32 is_backwards) {                     \
        permute<T>(n, columns, (const int *)pivots, b, is_backwards);                                              \
    }                                                                                                              \
    KERNEL(256)                                                                                                    \
    voltsim_identity_##NAME(u32 n, CONST Shaped c) { identity<T>(n, c); }

OF_TYPE(f32, float)
OF_TYPE(f64, double)
OF_TYPE(c32, complex32)
OF_TYPE(c64, complex64)
