// 64-bit and 128-bit integer arithmetic, the integer intrinsics and the SIMD-in-a-word intrinsics against the host.
#include "check.h"

#include <string>

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned u32;

__host__ __device__ u64 mix(u64 h, u64 value) { return (h ^ value) * 0x9e3779b97f4a7c15ull + (h >> 29); }

// Arithmetic that C++ defines equally on both sides, where the same code runs.
__host__ __device__ u64 arithmetic(u64 x, u64 y) {
    i64 a = i64(x), b = i64(y), small = b >> 40 | 1;
    u32 shift = y & 63;
    u64 h = 0;
    h = mix(h, x + y), h = mix(h, x - y), h = mix(h, x * y);
    h = mix(h, x / (y | 1)), h = mix(h, x % (y >> 20 | 1));
    h = mix(h, u64(a / small)), h = mix(h, u64(a % small));
    h = mix(h, x << shift), h = mix(h, x >> shift), h = mix(h, u64(a >> shift));
    h = mix(h, a < b), h = mix(h, x < y), h = mix(h, a >= b);
    h = mix(h, u64(i64(double(a) / 2))), h = mix(h, u64(i64(float(a) / 4)));
    h = mix(h, u32(x) / (u32(y) | 1)), h = mix(h, u64(int(x) % (int(y >> 33) | 1)));
    h = mix(h, u64((short)x * (short)y)), h = mix(h, u64((signed char)(x >> 8))), h = mix(h, (unsigned char)(y >> 16));
    unsigned __int128 wide = (unsigned __int128)x * y + x;
    h = mix(h, u64(wide >> 64)), h = mix(h, u64(wide >> shift));
    wide = wide / (y >> 7 | 1);
    return mix(h, u64(wide)) + u64((__int128(a) * b) >> 64);
}

__global__ void run_arithmetic(const u64 *x, const u64 *y, u64 *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = arithmetic(x[i], y[i]);
}

constexpr int kinds = 26;

__global__ void intrinsics(const u64 *x, const u64 *y, u64 *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    u64 a = x[i], b = y[i], *mine = out + kinds * i;
    u32 p = u32(a), q = u32(b);
    int s = int(p), t = int(q);
    mine[0] = __umul64hi(a, b);
    mine[1] = u64(__mul64hi(i64(a), i64(b)));
    mine[2] = __umulhi(p, q);
    mine[3] = u64(__mulhi(s, t));
    mine[4] = __clzll(i64(a >> (b & 63)));
    mine[5] = __clz(int(p >> (q & 31)));
    mine[6] = __ffsll(i64(a << (b & 63)));
    mine[7] = __ffs(int(p << (q & 31)));
    mine[8] = __popcll(a);
    mine[9] = __popc(p);
    mine[10] = __brevll(a);
    mine[11] = __brev(p);
    mine[12] = __byte_perm(p, q, u32(b >> 40) & 0x7777);
    mine[13] = __funnelshift_l(p, q, u32(b >> 33));
    mine[14] = __funnelshift_rc(p, q, u32(b >> 50) & 63);
    mine[15] = __usad(p, q, 5);
    mine[16] = __sad(s, t, 7);
    mine[17] = u64(__hadd(s, t));
    mine[18] = __urhadd(p, q);
    mine[19] = __vadd4(p, q);
    mine[20] = __vabsdiffu4(p, q);
    mine[21] = __vcmpgtu2(p, q);
    mine[22] = __vmaxs2(p, q);
    mine[23] = u64(__dp4a(s, t, 100));
    mine[24] = __mul24(s, t);
    mine[25] = u64(i64(__double_as_longlong(__longlong_as_double(i64(a))))) ^ u32(__float_as_int(__int_as_float(s)));
}

static u64 byte_permutation(u32 p, u32 q, u32 selector) {
    u64 bytes = u64(q) << 32 | p, out = 0;
    for (int k = 0; k < 4; ++k) out |= (bytes >> (8 * (selector >> 4 * k & 7)) & 255) << 8 * k;
    return out;
}

