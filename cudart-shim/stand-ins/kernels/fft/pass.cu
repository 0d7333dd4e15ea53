// A pass of a Fourier transform: forward transforms of many lines, each in shared memory.
//
// Passes make up every transform. An inverse transform conjugates values before and after. A long line
// takes a pass for each part of its length, with twiddle factors between them. A line with a large
// prime factor is a convolution with a chirp: factors at the load and at the store of two transforms.
//
// The stages are those of Stockham's algorithm (Van Loan, Computational Frameworks for the Fast Fourier
// Transform, 1992), with radices 2, 3, 4, 5 and 7.
#include "complex.cuh"

enum Flag : u32 {
    // The source holds real numbers.
    REAL_IN = 1,
    // The destination holds real numbers.
    REAL_OUT = 2,
    // The source holds the first half of a line; the other half are conjugates.
    HERMITIAN = 4,
    // Conjugates at the load.
    CONJUGATE_IN = 8,
    // Conjugates at the store, before the factors.
    CONJUGATE_OUT = 16,
    // Conjugates at the store, after the factors.
    CONJUGATE_LAST = 32,
    // Neighbours at the load are of different lines.
    LINES_IN = 64,
    // Neighbours at the store are of different lines.
    LINES_OUT = 128,
};

// A dimension of the lines. An address is an offset plus an index times the stride of the pass.
struct Dimension {
    u64 size;
    i64 in_offset, in_index, out_offset, out_index;
};

// As `Pass` of `kernels.rs`.
struct Pass {
    const void *in;
    void *out;
    // Roots of unity: e^(-2 pi i k / n).
    const void *roots;
    // Factors by index of the source, or null.
    const void *load_factors;
    // Factors by index of the destination, or null.
    const void *store_factors;
    // Roots of unity by the first coordinate times the place in the line, or null.
    const void *twiddles;
    u64 lines;
    // Length of the whole line.
    u64 length;
    // Indices from here on are zero at the load, and left out at the store.
    u64 in_limit, out_limit;
    // Distances of indices, and of elements in memory.
    i64 in_element, in_stride, out_element, out_stride;
    Dimension dimensions[6];
    // Radices, four bits each.
    u64 radices;
    u32 n, lines_of_cta, flags, unused;
};

constexpr u32 LINES = 64;

struct Line {
    i64 in_offset, in_index, out_offset, out_index;
    u64 twiddle;
};

__device__ inline Line line_of(const Pass &pass, u64 number) {
    Line line = {0, 0, 0, 0, 0};
#pragma unroll
    for (int d = 0; d < 6; d++) {
        u64 size = pass.dimensions[d].size;
        if (size <= 1) continue;
        u64 rest = number / size;
        i64 place = (i64)(number - rest * size);
        number = rest;
        line.in_offset += place * pass.dimensions[d].in_offset;
        line.in_index += place * pass.dimensions[d].in_index;
        line.out_offset += place * pass.dimensions[d].out_offset;
        line.out_index += place * pass.dimensions[d].out_index;
        if (d == 0) line.twiddle = (u64)place;
    }
    return line;
}

template <class Real> __device__ inline Complex<Real> load(const Pass &pass, const Line &line, u32 element) {
    u64 index = (u64)(line.in_index + element * pass.in_element);
    if (index >= pass.in_limit) return {0, 0};
    bool mirrored = (pass.flags & HERMITIAN) && 2 * index > pass.length;
    u64 source = mirrored ? pass.length - index : index;
    i64 address = line.in_offset + (i64)source * pass.in_stride;
    Complex<Real> value;
    if (pass.flags & REAL_IN) {
        value = {((const Real *)pass.in)[address], 0};
    } else {
        value = ((const Complex<Real> *)pass.in)[address];
    }
    if (mirrored != ((pass.flags & CONJUGATE_IN) != 0)) value = conjugate(value);
    if (pass.load_factors) value = value * ((const Complex<Real> *)pass.load_factors)[index];
    return value;
}

