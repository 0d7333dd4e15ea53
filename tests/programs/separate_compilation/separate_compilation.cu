//@ flags: -rdc=true
// Linked device code of two source files: functions, variables and constants used across files,
// static variables of the same name in both, and a pointer to a function of the other file.
#include "check.h"
#include "other.h"

static __device__ int private_state = 1;

static __device__ int private_function(int x) { return x + private_state; }

__constant__ int scale = 5;

__global__ void use_both(const int *in, int *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Function function = i % 2 ? other_function : chosen_function(i % 4);
    out[i] = function(in[i]) + private_function(in[i]) + other_table[i % 4];
    if (i == 0) other_counter += 10;
}

int main() {
    const int count = 500;
    std::vector<int> values = random_values<int>(count, -1000, 1000), wanted(count);
    for (int i = 0; i < count; ++i) {
        int x = values[i], by_function = i % 2 ? 5 * x + 100 : i % 4 == 0 ? -x : x * x;
        wanted[i] = by_function + x + 1 + 11 * (i % 4 + 1);
    }
    DeviceArray<int> in(values), out(count);
    use_both<<<4, 128>>>(in, out, count);
    CHECK_KERNEL();
    compare("linked", out.download(), wanted);

    // The host code of both files uses the same variables.
    int counter;
    CHECK(cudaMemcpyFromSymbol(&counter, other_counter, sizeof counter));
    EXPECT(counter == 13);
    int new_scale = 7;
    CHECK(cudaMemcpyToSymbol(scale, &new_scale, sizeof new_scale));
    launch_of_other_file(in, out, count);
    CHECK_KERNEL();
    for (int i = 0; i < count; ++i) wanted[i] = values[i] * 7 + 100;
    compare("kernel of the other file", out.download(), wanted);
    return finish();
}
