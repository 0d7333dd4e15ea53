// Instructions written as inline PTX: bit fields, permutations, logic of three inputs, carry chains, predicates, labels,
// saturation, special registers, address spaces, vectors.
#include "check.h"

#include <algorithm>
#include <string>

typedef unsigned u32;
typedef unsigned long long u64;

constexpr int kinds = 22;

__global__ void instructions(const u32 *x, const u32 *y, u32 *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    u32 a = x[i], b = y[i], position = b & 31, length = b >> 8 & 31, *mine = out + kinds * i;
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(mine[0]) : "r"(a), "r"(b), "r"(a >> 7));
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(mine[1]) : "r"(a), "r"(b), "r"(a << 5));
    asm("prmt.b32 %0, %1, %2, 0x3715;" : "=r"(mine[2]) : "r"(a), "r"(b));
    asm("prmt.b32.rc8 %0, %1, %2, %3;" : "=r"(mine[3]) : "r"(a), "r"(b), "r"(b));
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(mine[4]) : "r"(a), "r"(position), "r"(length));
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(mine[5]) : "r"(a), "r"(position), "r"(length));
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(mine[6]) : "r"(a), "r"(b), "r"(position), "r"(length));
    asm("bfind.u32 %0, %1;" : "=r"(mine[7]) : "r"(a >> position));
    asm("bfind.shiftamt.s32 %0, %1;" : "=r"(mine[8]) : "r"(a));
    asm("mad.hi.u32 %0, %1, %2, %3;" : "=r"(mine[9]) : "r"(a), "r"(b), "r"(7u));
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(mine[10]) : "r"(a), "r"(b), "r"(position));
    // A 64-bit sum and difference in two halves.
    asm("add.cc.u32 %0, %2, %3;\n\t"
        "addc.u32 %1, %2, %3;" : "=&r"(mine[11]), "=r"(mine[12]) : "r"(a), "r"(b));
    asm("sub.cc.u32 %0, %2, %3;\n\t"
        "subc.u32 %1, %2, 0;" : "=&r"(mine[13]), "=r"(mine[14]) : "r"(a), "r"(b));
    asm("{.reg .pred p, q;\n\t"
        "setp.lt.and.u32 p, %1, %2, 1;\n\t"
        "setp.gt.s32 q, %1, %2;\n\t"
        "xor.pred p, p, q;\n\t"
        "selp.u32 %0, 11, 22, p;}" : "=r"(mine[15]) : "r"(a), "r"(b));
    asm("{.reg .pred p;\n\t"
        "mov.u32 %0, 0;\n\t"
        ".reg .u32 n;\n\t"
        "mov.u32 n, %1;\n\t"
        "loop_%=:\n\t"
        "setp.eq.u32 p, n, 0;\n\t"
        "@p bra done_%=;\n\t"
        "add.u32 %0, %0, n;\n\t"
        "sub.u32 n, n, 1;\n\t"
        "bra loop_%=;\n\t"
        "done_%=:}" : "=&r"(mine[16]) : "r"(position));
    asm("slct.u32.s32 %0, %1, %2, %3;" : "=r"(mine[17]) : "r"(1u), "r"(2u), "r"(int(b)));
    asm("cvt.sat.u8.s32 %0, %1;" : "=r"(mine[18]) : "r"(int(a) >> 20));
    asm("add.sat.s32 %0, %1, %2;" : "=r"(mine[19]) : "r"(a), "r"(b));
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(mine[20]) : "r"(a), "r"(b), "r"(3u));
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(mine[21]) : "r"(position), "r"(length));
}

static u32 field_mask(u32 length) { return length >= 32 ? ~0u : (1u << length) - 1; }

static void instructions_on_host(u32 a, u32 b, u32 *mine) {
    u32 position = b & 31, length = b >> 8 & 31;
    u64 bytes = u64(b) << 32 | a, sum = u64(a) + b;
    auto byte = [&](int k) { return u32(bytes >> 8 * k & 255); };
    auto highest = [](u32 v) { int n = 31; while (n >= 0 && !(v >> n & 1)) --n; return n; };
    mine[0] = a ^ b ^ a >> 7;
    mine[1] = (a & b) | (a & a << 5) | (b & a << 5);
    mine[2] = byte(3) << 24 | byte(7) << 16 | byte(1) << 8 | byte(5);
    mine[3] = byte(b & 3) * 0x01010101;
    mine[4] = a >> position & field_mask(length);
    if (length == 0) {
        mine[5] = 0;
    } else {
        u32 sign = a >> std::min(position + length - 1, 31u) & 1;
        mine[5] = (a >> position & field_mask(std::min(length, 32 - position))) | (sign ? ~field_mask(std::min(length, 32 - position)) : 0);
    }
    u32 mask = field_mask(length) << position;
    mine[6] = (b & ~mask) | (a << position & mask);
    mine[7] = u32(highest(a >> position));
    u32 magnitude = int(a) < 0 ? ~a : a;
    mine[8] = magnitude ? u32(31 - highest(magnitude)) : ~0u;
    mine[9] = u32((u64(a) * b) >> 32) + 7;
    mine[10] = u32((bytes << position) >> 32);
    mine[11] = u32(sum);
    mine[12] = u32(a + b + (sum >> 32));
    mine[13] = a - b;
    mine[14] = a - (a < b);
    mine[15] = (a < b) != (int(a) > int(b)) ? 11 : 22;
    mine[16] = position * (position + 1) / 2;
    mine[17] = int(b) >= 0 ? 1 : 2;
    mine[18] = u32(std::min(std::max(int(a) >> 20, 0), 255));
    long long exact = (long long)int(a) + int(b);
    mine[19] = u32(int(std::min(std::max(exact, -0x80000000ll), 0x7fffffffll)));
    mine[20] = 3;
    for (int k = 0; k < 4; ++k) mine[20] += byte(k) * byte(k + 4);
    mine[21] = field_mask(length) << position;
}

