// Intrinsics of half and bfloat16, scalar and packed, with native instructions: compared bit by bit
// with the vendor's host code or with double precision; approximate functions within their tolerance.
//@ arch: compute_90
//@ modes: shared
//@ flags: --extended-lambda
#include "host_and_device.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string>

template <class T>
struct Operands {
    T a, b, c;
};

template <class T>
struct alignas(4) Pair {
    T low, high;
};

__host__ __device__ static unsigned short bits(__half x) { return __half_as_ushort(x); }
__host__ __device__ static unsigned short bits(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
__host__ __device__ static float number(__half x) { return __half2float(x); }
__host__ __device__ static float number(__nv_bfloat16 x) { return __bfloat162float(x); }
static void from_double(double x, __half &out) { out = __double2half(x); }
static void from_double(double x, __nv_bfloat16 &out) { out = __double2bfloat16(x); }
static void from_bits(unsigned short x, __half &out) { out = __ushort_as_half(x); }
static void from_bits(unsigned short x, __nv_bfloat16 &out) { out = __ushort_as_bfloat16(x); }
__host__ __device__ static __half2 packed(__half low, __half high) { return __halves2half2(low, high); }
__host__ __device__ static __nv_bfloat162 packed(__nv_bfloat16 low, __nv_bfloat16 high) { return __halves2bfloat162(low, high); }

template <class T>
static T rounded(double x) {
    T out;
    from_double(x, out);
    return out;
}

// Returns the bits of a result, with a single NaN.
template <class T>
__host__ __device__ static unsigned short same_nan(T x) {
    return __hisnan(x) ? 0x7fff : bits(x);
}

template <class T>
__host__ __device__ static unsigned same_nans(T low, T high) {
    return same_nan(low) | unsigned(same_nan(high)) << 16;
}

__host__ __device__ static unsigned same_nans(__half2 x) { return same_nans(__low2half(x), __high2half(x)); }
__host__ __device__ static unsigned same_nans(__nv_bfloat162 x) { return same_nans(__low2bfloat16(x), __high2bfloat16(x)); }

// Random bits, and every edge value in every position.
template <class T>
static std::vector<Operands<T>> operands() {
    std::vector<unsigned short> words = random_values<unsigned short>(9000, 0, 0xffff, 5);
    T one = rounded<T>(1);
    const unsigned short edges[] = {0, 0x8000, 1, 0x8001, bits(one), 0x7fff, 0xffff, bits(rounded<T>(INFINITY)),
                                    bits(rounded<T>(-INFINITY)), (unsigned short)(bits(rounded<T>(INFINITY)) - 1)};
    size_t next = 0;
    for (unsigned short edge : edges)
        for (unsigned short other : edges) {
            words[next] = edge, words[next + 1] = other, next += 3;
            words[next] = edge, words[next + 2] = other, next += 3;
            words[next + 1] = edge, words[next + 2] = other, next += 3;
        }
    // Close numbers, whose differences cancel.
    for (size_t i = 3000; i < 6000; i += 3) words[i + 1] = words[i] ^ (words[i + 2] & 0x8007);
    std::vector<Operands<T>> out(words.size() / 3);
    for (size_t i = 0; i < out.size(); ++i) {
        from_bits(words[3 * i], out[i].a);
        from_bits(words[3 * i + 1], out[i].b);
        from_bits(words[3 * i + 2], out[i].c);
    }
    return out;
}

// Eight results of a row of operands.
struct Results {
    unsigned short values[8];
};
struct PackedResults {
    unsigned values[8];
};
struct Integers {
    long long values[8];
};
struct Functions {
    float values[11];
};

template <class T>
static void arithmetic(const std::vector<Operands<T>> &rows) {
    compare_bits("scalars", rows, [] __host__ __device__(const Operands<T> &x) {
        return Results{{same_nan(__hadd(x.a, x.b)), same_nan(__hsub(x.a, x.b)), same_nan(__hmul(x.a, x.b)),
                        same_nan(__hadd_sat(x.a, x.b)), same_nan(__hmul_sat(x.a, x.b)), same_nan(__hsub_sat(x.a, x.b)),
                        same_nan(__hneg(x.a)), same_nan(__habs(x.a))}};
    });
    compare_bits("extrema", rows, [] __host__ __device__(const Operands<T> &x) {
        return Results{{same_nan(__hmin(x.a, x.b)), same_nan(__hmax(x.a, x.b)), same_nan(__hmin_nan(x.a, x.b)),
                        same_nan(__hmax_nan(x.a, x.b)), same_nan(__hmin(x.b, x.c)), same_nan(__hmax(x.b, x.c)),
                        same_nan(__hmin_nan(x.b, x.c)), same_nan(__hmax_nan(x.b, x.c))}};
    });
    compare_bits("pairs", rows, [] __host__ __device__(const Operands<T> &x) {
        auto p = packed(x.a, x.b), q = packed(x.c, x.a);
        return PackedResults{{same_nans(__hadd2(p, q)), same_nans(__hsub2(p, q)), same_nans(__hmul2(p, q)),
                              same_nans(__hadd2_sat(p, q)), same_nans(__hmin2(p, q)), same_nans(__hmax2_nan(p, q)),
                              same_nans(__hneg2(p)), same_nans(__lowhigh2highlow(__habs2(p)))}};
    });
}

// a·b + c, in double precision rounded to odd, so that a second rounding gives what one would: the product is exact.
template <class T>
static double fused_sum(const Operands<T> &x) {
    double product = double(number(x.a)) * number(x.b), sum = product + number(x.c);
    double there = sum - product, error = (product - (sum - there)) + (number(x.c) - there);
    long long word;
    std::memcpy(&word, &sum, sizeof word);
    if (!std::isfinite(sum) || error == 0 || word % 2 != 0) return sum;
    return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

template <class T>
static void fused(const std::vector<Operands<T>> &rows) {
    auto expected = [](const Operands<T> &x) {
        double sum = fused_sum(x);
        bool nan = std::isnan(sum);
        T plain = rounded<T>(sum), relu = nan ? plain : rounded<T>(sum > 0 ? sum : 0);
        T sat = rounded<T>(nan ? 0 : std::fmin(std::fmax(sum, 0), 1));
        return PackedResults{{same_nans(plain, relu), same_nan(sat), same_nans(plain, plain), same_nans(relu, relu),
                              same_nans(sat, sat)}};
    };
    compare_bits(
        "fused products", rows,
        [] __device__(const Operands<T> &x) {
            auto p = packed(x.a, x.a), q = packed(x.b, x.b), r = packed(x.c, x.c);
            return PackedResults{{same_nans(__hfma(x.a, x.b, x.c), __hfma_relu(x.a, x.b, x.c)),
                                  same_nan(__hfma_sat(x.a, x.b, x.c)), same_nans(__hfma2(p, q, r)),
                                  same_nans(__hfma2_relu(p, q, r)), same_nans(__hfma2_sat(p, q, r))}};
        },
        expected);
}

template <class T>
static void comparisons(const std::vector<Operands<T>> &rows) {
    compare_bits("comparisons", rows, [] __host__ __device__(const Operands<T> &x) {
        auto p = packed(x.a, x.b), q = packed(x.c, x.a);
        unsigned scalars = __heq(x.a, x.b) | __hne(x.a, x.b) << 1 | __hle(x.a, x.b) << 2 | __hge(x.a, x.b) << 3 |
                           __hlt(x.a, x.b) << 4 | __hgt(x.a, x.b) << 5 | __hequ(x.a, x.b) << 6 | __hneu(x.a, x.b) << 7 |
                           __hleu(x.a, x.b) << 8 | __hgeu(x.a, x.b) << 9 | __hltu(x.a, x.b) << 10 |
                           __hgtu(x.a, x.b) << 11 | __hisnan(x.a) << 12 | (__hisinf(x.a) & 3) << 13;
        unsigned both = __hbeq2(p, q) | __hbne2(p, q) << 1 | __hble2(p, q) << 2 | __hbgtu2(p, q) << 3 |
                        __hbltu2(p, q) << 4 | __hbge2(p, q) << 5;
        return PackedResults{{scalars, both, same_nans(__heq2(p, q)), same_nans(__hltu2(p, q)), __hle2_mask(p, q),
                              __hgtu2_mask(p, q), __hneu2_mask(p, q), same_nans(__hisnan2(p))}};
    });
}

// A quotient and a square root are within about one unit in the last place, as the headers' own tolerance permits.
template <class T>
static void functions(double unit) {
    std::vector<T> values;
    for (float x : random_values<float>(1000, 0.01f, 6, 3)) values.push_back(rounded<T>(x));
    DeviceArray<T> in(values);
    DeviceArray<float> out(11 * values.size());
    call_for_each<<<8, 128>>>(in.get(), (Functions *)out.get(), int(values.size()), [] __device__(T x) {
        T half = T(0.5f);
        return Functions{{number(hsqrt(x)), number(hrsqrt(x)), number(hrcp(x)), number(hexp(x)), number(hexp2(x)), number(hlog(x)),
                    number(hlog2(x)), number(hsin(x)), number(hcos(x)), number(htanh_approx(x)), number(__hdiv(half, x))}};
    });
    CHECK_KERNEL();
    std::vector<float> wanted;
    for (T value : values) {
        double x = number(value);
        for (double exact : {std::sqrt(x), 1 / std::sqrt(x), 1 / x, std::exp(x), std::exp2(x), std::log(x), std::log2(x),
                             std::sin(x), std::cos(x), std::tanh(x), 0.5 / x})
            wanted.push_back(float(exact));
    }
    compare("functions", out.download(), wanted, 1.01 * unit);
}

static void conversions() {
    std::vector<float> values = random_values<float>(1500, -70000, 70000);
    for (int i = 0; i < 500; ++i) values[i] *= std::ldexp(1.0f, -(i % 45));
    std::vector<unsigned> words = random_values<unsigned>(1500, 0, 0xffffffffu);
    for (unsigned word : words) {
        float any;
        std::memcpy(&any, &word, sizeof any);
        values.push_back(any);
    }
    compare_bits("from float", values, [] __host__ __device__(float x) {
        return Results{{same_nan(__float2half_rn(x)), same_nan(__float2half_rz(x)), same_nan(__float2half_ru(x)),
                        same_nan(__float2half_rd(x)), same_nan(__float2bfloat16_rn(x)), same_nan(__float2bfloat16_rz(x)),
                        same_nan(__float2bfloat16_ru(x)), same_nan(__float2bfloat16_rd(x))}};
    });
    compare_bits("from double", values, [] __host__ __device__(float x) {
        double y = x * 1.0000000001;
        return Pair<unsigned short>{same_nan(__double2half(y)), same_nan(__double2bfloat16(y))};
    });
    compare_bits("from integers", words, [] __host__ __device__(unsigned x) {
        return Results{{bits(__int2half_rn(int(x) >> x % 32)), bits(__int2half_rz(int(x) >> x % 32)),
                        bits(__uint2half_ru(x >> x % 32)), bits(__ushort2half_rd((unsigned short)x)),
                        bits(__ll2half_rn((long long)(int)x >> x % 32)), bits(__int2bfloat16_rn(int(x) >> x % 32)),
                        bits(__uint2bfloat16_rn(x >> x % 32)), bits(__ull2bfloat16_rn((unsigned long long)x << x % 32))}};
    });
    std::vector<unsigned short> all(0x10000);
    for (int i = 0; i < 0x10000; ++i) all[i] = (unsigned short)i;
    compare_bits("to integers", all, [] __host__ __device__(unsigned short x) {
        __half h = __ushort_as_half(x);
        __nv_bfloat16 b = __ushort_as_bfloat16(x);
        return Integers{{__half2int_rz(h), __half2uint_rz(h), __half2short_rz(h), __half2ll_rz(h), __bfloat162int_rz(b),
                         __bfloat162ushort_rz(b), __bfloat162char_rz(b), (long long)__bfloat162ull_rz(b)}};
    });
}

template <class T>
static void all_of(double unit) {
    std::vector<Operands<T>> rows = operands<T>();
    arithmetic(rows);
    fused(rows);
    comparisons(rows);
    functions<T>(unit);
}

int main() {
    all_of<__half>(1.0 / 1024);
    all_of<__nv_bfloat16>(1.0 / 128);
    conversions();
    return finish();
}
