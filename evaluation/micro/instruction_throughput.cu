// Cycles per warp instruction and sub-core, for 32 warps on one SM with four independent chains each.
// Divisions and roots of doubles start with an addition, as in cuda-incore of RRZE's gpu-benches.
#include "micro.h"

STEP(Integer, unsigned, "r", 2, "add.u32 %0, %0, %1; xor.b32 %0, %0, %2;");
STEP(IntegerMultiply, unsigned, "r", 1, "mad.lo.u32 %0, %0, %1, %2;");
STEP(Fp32, float, "f", 1, "fma.rn.f32 %0, %0, %1, %2;");
STEP(Half, unsigned, "r", 1, "fma.rn.f16x2 %0, %0, %1, %2;");
STEP(Fp64, double, "d", 1, "fma.rn.f64 %0, %0, %1, %2;");
STEP(SpecialFunction, float, "f", 1, "rsqrt.approx.ftz.f32 %0, %0;");
STEP(PopulationCount, unsigned, "r", 1, "popc.b32 %0, %0;");
STEP(Conversion, float, "f", 2, "{.reg .s32 i; cvt.rzi.s32.f32 i, %0; cvt.rn.f32.s32 %0, i;}");
STEP(Shuffle, unsigned, "r", 1, "shfl.sync.idx.b32 %0, %0, 0, 31, 0xffffffff;");
STEP(Fp64Divide, double, "d", 1, "add.f64 %0, %0, %1; div.rn.f64 %0, %2, %0;");
STEP(Fp64Root, double, "d", 1, "add.f64 %0, %0, %1; sqrt.rn.f64 %0, %0;");

constexpr int CHAINS = 4, WARPS = 32;

template <class Operation, int LENGTH>
__global__ void chains(const typename Operation::Value *in, typename Operation::Value *out, Span *spans, int rounds) {
    typename Operation::Value x[CHAINS], y = in[1], z = in[2];
    for (int chain = 0; chain < CHAINS; ++chain) x[chain] = in[0] + typename Operation::Value(chain);
    unsigned start = 0;
    // Round 0 fills the instruction caches.
#pragma unroll 1
    for (int round = 0; round <= rounds; ++round) {
        if (round == 1) {
            __syncthreads();
            start = cycles();
        }
#pragma unroll
        for (int i = 0; i < LENGTH; ++i)
#pragma unroll
            for (int chain = 0; chain < CHAINS; ++chain) Operation::step(x[chain], y, z);
    }
    end_span(spans, start);
    for (int chain = 1; chain < CHAINS; ++chain) x[0] += x[chain];
    out[threadIdx.x] = x[0];
}

template <class Operation, int LENGTH = 32>
void measure(const char *name, std::vector<typename Operation::Value> values) {
    DeviceArray<typename Operation::Value> in(values), out(WARPS * 32);
    DeviceArray<Span> spans(WARPS);
    auto run = [&](int rounds) {
        chains<Operation, LENGTH><<<1, WARPS * 32>>>(in, out, spans, rounds);
        CHECK_KERNEL();
        return span(spans.download());
    };
    double instructions = 4.0 * LENGTH * CHAINS * WARPS * Operation::instructions;
    constexpr int SUB_CORES = 4;
    row(std::string("interval.") + name, (run(6) - run(2)) * SUB_CORES / instructions, "cycles");
}

int main() {
    measure<Integer>("integer", {1, 3, 5});
    measure<IntegerMultiply>("integer_multiply", {1, 3, 5});
    measure<Fp32>("fp32", {1, 0.5f, 5});
    measure<Half>("half", {0x3c003c00, 0x38003800, 0x34003400});
    measure<Fp64>("fp64", {1, 0.5, 5});
    measure<SpecialFunction>("special_function", {1.5f, 3, 5});
    measure<PopulationCount>("population_count", {1, 3, 5});
    measure<Conversion>("conversion", {1.5f, 3, 5});
    measure<Shuffle>("shuffle", {1, 3, 5});
    measure<Fp64Divide, 1>("fp64_divide", {0.5, 0.2, 0.1});
    measure<Fp64Root, 1>("fp64_root", {0.5, 0.2, 0.1});
}
