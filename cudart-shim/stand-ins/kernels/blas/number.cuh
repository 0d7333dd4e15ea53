// Types of elements, their conversions, and arithmetic of complex numbers.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

// Types of elements, with the numbers of `element.rs`.
enum Type : u32 {
    F32 = 0,
    F16 = 1,
    BF16 = 2,
    F64 = 3,
    S8 = 4,
    S32 = 5,
    C32 = 6,
    C64 = 7,
    E4M3 = 8,
    E5M2 = 9,
};

__device__ inline float half_to_float(u16 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

__device__ inline u16 float_to_half(float value) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

__device__ inline float bits_to_float(u32 bits) { return __int_as_float((int)bits); }

__device__ inline u32 float_to_bits(float value) { return (u32)__float_as_int(value); }

__device__ inline float bfloat_to_float(u16 bits) { return bits_to_float((u32)bits << 16); }

__device__ inline u16 float_to_bfloat(float value) {
    u32 bits = float_to_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return (u16)(bits >> 16 | 0x40);
    return (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// A float of eight bits with `MANTISSA` bits of mantissa; the exponent's bias is that of half precision
// for two bits, and 7 for three.
template <int MANTISSA> __device__ inline float eight_to_float(u8 bits) {
    u32 magnitude = bits & 0x7f;
    u32 sign = (u32)(bits & 0x80) << 24;
    if (MANTISSA == 2) return half_to_float((u16)(bits << 8));
    if (magnitude == 0x7f) return bits_to_float(sign | 0x7fc00000);
    // The exponent of half precision is 8 more.
    float value = half_to_float((u16)(magnitude << 7)) * 256.0f;
    return bits_to_float(sign | float_to_bits(value));
}

template <class Real> struct Complex {
    Real re, im;
};

typedef Complex<float> complex32;
typedef Complex<double> complex64;

template <class T> struct Traits {
    typedef T Real;
    static const bool IS_COMPLEX = false;
};

template <class R> struct Traits<Complex<R>> {
    typedef R Real;
    static const bool IS_COMPLEX = true;
};

__device__ inline float zero_of(float) { return 0.0f; }
__device__ inline double zero_of(double) { return 0.0; }
__device__ inline int zero_of(int) { return 0; }
template <class R> __device__ inline Complex<R> zero_of(Complex<R>) { return Complex<R>{0, 0}; }

__device__ inline float multiply_add(float a, float b, float c) { return a * b + c; }
__device__ inline double multiply_add(double a, double b, double c) { return a * b + c; }
__device__ inline int multiply_add(int a, int b, int c) { return a * b + c; }

template <class R> __device__ inline Complex<R> multiply_add(Complex<R> a, Complex<R> b, Complex<R> c) {
    R re = a.re * b.re + c.re;
    R im = a.re * b.im + c.im;
    return Complex<R>{re - a.im * b.im, im + a.im * b.re};
}

template <class R> __device__ inline Complex<R> operator+(Complex<R> a, Complex<R> b) {
    return Complex<R>{a.re + b.re, a.im + b.im};
}

template <class R> __device__ inline Complex<R> operator-(Complex<R> a, Complex<R> b) {
    return Complex<R>{a.re - b.re, a.im - b.im};
}

template <class R> __device__ inline Complex<R> operator*(Complex<R> a, Complex<R> b) {
    return Complex<R>{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

__device__ inline float absolute(float value) { return value < 0 ? -value : value; }
__device__ inline double absolute(double value) { return value < 0 ? -value : value; }

// Quotient of complex numbers by Smith's method, which keeps the squares in range.
template <class R> __device__ inline Complex<R> operator/(Complex<R> a, Complex<R> b) {
    if (absolute(b.re) >= absolute(b.im)) {
        R ratio = b.im / b.re;
        R scale = b.re + b.im * ratio;
        return Complex<R>{(a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale};
    }
    R ratio = b.re / b.im;
    R scale = b.re * ratio + b.im;
    return Complex<R>{(a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale};
}

__device__ inline float conjugate(float value) { return value; }
__device__ inline double conjugate(double value) { return value; }
__device__ inline int conjugate(int value) { return value; }
template <class R> __device__ inline Complex<R> conjugate(Complex<R> value) {
    return Complex<R>{value.re, -value.im};
}

template <class T> __device__ inline T conjugate_if(T value, bool yes) { return yes ? conjugate(value) : value; }

// Element `index` of an array of `type`, as a number to calculate with.
__device__ inline float load_mixed(u64 base, i64 index, u32 type) {
    switch (type) {
        case F32: return ((const float *)base)[index];
        case F16: return half_to_float(((const u16 *)base)[index]);
        case BF16: return bfloat_to_float(((const u16 *)base)[index]);
        case S8: return (float)((const signed char *)base)[index];
        case S32: return (float)((const int *)base)[index];
        case E4M3: return eight_to_float<3>(((const u8 *)base)[index]);
        default: return eight_to_float<2>(((const u8 *)base)[index]);
    }
}

__device__ inline void store_mixed(u64 base, i64 index, u32 type, float value) {
    switch (type) {
        case F32: ((float *)base)[index] = value; break;
        case F16: ((u16 *)base)[index] = float_to_half(value); break;
        default: ((u16 *)base)[index] = float_to_bfloat(value); break;
    }
}

// A scalar that the host gave, or the program's memory of a device.
struct Scalar {
    u64 address;
    u32 type;
    u32 padding;
    double re, im;
};

__device__ inline double real_of(const Scalar &scalar) {
    if (!scalar.address) return scalar.re;
    switch (scalar.type) {
        case F32:
        case C32: return *(const float *)scalar.address;
        case F16: return half_to_float(*(const u16 *)scalar.address);
        case S32: return *(const int *)scalar.address;
        default: return *(const double *)scalar.address;
    }
}

__device__ inline double imaginary_of(const Scalar &scalar) {
    if (!scalar.address) return scalar.im;
    switch (scalar.type) {
        case C32: return ((const float *)scalar.address)[1];
        case C64: return ((const double *)scalar.address)[1];
        default: return 0;
    }
}

template <class T> struct ScalarOf {
    static __device__ T get(const Scalar &scalar) { return (T)real_of(scalar); }
};

template <class R> struct ScalarOf<Complex<R>> {
    static __device__ Complex<R> get(const Scalar &scalar) {
        return Complex<R>{(R)real_of(scalar), (R)imaginary_of(scalar)};
    }
};

__device__ inline bool is_zero(float value) { return value == 0; }
__device__ inline bool is_zero(double value) { return value == 0; }
template <class R> __device__ inline bool is_zero(Complex<R> value) { return value.re == 0 && value.im == 0; }
