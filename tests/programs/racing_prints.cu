//@ mistakes: CTAs print in any order, and race for tickets
// CTAs print with tickets: lines and tickets are in the order of calls, which is one order for all SMs.
#include "check.h"

const int CTAS = 60;

__global__ void print_tickets(unsigned *next, unsigned *tickets) {
    if (threadIdx.x % 32 == 0) printf("CTA %u, warp %u\n", blockIdx.x, threadIdx.x / 32);
    __syncthreads();
    if (threadIdx.x != 0) return;
    unsigned ticket = atomicAdd(next, 1);
    tickets[ticket] = blockIdx.x;
    printf("CTA %u has ticket %u\n", blockIdx.x, ticket);
}

int main() {
    DeviceArray<unsigned> next(1), tickets(CTAS);
    next.fill(0);
    tickets.fill(0xff);
    print_tickets<<<CTAS, 64>>>(next, tickets);
    CHECK_KERNEL();
    std::vector<bool> drawn(CTAS);
    for (unsigned cta : tickets.download()) {
        EXPECT(cta < CTAS && !drawn[cta]);
        if (cta < CTAS) drawn[cta] = true;
    }
    return finish();
}
