// Latency in cycles of dependent instructions, in chains of one warp. Sequences that an assembler expands
// (divisions, roots) count as one; those of doubles start with an addition, as in cuda-incore of RRZE's gpu-benches.
#include "micro.h"

STEP(Integer, unsigned, "r", 2, "add.u32 %0, %0, %1; xor.b32 %0, %0, %2;");
STEP(Shift, unsigned, "r", 1, "shf.l.wrap.b32 %0, %0, %1, %2;");
STEP(CompareSelect, unsigned, "r", 2, "{.reg .pred p; setp.lt.u32 p, %0, %1; selp.u32 %0, %1, %2, p;}");
STEP(IntegerMultiply, unsigned, "r", 1, "mad.lo.u32 %0, %0, %1, %2;");
STEP(PopulationCount, unsigned, "r", 1, "popc.b32 %0, %0;");
STEP(FindLeadingOne, unsigned, "r", 1, "bfind.u32 %0, %0;");
STEP(ReverseBits, unsigned, "r", 1, "brev.b32 %0, %0;");
STEP(Fp32Add, float, "f", 1, "add.f32 %0, %0, %1;");
STEP(Fp32Multiply, float, "f", 1, "mul.f32 %0, %0, %1;");
STEP(Fp32Fma, float, "f", 1, "fma.rn.f32 %0, %0, %1, %2;");
STEP(Fp32Extremum, float, "f", 2, "min.f32 %0, %0, %1; max.f32 %0, %0, %2;");
STEP(HalfAdd, unsigned, "r", 1, "add.f16x2 %0, %0, %1;");
STEP(HalfMultiply, unsigned, "r", 1, "mul.f16x2 %0, %0, %1;");
STEP(HalfFma, unsigned, "r", 1, "fma.rn.f16x2 %0, %0, %1, %2;");
STEP(Fp64Add, double, "d", 1, "add.f64 %0, %0, %1;");
STEP(Fp64Multiply, double, "d", 1, "mul.f64 %0, %0, %1;");
STEP(Fp64Fma, double, "d", 1, "fma.rn.f64 %0, %0, %1, %2;");
STEP(Reciprocal, float, "f", 1, "rcp.approx.ftz.f32 %0, %0;");
STEP(ReciprocalRoot, float, "f", 1, "rsqrt.approx.ftz.f32 %0, %0;");
STEP(Exponential, float, "f", 1, "ex2.approx.ftz.f32 %0, %0;");
STEP(Sine, float, "f", 1, "sin.approx.ftz.f32 %0, %0;");
STEP(Conversion, float, "f", 2, "{.reg .s32 i; cvt.rzi.s32.f32 i, %0; cvt.rn.f32.s32 %0, i;}");
STEP(Shuffle, unsigned, "r", 1, "shfl.sync.idx.b32 %0, %0, 0, 31, 0xffffffff;");
STEP(Fp64Divide, double, "d", 1, "add.f64 %0, %0, %1; div.rn.f64 %0, %2, %0;");
STEP(Fp64Root, double, "d", 1, "add.f64 %0, %0, %1; sqrt.rn.f64 %0, %0;");
STEP(Fp32Divide, float, "f", 1, "div.rn.f32 %0, %0, %1;");
STEP(Fp32Root, float, "f", 1, "sqrt.rn.f32 %0, %0;");
STEP(Fp32Reciprocal, float, "f", 1, "rcp.rn.f32 %0, %0;");
STEP(IntegerDivide, int, "r", 2, "div.s32 %0, %1, %0; add.s32 %0, %0, %2;");
STEP(WarpBarrier, unsigned, "r", 1, "bar.warp.sync 0xffffffff;");

