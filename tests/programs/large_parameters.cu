// Kernel parameters up to the limit of 32,764 bytes, structs by value and their alignment.
#include "check.h"

#include <string>

template <int Count>
struct Block {
    int values[Count];
};

template <int Count>
__global__ void add_up(Block<Count> block, int *out) {
    int sum = 0;
    for (int i = threadIdx.x; i < Count; i += blockDim.x) sum += block.values[i] * (i + 1);
    atomicAdd(out, sum);
}

template <int Count>
void check_size() {
    static Block<Count> block;
    std::vector<int> values = random_values<int>(Count, -100, 100);
    int wanted = 0;
    for (int i = 0; i < Count; ++i) block.values[i] = values[i], wanted += values[i] * (i + 1);
    DeviceArray<int> out(1);
    out.fill(0);
    add_up<<<1, 64>>>(block, out.get());
    // The change after the launch does not affect the kernel's copy.
    for (int &value : block.values) value = 0;
    CHECK_KERNEL();
    compare(("parameter of " + std::to_string(sizeof block) + " bytes").c_str(), out.download(), {wanted});
}

struct alignas(16) Wide {
    float4 v;
};

struct Mixed {
    char c;
    double d;
    short s;
    Wide w;
    bool flag;
};

__global__ void mixed(char a, Mixed m, short b, long long c, Wide w, bool d, double *out) {
    out[0] = a, out[1] = m.c, out[2] = m.d, out[3] = m.s, out[4] = m.w.v.z, out[5] = m.flag;
    out[6] = b, out[7] = double(c), out[8] = w.v.x + w.v.w, out[9] = d;
}

int main() {
    // With the pointer last: up to 4,096 bytes, more, and the maximum.
    check_size<1>();
    check_size<1022>();
    check_size<1023>();
    check_size<8188>();

    DeviceArray<double> out(10);
    Mixed m = {'m', 2.5, -300, {make_float4(1, 2, 3, 4)}, true};
    mixed<<<1, 1>>>('a', m, -7, 1ll << 40, {make_float4(10, 20, 30, 40)}, true, out);
    CHECK_KERNEL();
    compare("mixed", out.download(), {'a', 'm', 2.5, -300, 3, 1, -7, 1099511627776.0, 50, 1});
    return finish();
}
