//@ mistakes: it reads the memory of a device that has not let it
//@ devices: 2
//@ link: -lcuda
// Two devices: ownership, copies between them, access to each other's memory, order across devices.
#include "check_driver.h"

#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>

const int count = 5000;
const int blocks = (count + 255) / 256;

__device__ int variable;
__managed__ int of_all = 10;

__global__ void fill(int *data, int count, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] = value + i;
}

__global__ void add_to(int *to, const int *from, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] += from[i];
}

__global__ void set_variable(int value) { variable = value; }
__global__ void add_to_all(int value) { of_all += value; }
__global__ void touch(int *data) { *data += 1; }

static void CUDART_CB wait_for(void *flag) {
    while (!*static_cast<volatile int *>(flag)) usleep(100);
}

static std::vector<int> wanted(int value, int factor = 1) {
    std::vector<int> values(count);
    for (int i = 0; i < count; ++i) values[i] = value + factor * i;
    return values;
}

static std::vector<int> download(const int *data) {
    std::vector<int> values(count);
    CHECK(cudaMemcpy(values.data(), data, count * sizeof(int), cudaMemcpyDefault));
    return values;
}

int main() {
    const size_t bytes = count * sizeof(int);
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices));
    EXPECT(devices == 2);
    if (devices != 2) return finish();
    int device = -1;
    CHECK(cudaGetDevice(&device));
    EXPECT(device == 0);
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(2));
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(-1));
    cudaGetLastError();

    // The devices are distinguishable.
    cudaDeviceProp first, second;
    CHECK(cudaGetDeviceProperties(&first, 0));
    CHECK(cudaGetDeviceProperties(&second, 1));
    EXPECT(std::string(first.name) == second.name);
    EXPECT(memcmp(&first.uuid, &second.uuid, sizeof first.uuid) != 0);
    EXPECT(first.pciBusID != second.pciBusID);
    char bus[32];
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, i));
        CHECK(cudaDeviceGetByPCIBusId(&device, bus));
        EXPECT(device == i);
    }

    // The current device is per thread.
    CHECK(cudaSetDevice(1));
    std::thread([] {
        int own = -1;
        CHECK(cudaGetDevice(&own));
        EXPECT(own == 0);
    }).join();
    CHECK(cudaGetDevice(&device));
    EXPECT(device == 1);

    // Memory is allocated and counted on the current device.
    size_t free_before[2], free_now, total;
    int *data[2];
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaSetDevice(i));
        CHECK(cudaMemGetInfo(&free_before[i], &total));
        CHECK(cudaMalloc(&data[i], bytes));
        fill<<<blocks, 256>>>(data[i], count, 1000 * (i + 1));
        CHECK_KERNEL();
        cudaPointerAttributes attributes;
        CHECK(cudaPointerGetAttributes(&attributes, data[i]));
        EXPECT(attributes.device == i && attributes.type == cudaMemoryTypeDevice);
    }
    void *large;
    CHECK(cudaMalloc(&large, 64 << 20));
    CHECK(cudaSetDevice(0));
    CHECK(cudaMemGetInfo(&free_now, &total));
    EXPECT(free_now >= free_before[0] - (1 << 20));
    CHECK(cudaFree(large));
    CHECK(cudaSetDevice(1));
    CHECK(cudaMemGetInfo(&free_now, &total));
    EXPECT(free_now >= free_before[1] - (1 << 20));
    compare("other device's memory", download(data[0]), wanted(1000));

    // Each device has its own copy of a variable.
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaSetDevice(i));
        set_variable<<<1, 1>>>(70 + i);
    }
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaSetDevice(i));
        int value = 0;
        CHECK(cudaMemcpyFromSymbol(&value, variable, sizeof value));
        EXPECT(value == 70 + i);
    }

    // A managed variable is shared by all devices and the host.
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaSetDevice(i));
        add_to_all<<<1, 1>>>(i + 1);
        CHECK_KERNEL();
        of_all += 100;
    }
    EXPECT(of_all == 213);

    // Copies between devices, with either one current.
    int *target;
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&target, bytes));
    CHECK(cudaSetDevice(0));
    CHECK(cudaMemcpyPeer(target, 1, data[0], 0, bytes));
    CHECK(cudaDeviceSynchronize());
    compare("cudaMemcpyPeer", download(target), wanted(1000));
    CHECK(cudaMemcpy(target, data[1], bytes, cudaMemcpyDefault));
    CHECK(cudaDeviceSynchronize());
    compare("cudaMemcpy", download(target), wanted(2000));
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaMemcpyPeer(target, 5, data[0], 0, bytes));
    cudaGetLastError();

    // Streams and events belong to a device.
    cudaStream_t stream[2];
    cudaEvent_t event[2];
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaSetDevice(i));
        CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        CHECK(cudaEventCreate(&event[i]));
        int of = -1;
        CHECK(cudaStreamGetDevice(stream[i], &of));
        EXPECT(of == i);
    }
    CHECK(cudaSetDevice(0));
    fill<<<1, 1, 0, stream[1]>>>(data[0], 1, 0);
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaGetLastError());
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventRecord(event[0], stream[1]));
    cudaGetLastError();
    CHECK(cudaEventRecord(event[1], stream[1]));
    CHECK(cudaEventSynchronize(event[1]));
    CHECK(cudaMemcpyAsync(target, data[0], bytes, cudaMemcpyDefault, stream[1]));
    CHECK(cudaStreamSynchronize(stream[1]));
    compare("a copy in the other device's stream", download(target), wanted(1000));

    // A stream waits for an event of the other device, without delaying other work.
    volatile int open = 0;
    CHECK(cudaSetDevice(0));
    CHECK(cudaLaunchHostFunc(stream[0], wait_for, (void *)&open));
    fill<<<blocks, 256, 0, stream[0]>>>(data[0], count, 50);
    CHECK(cudaEventRecord(event[0], stream[0]));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamWaitEvent(stream[1], event[0], 0));
    CHECK(cudaMemcpyPeerAsync(target, 1, data[0], 0, bytes, stream[1]));
    fill<<<1, 32>>>(data[1], 32, 2000);
    CHECK(cudaStreamSynchronize(nullptr));
    EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(stream[1]));
    EXPECT_ERROR(cudaErrorNotReady, cudaEventQuery(event[0]));
    open = 1;
    CHECK(cudaStreamSynchronize(stream[1]));
    compare("after the other device's event", download(target), wanted(50));

    // Access to the other device's memory.
    int can = 0;
    CHECK(cudaDeviceCanAccessPeer(&can, 1, 0));
    EXPECT(can == 1);
    CHECK(cudaDeviceCanAccessPeer(&can, 1, 1));
    EXPECT(can == 0);
    CHECK(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 0, 1));
    EXPECT(can == 1);
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(1, 0));
    EXPECT_ERROR(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(0));
    CHECK(cudaDeviceEnablePeerAccess(0, 0));
    EXPECT_ERROR(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(0, 0));
    cudaGetLastError();
    add_to<<<blocks, 256>>>(data[1], data[0], count);
    CHECK_KERNEL();
    compare("read from the peer", download(data[1]), wanted(2050, 2));
    fill<<<blocks, 256>>>(data[0], count, 9);
    CHECK_KERNEL();
    compare("written to the peer", download(data[0]), wanted(9));

    // Pinned and managed memory are accessible to both without enabling.
    int *pinned, *managed;
    CHECK(cudaMallocHost(&pinned, bytes));
    CHECK(cudaMallocManaged(&managed, bytes));
    CHECK(cudaSetDevice(0));
    fill<<<blocks, 256>>>(pinned, count, 1);
    fill<<<blocks, 256>>>(managed, count, 2);
    CHECK_KERNEL();
    CHECK(cudaSetDevice(1));
    add_to<<<blocks, 256>>>(managed, pinned, count);
    CHECK_KERNEL();
    compare("managed", std::vector<int>(managed, managed + count), wanted(3, 2));

    // A pool belongs to a device and grants access to others individually.
    cudaMemPool_t pool, other;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 1));
    CHECK(cudaDeviceGetDefaultMemPool(&other, 0));
    EXPECT(pool != other);
    cudaMemLocation zero = {cudaMemLocationTypeDevice, {0}};
    cudaMemAccessFlags access;
    CHECK(cudaMemPoolGetAccess(&access, pool, &zero));
    EXPECT(access == cudaMemAccessFlagsProtNone);
    cudaMemAccessDesc allowed = {zero, cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMemPoolSetAccess(pool, &allowed, 1));
    int *from_pool;
    CHECK(cudaMallocAsync(&from_pool, bytes, stream[1]));
    CHECK(cudaStreamSynchronize(stream[1]));
    CHECK(cudaSetDevice(0));
    fill<<<blocks, 256>>>(from_pool, count, 4);
    CHECK_KERNEL();
    compare("pool", download(from_pool), wanted(4));
    CHECK(cudaFreeAsync(from_pool, stream[1]));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaDeviceSetMemPool(0, pool));
    cudaGetLastError();

    // Memory by handle on one device, mapped for both.
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {1}};
    size_t unit = 0;
    DRIVER(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUmemGenericAllocationHandle handle;
    DRIVER(cuMemCreate(&handle, unit, &prop, 0));
    CUdeviceptr mapped;
    DRIVER(cuMemAddressReserve(&mapped, unit, 0, 0, 0));
    DRIVER(cuMemMap(mapped, unit, 0, handle, 0));
    CUmemAccessDesc both[2] = {};
    for (int i = 0; i < 2; ++i) both[i] = {{CU_MEM_LOCATION_TYPE_DEVICE, {i}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    DRIVER(cuMemSetAccess(mapped, unit, both, 2));
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaSetDevice(i));
        fill<<<blocks, 256>>>(reinterpret_cast<int *>(mapped), count, 30 + i);
        CHECK_KERNEL();
        compare("mapped for both", download(reinterpret_cast<int *>(mapped)), wanted(30 + i));
    }

    // Each driver context belongs to a device.
    CUcontext context;
    CUdevice of;
    DRIVER(cuDevicePrimaryCtxRetain(&context, 1));
    DRIVER(cuCtxSetCurrent(context));
    DRIVER(cuCtxGetDevice(&of));
    EXPECT(of == 1);
    CHECK(cudaGetDevice(&device));
    EXPECT(device == 1);
    DRIVER(cuDevicePrimaryCtxRelease(1));

    // Memory of a graph on the first device.
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeThreadLocal));
    int *lasting;
    cudaGraph_t graph;
    CHECK(cudaMallocAsync(&lasting, count * sizeof(int), stream[0]));
    CHECK(cudaStreamEndCapture(stream[0], &graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream[0]));
    unsigned long long before = 0, after = 0;
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &before));
    // The memory belongs to the first device only: the other has none and trims none.
    unsigned long long of_other = 1;
    CHECK(cudaDeviceGetGraphMemAttribute(1, cudaGraphMemAttrUsedMemCurrent, &of_other));
    EXPECT(of_other == 0);
    CHECK(cudaDeviceGraphMemTrim(1));
    EXPECT(before > 0);
    CHECK(cudaSetDevice(1));

    // Devices are reset individually.
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(managed));
    CHECK(cudaDeviceReset());
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(target, 0, 4));
    cudaGetLastError();
    CHECK(cudaSetDevice(0));
    fill<<<blocks, 256, 0, stream[0]>>>(data[0], count, 6);
    CHECK(cudaStreamSynchronize(stream[0]));
    compare("the other device goes on", download(data[0]), wanted(6));
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &after));
    EXPECT(after == before);
    CHECK(cudaFree(lasting));

    // Without access, a kernel faults, on its own device only.
    CHECK(cudaSetDevice(1));
    touch<<<1, 1>>>(data[0]);
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaStreamQuery(nullptr));
    CHECK(cudaSetDevice(0));
    cudaGetLastError();
    touch<<<1, 1>>>(data[0]);
    CHECK_KERNEL();
    return finish();
}
