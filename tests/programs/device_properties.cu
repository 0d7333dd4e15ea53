// Device properties by properties, by attributes and from a kernel; peers; limits; versions.
#include "check.h"

#include <cstring>

__global__ void look(unsigned *out) {
    asm("mov.u32 %0, %%nsmid;" : "=r"(out[0]));
    asm("mov.u32 %0, WARP_SZ;" : "=r"(out[1]));
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    out[2] = sm;
}

static int attribute(cudaDeviceAttr which) {
    int value = -1;
    CHECK(cudaDeviceGetAttribute(&value, which, 0));
    return value;
}

int main() {
    int count, current = -1;
    CHECK(cudaGetDeviceCount(&count));
    EXPECT(count >= 1);
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDevice(&current));
    EXPECT(current == 0);

    cudaDeviceProp device;
    std::memset(&device, 0x55, sizeof device);
    CHECK(cudaGetDeviceProperties(&device, 0));
    std::printf("%s, compute capability %d.%d, %d multiprocessors, %zu MiB\n", device.name, device.major, device.minor,
                device.multiProcessorCount, device.totalGlobalMem >> 20);
    EXPECT(device.major >= 7 && device.warpSize == 32 && device.multiProcessorCount >= 1);
    EXPECT(device.maxThreadsPerBlock == 1024 && device.maxGridSize[0] == 0x7fffffff && device.maxGridSize[1] == 65535);
    EXPECT(device.maxThreadsDim[0] == 1024 && device.maxThreadsDim[1] == 1024 && device.maxThreadsDim[2] == 64);
    EXPECT(device.sharedMemPerBlock == 49152 && device.totalConstMem == 65536 && device.regsPerBlock == 65536);
    EXPECT(device.unifiedAddressing == 1 && device.managedMemory == 1 && device.concurrentKernels == 1);

    EXPECT(attribute(cudaDevAttrComputeCapabilityMajor) == device.major);
    EXPECT(attribute(cudaDevAttrComputeCapabilityMinor) == device.minor);
    EXPECT(attribute(cudaDevAttrMultiProcessorCount) == device.multiProcessorCount);
    EXPECT(attribute(cudaDevAttrMaxThreadsPerBlock) == device.maxThreadsPerBlock);
    EXPECT(attribute(cudaDevAttrMaxThreadsPerMultiProcessor) == device.maxThreadsPerMultiProcessor);
    EXPECT(attribute(cudaDevAttrMaxSharedMemoryPerBlock) == int(device.sharedMemPerBlock));
    EXPECT(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) == int(device.sharedMemPerBlockOptin));
    EXPECT(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) == int(device.sharedMemPerMultiprocessor));
    EXPECT(attribute(cudaDevAttrL2CacheSize) == device.l2CacheSize);
    EXPECT(attribute(cudaDevAttrGlobalMemoryBusWidth) == device.memoryBusWidth);
    EXPECT(attribute(cudaDevAttrWarpSize) == 32);
    EXPECT(attribute(cudaDevAttrClockRate) > 0 && attribute(cudaDevAttrMemoryClockRate) > 0);
    EXPECT(attribute(cudaDevAttrCooperativeLaunch) == device.cooperativeLaunch);
    EXPECT(attribute(cudaDevAttrPciDeviceId) == device.pciDeviceID);

    int runtime, driver;
    CHECK(cudaRuntimeGetVersion(&runtime));
    CHECK(cudaDriverGetVersion(&driver));
    EXPECT(runtime == CUDART_VERSION && driver >= runtime);

    // A device is not its own peer, but peer copies work within one device.
    int is_peer = -1;
    CHECK(cudaDeviceCanAccessPeer(&is_peer, 0, 0));
    EXPECT(is_peer == 0);
    std::vector<int> values = random_values<int>(100, 0, 99);
    DeviceArray<int> from(values), to(100);
    CHECK(cudaMemcpyPeer(to, 0, from, 0, to.bytes()));
    compare("peer copy", to.download(), values);
    to.fill(0);
    CHECK(cudaMemcpyPeerAsync(to, 0, from, 0, to.bytes(), 0));
    compare("asynchronous peer copy", to.download(), values);

    char bus[32];
    int found = -1;
    CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    CHECK(cudaDeviceGetByPCIBusId(&found, bus));
    EXPECT(found == 0);
    size_t limit;
    CHECK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 << 20));
    CHECK(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
    EXPECT(limit >= 2 << 20);
    unsigned flags;
    CHECK(cudaGetDeviceFlags(&flags));

    DeviceArray<unsigned> seen(3);
    look<<<1, 1>>>(seen);
    CHECK_KERNEL();
    std::vector<unsigned> special = seen.download();
    EXPECT(special[0] >= unsigned(device.multiProcessorCount) && special[1] == 32 && special[2] < special[0]);
    return finish();
}
