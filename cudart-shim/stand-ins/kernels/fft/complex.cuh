// Complex numbers, and transforms of a few of them in registers.
#pragma once

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

template <class Real> struct __align__(2 * sizeof(Real)) Complex {
    Real re, im;
};

template <class Real> __device__ inline Complex<Real> operator+(Complex<Real> a, Complex<Real> b) {
    return {a.re + b.re, a.im + b.im};
}

template <class Real> __device__ inline Complex<Real> operator-(Complex<Real> a, Complex<Real> b) {
    return {a.re - b.re, a.im - b.im};
}

template <class Real> __device__ inline Complex<Real> operator*(Complex<Real> a, Complex<Real> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <class Real> __device__ inline Complex<Real> conjugate(Complex<Real> a) { return {a.re, -a.im}; }

// Cosine of `k` turns divided by the radix, for odd radices.
template <int RADIX> __device__ constexpr double cosine(int k) {
    k %= RADIX;
    if (2 * k > RADIX) k = RADIX - k;
    if (k == 0) return 1.0;
    if (RADIX == 3) return -0.5;
    if (RADIX == 5) return k == 1 ? 0.30901699437494742410 : -0.80901699437494742410;
    return k == 1 ? 0.62348980185873353053 : k == 2 ? -0.22252093395631440429 : -0.90096886790241912624;
}

// Sine of `k` turns divided by the radix, for odd radices.
template <int RADIX> __device__ constexpr double sine(int k) {
    k %= RADIX;
    if (2 * k > RADIX) return -sine<RADIX>(RADIX - k);
    if (k == 0) return 0.0;
    if (RADIX == 3) return 0.86602540378443864676;
    if (RADIX == 5) return k == 1 ? 0.95105651629515357212 : 0.58778525229247312917;
    return k == 1 ? 0.78183148246802980871 : k == 2 ? 0.97492791218182360702 : 0.43388373911755812048;
}

// Forward transform of an odd number of values: pairs of values share their products.
template <int RADIX, class Real> __device__ inline void butterfly(Complex<Real> (&values)[RADIX]) {
    constexpr int PAIRS = RADIX / 2;
    Complex<Real> sums[PAIRS], differences[PAIRS];
    Complex<Real> first = values[0];
#pragma unroll
    for (int q = 1; q <= PAIRS; q++) {
        sums[q - 1] = values[q] + values[RADIX - q];
        differences[q - 1] = values[q] - values[RADIX - q];
        values[0] = values[0] + sums[q - 1];
    }
#pragma unroll
    for (int k = 1; k <= PAIRS; k++) {
        Complex<Real> even = first, odd = {0, 0};
#pragma unroll
        for (int q = 1; q <= PAIRS; q++) {
            Real c = (Real)cosine<RADIX>(q * k), s = (Real)sine<RADIX>(q * k);
            even = {even.re + c * sums[q - 1].re, even.im + c * sums[q - 1].im};
            odd = {odd.re + s * differences[q - 1].im, odd.im - s * differences[q - 1].re};
        }
        values[k] = even + odd;
        values[RADIX - k] = even - odd;
    }
}

template <class Real> __device__ inline void butterfly(Complex<Real> (&values)[2]) {
    Complex<Real> difference = values[0] - values[1];
    values[0] = values[0] + values[1];
    values[1] = difference;
}

template <class Real> __device__ inline void butterfly(Complex<Real> (&values)[4]) {
    Complex<Real> a = values[0] + values[2], b = values[0] - values[2];
    Complex<Real> c = values[1] + values[3], d = values[1] - values[3];
    Complex<Real> turned = {d.im, -d.re};
    values[0] = a + c;
    values[1] = b + turned;
    values[2] = a - c;
    values[3] = b - turned;
}
