// Locks between threads of one warp, and hand-over from lane to lane: these
// terminate only with independent thread scheduling (Volta and later).
#include "check.h"

__device__ int lock_word;
__device__ volatile unsigned counter;

// Every thread of every warp takes the same lock; the update inside is not atomic.
__global__ void count_under_lock(int rounds) {
    for (int round = 0; round < rounds; ++round) {
        while (atomicCAS(&lock_word, 0, 1) != 0) {}
        __threadfence();
        counter = counter + 1;
        __threadfence();
        atomicExch(&lock_word, 0);
    }
}

// A spin lock and a linked list per bucket.
struct Node {
    int value, next;
};

__global__ void insert(const int *values, int count, int *locks, int *heads, Node *nodes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int bucket = values[i] % 16;
    bool done = false;
    while (!done) {
        if (atomicExch(&locks[bucket], 1) == 0) {
            nodes[i] = {values[i], *(volatile int *)&heads[bucket]};
            *(volatile int *)&heads[bucket] = i;
            __threadfence();
            atomicExch(&locks[bucket], 0);
            done = true;
        }
    }
}

// Lane n waits for lane n - 1, opposite to the order of lanes in a branch.
__global__ void pass_along(volatile int *turn, int *order) {
    int lane = threadIdx.x;
    while (*turn != 31 - lane) {}
    order[lane] = *turn * 3;
    __threadfence_block();
    *turn = 32 - lane;
}

int main() {
    count_under_lock<<<4, 64>>>(5);
    CHECK_KERNEL();
    unsigned counted;
    CHECK(cudaMemcpyFromSymbol(&counted, counter, sizeof counted));
    EXPECT(counted == 4 * 64 * 5);

    const int count = 600;
    std::vector<int> values = random_values<int>(count, 0, 9999);
    DeviceArray<int> device_values(values), locks(16), heads(16);
    DeviceArray<Node> nodes(count);
    locks.fill(0);
    heads.fill(0xff);
    insert<<<5, 128>>>(device_values, count, locks, heads, nodes);
    CHECK_KERNEL();
    std::vector<int> head = heads.download(), seen(count);
    std::vector<Node> list = nodes.download();
    for (int bucket = 0; bucket < 16; ++bucket)
        for (int i = head[bucket], steps = 0; i >= 0 && i < count && steps <= count; i = list[i].next, ++steps) {
            EXPECT(list[i].value == values[i] && values[i] % 16 == bucket);
            ++seen[i];
        }
    compare("each value in its list once", seen, std::vector<int>(count, 1));

    DeviceArray<int> turn(1), order(32);
    turn.fill(0);
    pass_along<<<1, 32>>>(turn, order);
    CHECK_KERNEL();
    std::vector<int> wanted(32);
    for (int lane = 0; lane < 32; ++lane) wanted[lane] = (31 - lane) * 3;
    compare("passed along", order.download(), wanted);
    return finish();
}