// Only the second pass counts; the first fills the instruction caches.
template <class Operation, int LENGTH>
__global__ void chain(const typename Operation::Value *in, typename Operation::Value *out, unsigned *took) {
    auto x = in[0], y = in[1], z = in[2];
    unsigned last = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
        unsigned start = cycles();
#pragma unroll
        for (int i = 0; i < LENGTH; ++i) Operation::step(x, y, z);
        last = cycles() - start;
    }
    out[threadIdx.x] = x;
    *took = last;
}

template <class Operation, int LENGTH>
double chain_cycles(const DeviceArray<typename Operation::Value> &in) {
    DeviceArray<typename Operation::Value> out(32);
    DeviceArray<unsigned> took(1);
    chain<Operation, LENGTH><<<1, 32>>>(in, out, took);
    CHECK_KERNEL();
    return took.download()[0];
}

// LENGTH is short if a step is a whole sequence, so that the longer chain fits in the L0 instruction cache.
template <class Operation, int LENGTH = 64>
void measure(const char *name, std::vector<typename Operation::Value> values) {
    DeviceArray<typename Operation::Value> in(values);
    double difference = chain_cycles<Operation, 3 * LENGTH>(in) - chain_cycles<Operation, LENGTH>(in);
    row(std::string("latency.") + name, difference / (2 * LENGTH * Operation::instructions), "cycles");
}

__global__ void read_clocks(unsigned *took) {
    unsigned last = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
        unsigned start = cycles();
        last = cycles() - start;
    }
    *took = last;
}

int main() {
    measure<Integer>("integer", {1, 3, 5});
    measure<Shift>("shift", {1, 3, 5});
    measure<CompareSelect>("compare_select", {1, 3, 5});
    measure<Fp32Add>("fp32_add", {1, 3, 5});
    measure<Fp32Multiply>("fp32_multiply", {1, 0.5f, 5});
    measure<Fp32Fma>("fp32_fma", {1, 0.5f, 5});
    measure<IntegerMultiply>("integer_multiply", {1, 3, 5});
    measure<Fp32Extremum>("fp32_extremum", {1, 3, 5});
    measure<HalfAdd>("half_add", {0x3c003c00, 0x38003800, 0x34003400});
    measure<HalfMultiply>("half_multiply", {0x3c003c00, 0x38003800, 0x34003400});
    measure<HalfFma>("half_fma", {0x3c003c00, 0x38003800, 0x34003400});
    measure<Fp64Add>("fp64_add", {1, 3, 5});
    measure<Fp64Multiply>("fp64_multiply", {1, 0.5, 5});
    measure<Fp64Fma>("fp64_fma", {1, 0.5, 5});
    measure<PopulationCount>("population_count", {1, 3, 5});
    measure<FindLeadingOne>("find_leading_one", {1, 3, 5});
    measure<ReverseBits>("reverse_bits", {1, 3, 5});
    measure<Reciprocal>("reciprocal", {1.5f, 3, 5});
    measure<ReciprocalRoot>("reciprocal_root", {1.5f, 3, 5});
    measure<Exponential>("exponential", {-1.5f, 3, 5});
    measure<Sine>("sine", {1.5f, 3, 5});
    measure<Conversion>("conversion", {1.5f, 3, 5});
    measure<Shuffle>("shuffle", {1, 3, 5});
    measure<Fp64Divide, 4>("fp64_divide", {0.5, 0.2, 0.1});
    measure<Fp64Root, 4>("fp64_root", {0.5, 0.2, 0.1});
    measure<Fp32Divide, 4>("fp32_divide", {1, 1.0625f, 5});
    measure<Fp32Root, 4>("fp32_root", {1.5f, 3, 5});
    measure<Fp32Reciprocal, 4>("fp32_reciprocal", {1.5f, 3, 5});
    measure<IntegerDivide, 4>("integer_divide", {7, 100, 5});
    measure<WarpBarrier>("warp_barrier", {1, 3, 5});

    DeviceArray<unsigned> took(1);
    read_clocks<<<1, 32>>>(took);
    CHECK_KERNEL();
    row("latency.clock_read", took.download()[0], "cycles");
}
