// Registers and shared memory of a kernel are those of the program's machine code for the device.
//@ code: [sm_75,compute_75]
//@ device: t4
//@ flags: --no-compress
//@ modes: shared
#include "check.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

__global__ void tile(const float *in, float *out, int n)
{
    __shared__ float part[8][33];
    float sums[12] = {};
    for (int i = 0; i < n; i++) {
        part[threadIdx.y][threadIdx.x] = in[i * 256 + threadIdx.y * 32 + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 12; j++)
            sums[j] += part[(threadIdx.y + j) % 8][threadIdx.x] * in[j];
        __syncthreads();
    }
    for (int j = 0; j < 12; j++)
        out[j * 256 + threadIdx.y * 32 + threadIdx.x] = sums[j];
}

/// Resources by the ELF file of machine code (machine 190) in this executable: registers, shared bytes.
static std::vector<int> assembled()
{
    std::ifstream file("/proc/self/exe", std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    auto number = [&](size_t at, size_t width) {
        uint64_t value = 0;
        memcpy(&value, bytes.data() + at, width);
        return value;
    };
    for (size_t start = 1; start + 64 < bytes.size(); start++) {
        if (memcmp(bytes.data() + start, "\177ELF", 4) != 0 || number(start + 18, 2) != 190)
            continue;
        const size_t table = start + number(start + 40, 8);
        const size_t sections = number(start + 60, 2);
        const size_t names = start + number(table + 64 * number(start + 62, 2) + 24, 8);
        int registers = 0, shared = 0;
        for (size_t section = 0; section < sections; section++) {
            const size_t header = table + 64 * section;
            const char *name = bytes.data() + names + number(header, 4);
            const size_t data = start + number(header + 24, 8), size = number(header + 32, 8);
            if (strncmp(name, ".nv.shared._Z4tile", 18) == 0)
                shared = int(size);
            if (strcmp(name, ".nv.info") != 0)
                continue;
            for (size_t at = data; at < data + size;) {
                const bool sized = bytes[at] == 4;
                if (sized && bytes[at + 1] == 0x2f)
                    registers = int(number(at + 8, 4));
                at += 4 + (sized ? number(at + 2, 2) : 0);
            }
        }
        if (registers > 0)
            return {registers, shared};
    }
    return {};
}

int main()
{
    const std::vector<int> expected = assembled();
    EXPECT(expected.size() == 2);
    if (expected.size() != 2) return finish();
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, tile));
    EXPECT(attributes.numRegs == expected[0]);
    EXPECT(int(attributes.sharedSizeBytes) == expected[1]);
    int ctas = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, tile, 256, 0));
    // A Turing SM holds 32 warps and 65,536 registers, in units of 256 for a warp.
    const int by_registers = 65536 / ((expected[0] * 32 + 255) / 256 * 256) / 8;
    EXPECT(ctas == (by_registers < 4 ? by_registers : 4));
    return finish();
}