static void intrinsics_on_host(u64 a, u64 b, u64 *mine) {
    u32 p = u32(a), q = u32(b);
    int s = int(p), t = int(q);
    auto leading = [](u64 v, int width) { int n = 0; while (n < width && !(v >> (width - 1 - n) & 1)) ++n; return n; };
    auto first = [](u64 v) { if (!v) return 0; int n = 1; while (!(v & 1)) v >>= 1, ++n; return n; };
    auto reverse = [](u64 v, int width) { u64 r = 0; for (int k = 0; k < width; ++k) r |= (v >> k & 1) << (width - 1 - k); return r; };
    auto ones = [](u64 v) { int n = 0; for (; v; v &= v - 1) ++n; return n; };
    u64 pair = u64(q) << 32 | p;
    u32 left = u32(b >> 33) & 31, right = u32(b >> 50) & 63;
    mine[0] = u64((unsigned __int128)a * b >> 64);
    mine[1] = u64((__int128)i64(a) * i64(b) >> 64);
    mine[2] = u64(p) * q >> 32;
    mine[3] = u64(int(i64(s) * t >> 32));
    mine[4] = leading(a >> (b & 63), 64);
    mine[5] = leading(p >> (q & 31), 32);
    mine[6] = first(a << (b & 63));
    mine[7] = first(u32(p << (q & 31)));
    mine[8] = ones(a);
    mine[9] = ones(p);
    mine[10] = reverse(a, 64);
    mine[11] = reverse(p, 32);
    mine[12] = byte_permutation(p, q, u32(b >> 40) & 0x7777);
    mine[13] = u32((pair << left) >> 32);
    mine[14] = u32(pair >> (right > 32 ? 32 : right));
    mine[15] = u32((p > q ? p - q : q - p) + 5);
    mine[16] = u32((s > t ? u32(s) - u32(t) : u32(t) - u32(s)) + 7);
    mine[17] = u64(int((i64(s) + t) >> 1));
    mine[18] = (u64(p) + q + 1) >> 1;
    mine[19] = mine[20] = mine[21] = mine[22] = 0;
    int dot = 100;
    for (int k = 0; k < 32; k += 8) {
        u32 l = p >> k & 255, r = q >> k & 255;
        mine[19] |= u64((l + r) & 255) << k;
        mine[20] |= u64(l > r ? l - r : r - l) << k;
        dot += (signed char)l * (signed char)r;
    }
    for (int k = 0; k < 32; k += 16) {
        u32 l = p >> k & 65535, r = q >> k & 65535;
        mine[21] |= u64(l > r ? 65535 : 0) << k;
        mine[22] |= u64((short)l > (short)r ? l : r) << k;
    }
    mine[23] = u64(dot);
    mine[24] = u64(int(u32(i64(int(p << 8) >> 8) * i64(int(q << 8) >> 8))));
    mine[25] = a ^ p;
}

int main() {
    const int count = 2000;
    std::vector<u64> x = random_values<u64>(count, 0, 0x7fffffffffffffff, 1), y = random_values<u64>(count, 0, 0x7fffffffffffffff, 2);
    for (int i = 0; i < count; ++i) {
        if (i % 2) x[i] = ~x[i];
        if (i % 3 == 0) y[i] = ~y[i];
        if (i % 7 == 0) x[i] >>= i % 64;
        if (i % 11 == 0) y[i] >>= i % 63;
    }
    x[0] = 0, y[1] = 0, x[2] = ~0ull, y[3] = ~0ull;
    std::vector<u64> wanted(count), wanted_intrinsics(count * kinds);
    for (int i = 0; i < count; ++i) {
        wanted[i] = arithmetic(x[i], y[i]);
        intrinsics_on_host(x[i], y[i], &wanted_intrinsics[kinds * i]);
    }
    DeviceArray<u64> device_x(x), device_y(y), out(count), many(count * kinds);
    run_arithmetic<<<(count + 127) / 128, 128>>>(device_x, device_y, out, count);
    CHECK_KERNEL();
    compare("arithmetic", out.download(), wanted);
    intrinsics<<<(count + 127) / 128, 128>>>(device_x, device_y, many, count);
    CHECK_KERNEL();
    // One line per kind, so that a difference identifies the intrinsic.
    std::vector<u64> got = many.download();
    for (int kind = 0; kind < kinds; ++kind) {
        std::vector<u64> one(count), other(count);
        for (int i = 0; i < count; ++i) one[i] = got[kinds * i + kind], other[i] = wanted_intrinsics[kinds * i + kind];
        compare(("intrinsic " + std::to_string(kind)).c_str(), one, other);
    }
    return finish();
}
