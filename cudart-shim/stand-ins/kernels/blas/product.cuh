// Arguments of matrix products, and the end of a product: scaling, bias and activation.
#pragma once
#include "number.cuh"

// A matrix, or one matrix for each part of a batch. Strides count elements.
struct Matrix {
    // Address of the first element, or of an array of such addresses.
    u64 base;
    i64 row, column, batch;
    u32 type;
    u32 flags;
};

enum : u32 {
    // The base is an array of addresses.
    IS_ARRAY = 1,
    // Elements are conjugated.
    IS_CONJUGATED = 2,
    // The triangle that is read or written.
    IS_LOWER = 4,
    IS_UPPER = 8,
    // The other triangle is the mirrored one; otherwise it is zero.
    IS_SYMMETRIC = 16,
    IS_HERMITIAN = 32,
    HAS_UNIT_DIAGONAL = 64,
    HAS_TRIANGLE = IS_LOWER | IS_UPPER,
};

// Tells whether an element of a result is written.
__device__ inline bool is_written(const Matrix &matrix, u32 i, u32 j) {
    return !(matrix.flags & IS_LOWER && i < j) && !(matrix.flags & IS_UPPER && i > j);
}

// Parts of an epilogue.
enum : u32 {
    ADD_BIAS = 1,
    RELU = 2,
    GELU = 4,
    // The activation's input goes to the auxiliary matrix.
    STORE_INPUT = 8,
    RELU_GRADIENT = 16,
    GELU_GRADIENT = 32,
    // The bias has an element for each column.
    BIAS_OF_COLUMN = 64,
};

// d = alpha * a * b + beta * c, with an epilogue.
struct Product {
    Matrix a, b, c, d;
    u32 m, n, k, batches;
    Scalar alpha, beta;
    // Bias, an element for each row.
    u64 bias;
    i64 bias_batch;
    // Input of an activation: elements, or bits for RELU. Strides in elements or bits.
    u64 auxiliary;
    i64 auxiliary_column, auxiliary_batch;
    u32 bias_type, auxiliary_type;
    u32 epilogue, padding;
    // Factors of a, b, c and d in the device's memory, for types of eight bits; 0 for none.
    u64 scale_a, scale_b, scale_c, scale_d;
};

template <class T> __device__ inline const T *start_of(const Matrix &matrix, u32 batch) {
    if (matrix.flags & IS_ARRAY) return ((const T *const *)matrix.base)[batch];
    return (const T *)matrix.base + matrix.batch * batch;
}

__device__ inline u32 size_of(u32 type) {
    switch (type) {
        case S8:
        case E4M3:
        case E5M2: return 1;
        case F16:
        case BF16: return 2;
        case F64:
        case C32: return 8;
        case C64: return 16;
        default: return 4;
    }
}

__device__ inline u64 mixed_start_of(const Matrix &matrix, u32 batch) {
    if (matrix.flags & IS_ARRAY) return ((const u64 *)matrix.base)[batch];
    return matrix.base + matrix.batch * batch * size_of(matrix.type);
}

__device__ inline float exponential(float value) {
    float result;
    asm("ex2.approx.f32 %0, %1;" : "=f"(result) : "f"(value * 1.4426950408889634f));
    return result;
}

__device__ inline float hyperbolic_tangent(float value) {
    float magnitude = absolute(value);
    if (magnitude < 0.05f) {
        float square = value * value;
        return value * (1.0f - square * (0.33333333f - square * 0.13333333f));
    }
    float result = 1.0f - 2.0f / (1.0f + exponential(2.0f * magnitude));
    return value < 0 ? -result : result;
}

// GELU by its usual approximation with a hyperbolic tangent.
__device__ inline float gelu(float x) {
    float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + hyperbolic_tangent(inner));
}

__device__ inline float gelu_slope(float x) {
    float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
    float tangent = hyperbolic_tangent(inner);
    float slope = 0.7978845608f * (1.0f + 0.134145f * x * x);
    return 0.5f * (1.0f + tangent) + 0.5f * x * (1.0f - tangent * tangent) * slope;
}

