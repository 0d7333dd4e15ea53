// Runs one function on the device and on the host, and compares the bits of the results.
#pragma once

#include "check.h"

#include <algorithm>
#include <cstring>

template <class Operands, class Result, class Function>
__global__ void call_for_each(const Operands *operands, Result *results, int count, Function function) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) results[i] = function(operands[i]);
}

// Checks that `function`, a __device__ lambda, returns for each of `operands` the host's result of `expected`.
template <class Operands, class Function, class Expected>
void compare_bits(const char *what, const std::vector<Operands> &operands, Function function, Expected expected) {
    using Result = decltype(expected(operands[0]));
    const int count = int(operands.size());
    DeviceArray<Operands> in(operands);
    DeviceArray<Result> out(count);
    call_for_each<<<(count + 127) / 128, 128>>>(in.get(), out.get(), count, function);
    CHECK_KERNEL();
    std::vector<Result> got = out.download();
    int differing = 0;
    for (int i = 0; i < count; ++i) {
        Result wanted = expected(operands[i]);
        if (std::memcmp(&got[i], &wanted, sizeof wanted) == 0 || ++differing > 3) continue;
        unsigned long long words[2] = {}, input = 0;
        std::memcpy(&words[0], &got[i], std::min(sizeof wanted, sizeof words[0]));
        std::memcpy(&words[1], &wanted, std::min(sizeof wanted, sizeof words[1]));
        std::memcpy(&input, &operands[i], std::min(sizeof input, sizeof operands[i]));
        std::printf("%s of %#llx: got %#llx, want %#llx\n", what, input, words[0], words[1]);
    }
    if (differing != 0) std::printf("%s: %d of %d differ\n", what, differing, count);
    failures += differing != 0;
}

// Checks the same function on both sides.
template <class Operands, class Function>
void compare_bits(const char *what, const std::vector<Operands> &operands, Function function) {
    compare_bits(what, operands, function, function);
}
