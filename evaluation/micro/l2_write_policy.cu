// Handling of partial sector writes in the L2: the kernel of Khairy et al., Fig. 5, with timed reads.
// All accesses bypass the L1, and a fence after each write prevents forwarding from registers.
#include "micro.h"

__device__ float timed_load(const float *at, unsigned *took) {
    float value;
    unsigned start = cycles();
    asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(at));
    if (value == 12345.0f) *took = 1;
    *took = cycles() - start;
    return value;
}

__device__ void store(float *at, float value) {
    asm volatile("st.global.cg.f32 [%0], %1;" ::"l"(at), "f"(value) : "memory");
    __threadfence();
}

// Round 0 uses other lines and fills the instruction caches.
__global__ void write_and_read(const float *a, float *c, unsigned *took) {
    float value = *a;
#pragma unroll 1
    for (int round = 0; round < 2; ++round, c += 1024) {
        store(c, value);
        store(c + 1, value);
        float first = timed_load(c, took);
        timed_load(c, took + 1);
        timed_load(c + 1, took + 2);
        for (int i = 8; i < 16; ++i) store(c + i, first);
        timed_load(c + 8, took + 3);
    }
}

int main() {
    DeviceArray<float> a(1), c(2048);
    a.fill(0);
    c.fill(0);
    displace_l2();
    DeviceArray<unsigned> took(4);
    write_and_read<<<1, 1>>>(a, c, took);
    CHECK_KERNEL();
    std::vector<unsigned> times = took.download();
    const char *names[] = {"l2_write.read_of_part", "l2_write.read_again", "l2_write.read_of_neighbour",
                           "l2_write.read_of_whole_sector"};
    for (int i = 0; i < 4; ++i) {
        row(std::string(names[i]) + "_cycles", times[i], "cycles");
        // The second read of the same word hits.
        row(std::string(names[i]), times[i] > 1.3 * times[1], "misses");
    }
}
