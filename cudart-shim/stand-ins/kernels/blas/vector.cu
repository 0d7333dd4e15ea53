// Level 1: operations on vectors.
#include "number.cuh"

enum : u32 { THREADS = 256 };

// The start is that of element 0, for a negative increment too.
struct Vector {
    u64 start;
    i64 increment;
};

template <class T> __device__ inline T &at(const Vector &v, u32 index) {
    return ((T *)v.start)[v.increment * index];
}

__device__ inline u32 first() { return blockIdx.x * THREADS + threadIdx.x; }
__device__ inline u32 step() { return gridDim.x * THREADS; }

template <class T> __device__ inline void axpy(u32 n, const Scalar &alpha, Vector x, Vector y) {
    T factor = ScalarOf<T>::get(alpha);
    for (u32 i = first(); i < n; i += step()) at<T>(y, i) = multiply_add(factor, at<T>(x, i), at<T>(y, i));
}

// The factor may be real.
template <class T> __device__ inline void scale(u32 n, const Scalar &alpha, Vector x) {
    T factor = ScalarOf<T>::get(alpha);
    for (u32 i = first(); i < n; i += step()) at<T>(x, i) = factor * at<T>(x, i);
}

template <class T> __device__ inline void exchange(u32 n, Vector x, Vector y) {
    for (u32 i = first(); i < n; i += step()) {
        T value = at<T>(x, i);
        at<T>(x, i) = at<T>(y, i);
        at<T>(y, i) = value;
    }
}

template <class T> __device__ inline void duplicate(u32 n, Vector x, Vector y) {
    for (u32 i = first(); i < n; i += step()) at<T>(y, i) = at<T>(x, i);
}

// Sums of the threads of a CTA, in one order.
template <class T> __device__ inline T sum_of(T value) {
    __shared__ T partial[THREADS];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (u32 half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] = partial[threadIdx.x] + partial[threadIdx.x + half];
        __syncthreads();
    }
    return partial[0];
}

template <class T> __device__ inline void dot(u32 n, Vector x, Vector y, u32 is_conjugated, u64 result) {
    T sum = zero_of(T());
    for (u32 i = threadIdx.x; i < n; i += THREADS) {
        sum = multiply_add(conjugate_if(at<T>(x, i), is_conjugated), at<T>(y, i), sum);
    }
    sum = sum_of(sum);
    if (threadIdx.x == 0) *(T *)result = sum;
}

__device__ inline float magnitude(float value) { return absolute(value); }
__device__ inline double magnitude(double value) { return absolute(value); }
template <class R> __device__ inline R magnitude(Complex<R> value) {
    return absolute(value.re) + absolute(value.im);
}

template <class T> __device__ inline void sum_of_magnitudes(u32 n, Vector x, u64 result) {
    typedef typename Traits<T>::Real Real;
    Real sum = 0;
    for (u32 i = threadIdx.x; i < n; i += THREADS) sum += magnitude(at<T>(x, i));
    sum = sum_of(sum);
    if (threadIdx.x == 0) *(Real *)result = sum;
}

__device__ inline double square_root(double value) {
    double root;
    asm("sqrt.rn.f64 %0, %1;" : "=d"(root) : "d"(value));
    return root;
}

__device__ inline double square(float value) { return (double)value * value; }
__device__ inline double square(double value) { return value * value; }

// Adds the square of a part, in units of the largest one so far.
__device__ inline void add_square(double value, double &largest, double &sum) {
    double size = absolute(value);
    if (size == 0) return;
    if (size > largest) {
        double ratio = largest / size;
        sum = 1 + sum * ratio * ratio;
        largest = size;
    } else {
        double ratio = size / largest;
        sum += ratio * ratio;
    }
}

__device__ inline void add_squares(float value, double &, double &sum) { sum += square(value); }
__device__ inline void add_squares(double value, double &largest, double &sum) { add_square(value, largest, sum); }
__device__ inline void add_squares(complex32 value, double &, double &sum) {
    sum += square(value.re) + square(value.im);
}
__device__ inline void add_squares(complex64 value, double &largest, double &sum) {
    add_square(value.re, largest, sum);
    add_square(value.im, largest, sum);
}