template <class Real>
__device__ inline void store(const Pass &pass, const Line &line, u32 element, Complex<Real> value) {
    u64 index = (u64)(line.out_index + element * pass.out_element);
    if (index >= pass.out_limit) return;
    if (pass.twiddles) value = value * ((const Complex<Real> *)pass.twiddles)[line.twiddle * element];
    if (pass.flags & CONJUGATE_OUT) value = conjugate(value);
    if (pass.store_factors) value = value * ((const Complex<Real> *)pass.store_factors)[index];
    if (pass.flags & CONJUGATE_LAST) value = conjugate(value);
    i64 address = line.out_offset + (i64)index * pass.out_stride;
    if (pass.flags & REAL_OUT) {
        ((Real *)pass.out)[address] = value.re;
    } else {
        ((Complex<Real> *)pass.out)[address] = value;
    }
}

// A stage of `lines` lines of `n` values, after stages whose radices have the product `done`.
template <int RADIX, class Real>
__device__ inline void stage(const Complex<Real> *from, Complex<Real> *to, const Complex<Real> *roots, u32 n,
                             u32 lines, u32 done) {
    u32 part = n / RADIX;
    u32 step = part / done;
    for (u32 i = threadIdx.x; i < lines * part; i += blockDim.x) {
        u32 line = i / part;
        u32 j = i - line * part;
        u32 k = j % done;
        Complex<Real> values[RADIX];
#pragma unroll
        for (int q = 0; q < RADIX; q++) values[q] = from[line * n + j + q * part];
        if (done > 1) {
#pragma unroll
            for (int q = 1; q < RADIX; q++) values[q] = values[q] * roots[k * q * step];
        }
        butterfly(values);
        Complex<Real> *place = to + line * n + (j - k) * RADIX + k;
#pragma unroll
        for (int q = 0; q < RADIX; q++) place[q * done] = values[q];
    }
    __syncthreads();
}

template <class Real, u32 VALUES> __device__ inline void transform(const Pass &pass) {
    __shared__ Complex<Real> first[VALUES], second[VALUES];
    __shared__ Line line[LINES];
    u64 begin = (u64)blockIdx.x * pass.lines_of_cta;
    u64 left = pass.lines - begin;
    u32 lines = left < pass.lines_of_cta ? (u32)left : pass.lines_of_cta;
    u32 n = pass.n;
    for (u32 l = threadIdx.x; l < lines; l += blockDim.x) line[l] = line_of(pass, begin + l);
    __syncthreads();
    bool by_lines = pass.flags & LINES_IN;
    for (u32 i = threadIdx.x; i < lines * n; i += blockDim.x) {
        u32 quotient = i / (by_lines ? lines : n);
        u32 remainder = i - quotient * (by_lines ? lines : n);
        u32 l = by_lines ? remainder : quotient, element = by_lines ? quotient : remainder;
        first[l * n + element] = load<Real>(pass, line[l], element);
    }
    __syncthreads();
    const Complex<Real> *roots = (const Complex<Real> *)pass.roots;
    Complex<Real> *from = first, *to = second;
    u32 done = 1;
    for (u64 radices = pass.radices; radices; radices >>= 4) {
        u32 radix = (u32)radices & 15;
        if (radix == 4) stage<4>(from, to, roots, n, lines, done);
        if (radix == 2) stage<2>(from, to, roots, n, lines, done);
        if (radix == 3) stage<3>(from, to, roots, n, lines, done);
        if (radix == 5) stage<5>(from, to, roots, n, lines, done);
        if (radix == 7) stage<7>(from, to, roots, n, lines, done);
        done *= radix;
        Complex<Real> *swapped = from;
        from = to;
        to = swapped;
    }
    by_lines = pass.flags & LINES_OUT;
    for (u32 i = threadIdx.x; i < lines * n; i += blockDim.x) {
        u32 quotient = i / (by_lines ? lines : n);
        u32 remainder = i - quotient * (by_lines ? lines : n);
        u32 l = by_lines ? remainder : quotient, element = by_lines ? quotient : remainder;
        store<Real>(pass, line[l], element, from[l * n + element]);
    }
}

extern "C" __global__ void __launch_bounds__(256) voltsim_fft_c32(const Pass pass) {
    transform<float, 2048>(pass);
}

extern "C" __global__ void __launch_bounds__(256) voltsim_fft_c64(const Pass pass) {
    transform<double, 1024>(pass);
}
