// Cost of a launch: events around empty kernels. The first row is for a kernel that
// was never launched before, because the measured launches began with empty caches.
#include "micro.h"

__global__ void nothing() {}
__global__ void nothing_yet() {}

int main() {
    auto launch = [](unsigned ctas, unsigned threads) { return event_seconds([=] { nothing<<<ctas, threads>>>(); }); };
    unsigned sms = device().multiProcessorCount;
    // The code is loaded but in no cache.
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, nothing_yet));
    displace_l2();
    row("launch.one_warp", event_seconds([] { nothing_yet<<<1, 32>>>(); }) * clock_rate(), "cycles");
    launch(1, 32);
    row("launch.one_warp_again", launch(1, 32) * clock_rate(), "cycles");
    row("launch.cta_per_sm", launch(sms, 128) * clock_rate(), "cycles");
    row("launch.full_machine", launch(2 * sms, 1024) * clock_rate(), "cycles");
    row("launch.each_further_cta", (launch(64 * sms, 32) - launch(32 * sms, 32)) * clock_rate() / (32 * sms), "cycles");
}