// Squares of floats fit into doubles; squares of doubles count in units of the largest magnitude.
template <class T> __device__ inline void norm(u32 n, Vector x, u64 result) {
    typedef typename Traits<T>::Real Real;
    __shared__ double all_largest[THREADS], all_sums[THREADS];
    double largest = sizeof(Real) == 8 ? 0 : 1, sum = 0;
    for (u32 i = threadIdx.x; i < n; i += THREADS) add_squares(at<T>(x, i), largest, sum);
    all_largest[threadIdx.x] = largest;
    all_sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    largest = 0;
    for (u32 i = 0; i < THREADS; i++) {
        if (all_largest[i] > largest) largest = all_largest[i];
    }
    sum = 0;
    for (u32 i = 0; i < THREADS; i++) {
        if (largest == 0) break;
        double ratio = all_largest[i] / largest;
        sum += all_sums[i] * ratio * ratio;
    }
    *(Real *)result = (Real)(largest * square_root(sum));
}

// Index, from 1 on, of the first element with the largest or least magnitude; 0 for no elements.
template <class T> __device__ inline void extreme(u32 n, Vector x, u32 least, u64 result, u32 is_wide) {
    typedef typename Traits<T>::Real Real;
    __shared__ Real sizes[THREADS];
    __shared__ u32 indices[THREADS];
    Real best = 0;
    u32 index = 0;
    for (u32 i = threadIdx.x; i < n; i += THREADS) {
        Real size = magnitude(at<T>(x, i));
        if (index == 0 || (least ? size < best : size > best)) {
            best = size;
            index = i + 1;
        }
    }
    sizes[threadIdx.x] = best;
    indices[threadIdx.x] = index;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (u32 i = 1; i < THREADS; i++) {
        if (indices[i] == 0) continue;
        bool is_better = least ? sizes[i] < best : sizes[i] > best;
        if (is_better || (sizes[i] == best && indices[i] < index)) {
            best = sizes[i];
            index = indices[i];
        }
    }
    if (is_wide) {
        *(i64 *)result = index;
    } else {
        *(u32 *)result = index;
    }
}

// A plane rotation with a real cosine.
template <class T> __device__ inline void rotate(u32 n, Vector x, Vector y, const Scalar &c, const Scalar &s) {
    T cosine = ScalarOf<T>::get(c), sine = ScalarOf<T>::get(s);
    for (u32 i = first(); i < n; i += step()) {
        T left = at<T>(x, i), right = at<T>(y, i);
        at<T>(x, i) = cosine * left + sine * right;
        at<T>(y, i) = cosine * right - conjugate(sine) * left;
    }
}

// A modified rotation; the parameters are flag, h11, h21, h12, h22.
template <class T> __device__ inline void rotate_modified(u32 n, Vector x, Vector y, u64 parameters, T flag, T h11,
                                                          T h21, T h12, T h22) {
    if (parameters) {
        const T *given = (const T *)parameters;
        flag = given[0], h11 = given[1], h21 = given[2], h12 = given[3], h22 = given[4];
    }
    if (flag == -2) return;
    if (flag == 0) h11 = 1, h22 = 1;
    if (flag == 1) h12 = 1, h21 = -1;
    for (u32 i = first(); i < n; i += step()) {
        T left = at<T>(x, i), right = at<T>(y, i);
        at<T>(x, i) = left * h11 + right * h12;
        at<T>(y, i) = left * h21 + right * h22;
    }
}

#define KERNEL extern "C" __global__ void __launch_bounds__(256)

