// What a launch costs: events around kernels that do nothing.
#include "micro.h"

__global__ void nothing() {}

int main() {
    auto launch = [](unsigned ctas, unsigned threads) { return event_seconds([=] { nothing<<<ctas, threads>>>(); }); };
    unsigned sms = device().multiProcessorCount;
    launch(1, 32);
    row("launch.one_warp", launch(1, 32) * clock_rate(), "cycles");
    row("launch.cta_per_sm", launch(sms, 128) * clock_rate(), "cycles");
    row("launch.full_machine", launch(2 * sms, 1024) * clock_rate(), "cycles");
    row("launch.each_further_cta", (launch(64 * sms, 32) - launch(32 * sms, 32)) * clock_rate() / (32 * sms), "cycles");
}
