//@ modes: shared static clang
// Constant and global variables: initial values, copies by symbol, parts, addresses
// and sizes, static variables, and structs with pointers to other variables.
#include "check.h"

__constant__ float weights[64] = {0.5f, 1.5f, 2.5f};
__constant__ int scale = 3;
__device__ int counters[16] = {7, 8, 9};
static __device__ double twofold = 2.25;
__device__ int zeroed[8];

struct Config {
    const float *table;
    int offset;
    char name[12];
};
__device__ Config config = {weights, 1, "settings"};

__global__ void use_symbols(float *out) {
    int i = threadIdx.x;
    out[i] = weights[i] * scale + float(twofold);
    if (i < 16) counters[i] += i;
    if (i < 8) out[i] += zeroed[i];
    __syncthreads();
    if (i == 0) twofold *= 2;
}

__global__ void use_config(float *out) { *out = config.table[config.offset] + config.name[3]; }

int main() {
    DeviceArray<float> out(64);
    use_symbols<<<1, 64>>>(out);
    CHECK_KERNEL();
    std::vector<float> wanted(64, 2.25f);
    wanted[0] += 1.5f, wanted[1] += 4.5f, wanted[2] += 7.5f;
    compare("initial values", out.download(), wanted);

    int got[16], expected[16] = {7, 9, 11};
    for (int i = 3; i < 16; ++i) expected[i] = i;
    CHECK(cudaMemcpyFromSymbol(got, counters, sizeof got));
    compare("counters", got, expected, 16);
    double doubled;
    CHECK(cudaMemcpyFromSymbol(&doubled, twofold, sizeof doubled));
    EXPECT(doubled == 4.5);

    std::vector<float> table = random_values<float>(64, -1, 1);
    CHECK(cudaMemcpyToSymbol(weights, table.data(), 64 * sizeof(float)));
    float patch[2] = {100, 200};
    CHECK(cudaMemcpyToSymbol(weights, patch, sizeof patch, 10 * sizeof(float)));
    table[10] = 100, table[11] = 200;
    int new_scale = -2;
    CHECK(cudaMemcpyToSymbolAsync(scale, &new_scale, sizeof scale, 0, cudaMemcpyHostToDevice, 0));

    void *address;
    size_t size;
    CHECK(cudaGetSymbolAddress(&address, zeroed));
    CHECK(cudaGetSymbolSize(&size, zeroed));
    EXPECT(size == sizeof zeroed);
    CHECK(cudaMemset(address, 0, size));
    int one = 1;
    CHECK(cudaMemcpy((int *)address + 5, &one, sizeof one, cudaMemcpyHostToDevice));
    CHECK(cudaGetSymbolSize(&size, weights));
    EXPECT(size == 64 * sizeof(float));

    use_symbols<<<1, 64>>>(out);
    CHECK_KERNEL();
    for (int i = 0; i < 64; ++i) wanted[i] = table[i] * -2 + 4.5f + (i == 5);
    compare("after copies", out.download(), wanted, 1e-6);

    use_config<<<1, 1>>>(out);
    CHECK_KERNEL();
    EXPECT(out.download()[0] == table[1] + 't');

    EXPECT_ERROR(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&address, got));
    return finish();
}