// Applies the epilogue to element (i, j) of a batch.
__device__ inline float epilogue(const Product &p, u32 batch, u32 i, u32 j, float value) {
    u32 parts = p.epilogue;
    if (parts & ADD_BIAS) {
        value += load_mixed(p.bias, p.bias_batch * batch + (parts & BIAS_OF_COLUMN ? j : i), p.bias_type);
    }
    i64 place = p.auxiliary_batch * batch + p.auxiliary_column * j + i;
    u32 *word = (u32 *)p.auxiliary + (place >> 5);
    u32 bit = 1u << (place & 31);
    if (parts & RELU) {
        bool is_positive = value > 0;
        if (parts & STORE_INPUT) {
            if (is_positive) {
                atomicOr(word, bit);
            } else {
                atomicAnd(word, ~bit);
            }
        }
        return is_positive ? value : 0.0f;
    }
    if (parts & GELU) {
        if (parts & STORE_INPUT) store_mixed(p.auxiliary, place, p.auxiliary_type, value);
        return gelu(value);
    }
    if (parts & RELU_GRADIENT) return *word & bit ? value : 0.0f;
    if (parts & GELU_GRADIENT) return value * gelu_slope(load_mixed(p.auxiliary, place, p.auxiliary_type));
    return value;
}

__device__ inline float scale_at(u64 address) { return address ? *(const float *)address : 1.0f; }

__device__ inline bool is_negative(double value) { return value < 0; }
template <class R> __device__ inline bool is_negative(Complex<R>) { return false; }

// Writes element (i, j) of a product. `c` and `d` are the starts of the matrices of this batch.
__device__ inline void finish(const Product &p, u32 batch, u64 c, u64 d, u32 i, u32 j, float alpha, float beta,
                              float sum) {
    float value = alpha * sum;
    if (beta != 0) {
        value += beta * load_mixed(c, p.c.row * i + p.c.column * j, p.c.type) * scale_at(p.scale_c);
    }
    if (p.epilogue) value = epilogue(p, batch, i, j, value);
    if (p.scale_d) value *= scale_at(p.scale_d);
    store_mixed(d, p.d.row * i + p.d.column * j, p.d.type, value);
}

template <class T>
__device__ inline void finish(const Product &p, u32 batch, u64 c, u64 d, u32 i, u32 j, T alpha, T beta, T sum) {
    T value = alpha * sum;
    if (!is_zero(beta)) value = multiply_add(beta, ((const T *)c)[p.c.row * i + p.c.column * j], value);
    // The bias has the type of the result; the host allows no other epilogue but RELU of real numbers.
    if (p.epilogue & ADD_BIAS) value = value + ((const T *)p.bias)[p.bias_batch * batch + i];
    if (p.epilogue & RELU && is_negative(value)) value = zero_of(T());
    if (p.d.flags & IS_HERMITIAN && i == j) {
        value = (value + conjugate(value)) * T{(typename Traits<T>::Real)0.5};
    }
    ((T *)d)[p.d.row * i + p.d.column * j] = value;
}

// Integers: the scalars are integers, or floats for a result of floats or of eight bits.
__device__ inline void finish(const Product &p, u32, u64 c, u64 d, u32 i, u32 j, double alpha, double beta,
                              int sum) {
    double value = alpha * sum;
    i64 place = p.c.row * i + p.c.column * j;
    if (beta != 0) {
        double before = p.c.type == F32  ? ((const float *)c)[place]
                        : p.c.type == S8 ? ((const signed char *)c)[place]
                                         : ((const int *)c)[place];
        value += beta * before;
    }
    place = p.d.row * i + p.d.column * j;
    if (p.d.type == F32) {
        ((float *)d)[place] = (float)value;
    } else if (p.d.type == S8) {
        int rounded;
        asm("cvt.rni.s32.f64 %0, %1;" : "=r"(rounded) : "d"(value));
        ((signed char *)d)[place] = (signed char)(rounded < -128 ? -128 : rounded > 127 ? 127 : rounded);
    } else {
        asm("cvt.rni.s32.f64 %0, %1;" : "=r"(((int *)d)[place]) : "d"(value));
    }
}
