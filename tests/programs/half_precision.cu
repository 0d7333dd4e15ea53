// half and half2: conversions in all roundings, arithmetic, comparison and functions, against float on the host.
#include "check.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>

__global__ void arithmetic(const __half *a, const __half *b, __half *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    __half *mine = out + 8 * i;
    mine[0] = __hadd(a[i], b[i]);
    mine[1] = __hsub(a[i], b[i]);
    mine[2] = a[i] * b[i];
    mine[3] = __hfma(a[i], b[i], a[i]);
    mine[4] = __hneg(__habs(b[i]));
    mine[5] = __hgt(a[i], b[i]) ? a[i] : b[i];
    mine[6] = __hmax(a[i], b[i]);
    mine[7] = a[i] / b[i];
}

__global__ void pairs(const __half2 *a, const __half2 *b, __half2 *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    __half2 *mine = out + 4 * i;
    mine[0] = __hadd2(a[i], b[i]);
    mine[1] = __hfma2(a[i], b[i], b[i]);
    mine[2] = __lowhigh2highlow(__hmul2(a[i], b[i]));
    mine[3] = __hle2(a[i], b[i]);
}

__global__ void convert(const float *values, unsigned short *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned short *mine = out + 6 * i;
    mine[0] = __half_as_ushort(__float2half_rn(values[i]));
    mine[1] = __half_as_ushort(__float2half_rz(values[i]));
    mine[2] = __half_as_ushort(__float2half_ru(values[i]));
    mine[3] = __half_as_ushort(__float2half_rd(values[i]));
    mine[4] = (unsigned short)__half2int_rz(__float2half(values[i]));
    mine[5] = __half_as_ushort(__int2half_rn(int(values[i])));
}

__global__ void functions(const __half *values, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[3 * i] = __half2float(hsqrt(values[i]));
    out[3 * i + 1] = __half2float(hexp(values[i]));
    out[3 * i + 2] = __half2float(hrcp(values[i]));
}

static float as_float(__half h) { return __half2float(h); }
static __half rounded(float f) { return __float2half_rn(f); }
static unsigned short bits(__half h) {
    unsigned short word;
    std::memcpy(&word, &h, sizeof word);
    return word;
}

static std::vector<unsigned short> bits_of(const std::vector<__half> &values) {
    std::vector<unsigned short> words;
    for (__half value : values) words.push_back(bits(value));
    return words;
}

int main() {
    const int count = 1000;
    std::vector<float> x = random_values<float>(count, -8, 8, 1), y = random_values<float>(count, 0.25, 8, 2);
    std::vector<__half> a, b;
    for (int i = 0; i < count; ++i) a.push_back(rounded(x[i])), b.push_back(rounded(y[i]));

    // Sums, differences and products of halves are exact in float; a fused product is exact in double.
    std::vector<__half> wanted;
    for (int i = 0; i < count; ++i) {
        float p = as_float(a[i]), q = as_float(b[i]);
        for (__half value : {rounded(p + q), rounded(p - q), rounded(p * q), __double2half(double(p) * q + p), rounded(-q),
                             rounded(std::fmax(p, q)), rounded(std::fmax(p, q)), rounded(p / q)})
            wanted.push_back(value);
    }
    DeviceArray<__half> device_a(a), device_b(b), out(8 * count);
    arithmetic<<<8, 128>>>(device_a, device_b, out, count);
    CHECK_KERNEL();
    compare("arithmetic", bits_of(out.download()), bits_of(wanted));

    std::vector<__half> paired;
    for (int i = 0; i < count / 2; ++i) {
        float p[2], q[2];
        for (int k = 0; k < 2; ++k) p[k] = as_float(a[2 * i + k]), q[k] = as_float(b[2 * i + k]);
        for (int k : {0, 1}) paired.push_back(rounded(p[k] + q[k]));
        for (int k : {0, 1}) paired.push_back(__double2half(double(p[k]) * q[k] + q[k]));
        for (int k : {1, 0}) paired.push_back(rounded(p[k] * q[k]));
        for (int k : {0, 1}) paired.push_back(rounded(p[k] <= q[k]));
    }
    DeviceArray<__half> device_pairs(4 * count);
    pairs<<<4, 128>>>((const __half2 *)device_a.get(), (const __half2 *)device_b.get(), (__half2 *)device_pairs.get(), count / 2);
    CHECK_KERNEL();
    compare("pairs", bits_of(device_pairs.download()), bits_of(paired));

    // Ordinary values, subnormal and too large values, and their limits.
    std::vector<float> values = random_values<float>(count, -70000, 70000);
    for (int i = 0; i < 300; ++i) values[i] /= 1e9f * (1 + i % 3);
    const float borders[] = {65504, 65519, 65520, -65520, 5.9604645e-8f, 2.9e-8f, 3.1e-8f, 0, -0.0f, INFINITY, 2049, 2051};
    std::copy(std::begin(borders), std::end(borders), values.begin() + 300);
    std::vector<unsigned short> converted;
    for (float value : values) {
        converted.push_back(bits(__float2half_rn(value)));
        converted.push_back(bits(__float2half_rz(value)));
        converted.push_back(bits(__float2half_ru(value)));
        converted.push_back(bits(__float2half_rd(value)));
        float half = as_float(rounded(value));
        long long whole = std::isinf(half) ? (half > 0 ? 0x7fffffff : -0x80000000ll) : (long long)half;
        converted.push_back((unsigned short)whole);
        converted.push_back(bits(rounded(std::isinf(value) ? 2147483647.0f : float(int(value)))));
    }
    DeviceArray<float> device_values(values);
    DeviceArray<unsigned short> device_converted(6 * count);
    convert<<<8, 128>>>(device_values, device_converted, count);
    CHECK_KERNEL();
    compare("conversions", device_converted.download(), converted);

    std::vector<float> exact;
    for (__half h : b)
        for (float value : {std::sqrt(as_float(h)), std::exp(as_float(h)), 1 / as_float(h)}) exact.push_back(value);
    DeviceArray<float> results(3 * count);
    functions<<<8, 128>>>(device_b, results, count);
    CHECK_KERNEL();
    compare("functions", results.download(), exact, 1.0 / 1024);
    return finish();
}