// Position of a thread by special registers; lane mask registers.
__global__ void registers(u32 *out) {
    u32 *mine = out + 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    asm("mov.u32 %0, %%tid.x;" : "=r"(mine[0]));
    asm("mov.u32 %0, %%ctaid.x;" : "=r"(mine[1]));
    asm("mov.u32 %0, %%laneid;" : "=r"(mine[2]));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(mine[3]));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mine[4]));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(mine[5]));
    asm("mov.u32 %0, %%nctaid.x;" : "=r"(mine[6]));
    asm volatile("{.reg .pred p;\n\t"
                 "setp.gt.u32 p, %1, 15;\n\t"
                 "vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "=r"(mine[7]) : "r"(threadIdx.x & 31));
}

// Address spaces and vector accesses; a reduction by barrier.
__global__ void spaces(const uint4 *in, uint4 *out, u32 *kinds_of_space) {
    __shared__ uint4 tile[64];
    u32 local[4] = {threadIdx.x, 1, 2, 3};
    u32 t = threadIdx.x, w, x, y, z;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w), "=r"(x), "=r"(y), "=r"(z) : "l"(in + t));
    u32 address = (u32)__cvta_generic_to_shared(&tile[t]);
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" :: "r"(address), "r"(z), "r"(y), "r"(x), "r"(w) : "memory");
    asm volatile("bar.sync 0;" ::: "memory");
    out[t] = tile[63 - t];
    u32 odd;
    asm volatile("{.reg .pred p;\n\t"
                 "setp.ne.u32 p, %1, 0;\n\t"
                 "bar.red.popc.u32 %0, 1, 64, p;}" : "=r"(odd) : "r"(t % 3) : "memory");
    u32 is_shared, is_global, is_local;
    asm("{.reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(is_shared) : "l"(&tile[t]));
    asm("{.reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(is_global) : "l"(in));
    asm("{.reg .pred p; isspacep.local p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(is_local) : "l"(&local[t % 4]));
    kinds_of_space[t] = is_shared | is_global << 1 | is_local << 2 | odd << 8 | local[t % 4] << 16;
    asm volatile("prefetch.global.L2 [%0];" :: "l"(in));
    asm volatile("nanosleep.u32 20;");
}

int main() {
    const int count = 3000;
    std::vector<u32> x = random_values<u32>(count, 0, 0xffffffff, 1), y = random_values<u32>(count, 0, 0xffffffff, 2);
    x[0] = 0, x[1] = ~0u, y[2] = 0, y[3] = ~0u, x[3] = 0x80000000;
    std::vector<u32> wanted(count * kinds);
    for (int i = 0; i < count; ++i) instructions_on_host(x[i], y[i], &wanted[kinds * i]);
    DeviceArray<u32> device_x(x), device_y(y), out(count * kinds);
    instructions<<<(count + 127) / 128, 128>>>(device_x, device_y, out, count);
    CHECK_KERNEL();
    std::vector<u32> got = out.download();
    for (int kind = 0; kind < kinds; ++kind) {
        std::vector<u32> one(count), other(count);
        for (int i = 0; i < count; ++i) one[i] = got[kinds * i + kind], other[i] = wanted[kinds * i + kind];
        compare(("instruction " + std::to_string(kind)).c_str(), one, other);
    }

    DeviceArray<u32> device_registers(2 * 64 * 8);
    registers<<<2, 64>>>(device_registers);
    CHECK_KERNEL();
    std::vector<u32> expected;
    for (u32 block = 0; block < 2; ++block)
        for (u32 t = 0; t < 64; ++t) {
            u32 lane = t % 32, bit = 1u << lane;
            for (u32 value : {t, block, lane, bit, bit - 1, ~(bit - 1), 2u, 0xffff0000u}) expected.push_back(value);
        }
    compare("special registers", device_registers.download(), expected);

    std::vector<u32> words = random_values<u32>(64 * 4, 0, 0xffffffff, 3), turned(64 * 4), flags(64);
    for (u32 t = 0; t < 64; ++t) {
        for (int k = 0; k < 4; ++k) turned[4 * t + k] = words[4 * (63 - t) + 3 - k];
        flags[t] = 7 | 42 << 8 | (t % 4 ? t % 4 : t) << 16;  // 42 of 64 are no multiple of 3
    }
    DeviceArray<u32> in(words), out_words(64 * 4), device_flags(64);
    spaces<<<1, 64>>>((const uint4 *)in.get(), (uint4 *)out_words.get(), device_flags);
    CHECK_KERNEL();
    compare("vectors", out_words.download(), turned);
    compare("spaces", device_flags.download(), flags);
    return finish();
}