#define OF_TYPE(NAME, T)                                                                                         \
    KERNEL voltsim_axpy_##NAME(u32 n, const __grid_constant__ Scalar alpha, Vector x, Vector y) {                \
        axpy<T>(n, alpha, x, y);                                                                                 \
    }                                                                                                            \
    KERNEL voltsim_scal_##NAME(u32 n, const __grid_constant__ Scalar alpha, Vector x) { scale<T>(n, alpha, x); } \
    KERNEL voltsim_copy_##NAME(u32 n, Vector x, Vector y) { duplicate<T>(n, x, y); }                             \
    KERNEL voltsim_swap_##NAME(u32 n, Vector x, Vector y) { exchange<T>(n, x, y); }                              \
    KERNEL voltsim_dot_##NAME(u32 n, Vector x, Vector y, u32 is_conjugated, u64 result) {                        \
        dot<T>(n, x, y, is_conjugated, result);                                                                  \
    }                                                                                                            \
    KERNEL voltsim_asum_##NAME(u32 n, Vector x, u64 result) { sum_of_magnitudes<T>(n, x, result); }              \
    KERNEL voltsim_nrm2_##NAME(u32 n, Vector x, u64 result) { norm<T>(n, x, result); }                           \
    KERNEL voltsim_amax_##NAME(u32 n, Vector x, u32 least, u64 result, u32 is_wide) {                            \
        extreme<T>(n, x, least, result, is_wide);                                                                \
    }                                                                                                            \
    KERNEL voltsim_rot_##NAME(u32 n, Vector x, Vector y, const __grid_constant__ Scalar c,                       \
                              const __grid_constant__ Scalar s) {                                                \
        rotate<T>(n, x, y, c, s);                                                                                \
    }

OF_TYPE(f32, float)
OF_TYPE(f64, double)
OF_TYPE(c32, complex32)
OF_TYPE(c64, complex64)

KERNEL voltsim_rotm_f32(u32 n, Vector x, Vector y, u64 parameters, float flag, float h11, float h21, float h12,
                        float h22) {
    rotate_modified<float>(n, x, y, parameters, flag, h11, h21, h12, h22);
}

KERNEL voltsim_rotm_f64(u32 n, Vector x, Vector y, u64 parameters, double flag, double h11, double h21, double h12,
                        double h22) {
    rotate_modified<double>(n, x, y, parameters, flag, h11, h21, h12, h22);
}

// Vectors of half precision, bfloat16 and floats, with sums in single precision.
KERNEL voltsim_dot_mixed(u32 n, Vector x, u32 x_type, Vector y, u32 y_type, u64 result, u32 type) {
    float sum = 0;
    for (u32 i = threadIdx.x; i < n; i += THREADS) {
        sum += load_mixed(x.start, x.increment * i, x_type) * load_mixed(y.start, y.increment * i, y_type);
    }
    sum = sum_of(sum);
    if (threadIdx.x == 0) store_mixed(result, 0, type, sum);
}

KERNEL voltsim_nrm2_mixed(u32 n, Vector x, u32 x_type, u64 result, u32 type) {
    double sum = 0;
    for (u32 i = threadIdx.x; i < n; i += THREADS) sum += square(load_mixed(x.start, x.increment * i, x_type));
    sum = sum_of(sum);
    if (threadIdx.x == 0) store_mixed(result, 0, type, (float)square_root(sum));
}

KERNEL voltsim_axpy_mixed(u32 n, const __grid_constant__ Scalar alpha, Vector x, u32 x_type, Vector y, u32 y_type) {
    float factor = ScalarOf<float>::get(alpha);
    for (u32 i = first(); i < n; i += step()) {
        float sum = load_mixed(y.start, y.increment * i, y_type);
        sum += factor * load_mixed(x.start, x.increment * i, x_type);
        store_mixed(y.start, y.increment * i, y_type, sum);
    }
}

KERNEL voltsim_scal_mixed(u32 n, const __grid_constant__ Scalar alpha, Vector x, u32 x_type) {
    float factor = ScalarOf<float>::get(alpha);
    for (u32 i = first(); i < n; i += step()) {
        store_mixed(x.start, x.increment * i, x_type, factor * load_mixed(x.start, x.increment * i, x_type));
    }
}
