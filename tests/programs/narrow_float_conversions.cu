// Conversions between floats and 8-bit, 6-bit and 4-bit floats by
// Blackwell's instructions, compared bit by bit with the vendor's host code.
//@ arch: compute_100a
//@ modes: shared
//@ flags: --extended-lambda
#include "host_and_device.h"

#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

struct Bytes {
    unsigned char values[12];
};
struct HalfWords {
    unsigned short values[8];
};

__host__ __device__ static float2 pair(float x) { return make_float2(x, -0.75f * x); }

// Values around those of the narrow formats, including ties, and random bits.
static std::vector<float> values() {
    std::vector<float> out;
    for (int exponent = -20; exponent < 20; ++exponent)
        for (int steps = 0; steps < 64; ++steps) {
            float value = std::ldexp(1 + steps / 64.0f, exponent);
            out.insert(out.end(), {value, -value, std::nextafter(value, 0.0f), std::nextafter(value, 1e9f)});
        }
    for (unsigned word : random_values<unsigned>(2000, 0, 0xffffffffu, 9)) {
        float any;
        std::memcpy(&any, &word, sizeof any);
        out.push_back(any);
    }
    out.insert(out.end(), {0, -0.0f, INFINITY, -INFINITY, NAN});
    return out;
}

static void to_eight_bits(const std::vector<float> &values) {
    compare_bits("float to 8 bits", values, [] __host__ __device__(float x) {
        __nv_fp8x2_storage_t e4m3 = __nv_cvt_float2_to_fp8x2(pair(x), __NV_SATFINITE, __NV_E4M3);
        __nv_fp8x2_storage_t e5m2 = __nv_cvt_float2_to_fp8x2(pair(x), __NV_SATFINITE, __NV_E5M2);
        return Bytes{{__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3), __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3),
                      __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2), __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2),
                      (unsigned char)e4m3, (unsigned char)(e4m3 >> 8), (unsigned char)e5m2, (unsigned char)(e5m2 >> 8),
                      __nv_cvt_double_to_fp8(x * 1.0000000001, __NV_SATFINITE, __NV_E4M3),
                      __nv_cvt_double_to_fp8(x * 1.0000000001, __NV_SATFINITE, __NV_E5M2),
                      __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf),
                      __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundZero)}};
    });
    compare_bits("half and bfloat16 to 8 bits", values, [] __host__ __device__(float x) {
        __half_raw half = __half(x);
        __nv_bfloat16_raw bfloat = __nv_bfloat16(x);
        return Bytes{{__nv_cvt_halfraw_to_fp8(half, __NV_SATFINITE, __NV_E4M3),
                      __nv_cvt_halfraw_to_fp8(half, __NV_SATFINITE, __NV_E5M2),
                      __nv_cvt_halfraw_to_fp8(half, __NV_NOSAT, __NV_E5M2),
                      __nv_cvt_bfloat16raw_to_fp8(bfloat, __NV_SATFINITE, __NV_E4M3),
                      __nv_cvt_bfloat16raw_to_fp8(bfloat, __NV_SATFINITE, __NV_E5M2),
                      __nv_cvt_bfloat16raw_to_e8m0(bfloat, __NV_SATFINITE, cudaRoundPosInf)}};
    });
}

static void to_fewer_bits(const std::vector<float> &values) {
    compare_bits("float to 6 and 4 bits", values, [] __host__ __device__(float x) {
        __nv_fp6x2_storage_t e2m3 = __nv_cvt_float2_to_fp6x2(pair(x), __NV_E2M3, cudaRoundNearest);
        __nv_fp6x2_storage_t e3m2 = __nv_cvt_float2_to_fp6x2(pair(x), __NV_E3M2, cudaRoundNearest);
        __half_raw half = __half(x);
        __nv_bfloat16_raw bfloat = __nv_bfloat16(x);
        return Bytes{{__nv_cvt_float_to_fp6(x, __NV_E2M3, cudaRoundNearest), __nv_cvt_float_to_fp6(x, __NV_E3M2, cudaRoundNearest),
                      (unsigned char)e2m3, (unsigned char)(e2m3 >> 8), (unsigned char)e3m2, (unsigned char)(e3m2 >> 8),
                      __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest),
                      __nv_cvt_float2_to_fp4x2(pair(x), __NV_E2M1, cudaRoundNearest),
                      __nv_cvt_halfraw_to_fp4(half, __NV_E2M1, cudaRoundNearest),
                      __nv_cvt_bfloat16raw_to_fp4(bfloat, __NV_E2M1, cudaRoundNearest),
                      __nv_cvt_halfraw_to_fp6(half, __NV_E3M2, cudaRoundNearest),
                      __nv_cvt_bfloat16raw_to_fp6(bfloat, __NV_E2M3, cudaRoundNearest)}};
    });
}

// Conversions from every bit pattern.
static void from_narrow() {
    std::vector<unsigned short> all(0x10000);
    for (int i = 0; i < 0x10000; ++i) all[i] = (unsigned short)i;
    compare_bits("to half and bfloat16", all, [] __host__ __device__(unsigned short x) {
        __half2_raw e4m3 = __nv_cvt_fp8x2_to_halfraw2(x, __NV_E4M3), e5m2 = __nv_cvt_fp8x2_to_halfraw2(x, __NV_E5M2);
        __half2_raw e2m3 = __nv_cvt_fp6x2_to_halfraw2(x & 0x3f3f, __NV_E2M3), e2m1 = __nv_cvt_fp4x2_to_halfraw2(x & 0xff, __NV_E2M1);
        return HalfWords{{e4m3.x, e4m3.y, e5m2.x, e5m2.y, e2m3.x, e2m3.y, e2m1.x, e2m1.y}};
    });
    compare_bits("to one half or bfloat16", all, [] __host__ __device__(unsigned short x) {
        __nv_bfloat162_raw e8m0 = __nv_cvt_e8m0x2_to_bf162raw(x);
        return HalfWords{{__nv_cvt_fp8_to_halfraw(x & 0xff, __NV_E4M3).x, __nv_cvt_fp8_to_halfraw(x & 0xff, __NV_E5M2).x,
                          __nv_cvt_fp6_to_halfraw(x & 0x3f, __NV_E3M2).x, __nv_cvt_fp4_to_halfraw(x & 0xf, __NV_E2M1).x, e8m0.x,
                          e8m0.y, __nv_cvt_fp6_to_bf16raw(x & 0x3f, __NV_E2M3).x, __nv_cvt_fp4_to_bf16raw(x & 0xf, __NV_E2M1).x}};
    });
}

int main() {
    to_eight_bits(values());
    to_fewer_bits(values());
    from_narrow();
    return finish();
}
