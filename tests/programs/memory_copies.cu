// One-dimensional copies between host and device: synchronous, asynchronous, within
// the device, partial, of memory allocated or registered by the host, and memset.
#include "check.h"

#include <cstring>

__global__ void add_index(int *data, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] += i;
}

static const int count = 10007;
static const size_t bytes = count * sizeof(int);

static std::vector<int> plus_index(std::vector<int> values) {
    for (int i = 0; i < count; ++i) values[i] += i;
    return values;
}

static void round_trip(const std::vector<int> &values) {
    DeviceArray<int> first(values), second(count);
    CHECK(cudaMemcpy(second, first, bytes, cudaMemcpyDeviceToDevice));
    compare("device to device", second.download(), values);

    std::vector<int> copy(count);
    CHECK(cudaMemcpy(copy.data(), values.data(), bytes, cudaMemcpyHostToHost));
    compare("host to host", copy, values);

    // Directions inferred from the addresses.
    std::vector<int> found(count);
    CHECK(cudaMemcpy(second, values.data(), bytes, cudaMemcpyDefault));
    CHECK(cudaMemcpy(found.data(), second, bytes, cudaMemcpyDefault));
    compare("default direction", found, values);
}

static void part(const std::vector<int> &values) {
    DeviceArray<int> device(values);
    std::vector<int> wanted = values, patch = random_values<int>(100, 0, 99, 7);
    CHECK(cudaMemcpy(device.get() + 333, patch.data(), 100 * sizeof(int), cudaMemcpyHostToDevice));
    std::memcpy(&wanted[333], patch.data(), 100 * sizeof(int));
    // Unaligned copies.
    CHECK(cudaMemcpy((char *)device.get() + 5001, (char *)patch.data() + 3, 17, cudaMemcpyHostToDevice));
    std::memcpy((char *)wanted.data() + 5001, (char *)patch.data() + 3, 17);
    compare("part", device.download(), wanted);
}

static void asynchronous(const std::vector<int> &values) {
    int *pinned;
    CHECK(cudaMallocHost(&pinned, bytes));
    std::memcpy(pinned, values.data(), bytes);
    DeviceArray<int> device(count);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, stream));
    add_index<<<(count + 127) / 128, 128, 0, stream>>>(device, count);
    CHECK(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    compare("asynchronous", std::vector<int>(pinned, pinned + count), plus_index(values));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(pinned));
}

// The kernel accesses host memory directly.
static void mapped(const std::vector<int> &values) {
    int *allocated, *seen;
    CHECK(cudaHostAlloc(&allocated, bytes, cudaHostAllocMapped));
    std::memcpy(allocated, values.data(), bytes);
    CHECK(cudaHostGetDevicePointer(&seen, allocated, 0));
    add_index<<<(count + 127) / 128, 128>>>(seen, count);
    CHECK_KERNEL();
    compare("allocated on the host", std::vector<int>(allocated, allocated + count), plus_index(values));
    CHECK(cudaFreeHost(allocated));

    std::vector<int> registered = values;
    CHECK(cudaHostRegister(registered.data(), bytes, cudaHostRegisterMapped));
    CHECK(cudaHostGetDevicePointer(&seen, registered.data(), 0));
    add_index<<<(count + 127) / 128, 128>>>(seen, count);
    CHECK_KERNEL();
    CHECK(cudaHostUnregister(registered.data()));
    compare("registered by the host", registered, plus_index(values));
}

static void memset_bytes() {
    DeviceArray<unsigned char> device(1000);
    device.fill(0x11);
    CHECK(cudaMemset(device.get() + 101, 0xee, 57));
    CHECK(cudaMemsetAsync(device.get() + 500, 0x77, 3, 0));
    CHECK(cudaDeviceSynchronize());
    std::vector<unsigned char> wanted(1000, 0x11);
    std::memset(&wanted[101], 0xee, 57);
    std::memset(&wanted[500], 0x77, 3);
    compare("memset", device.download(), wanted);
}

static void attributes_of_pointers() {
    DeviceArray<int> device(16);
    int *pinned, host = 0;
    CHECK(cudaMallocHost(&pinned, 64));
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, device.get() + 3));
    EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == device.get() + 3);
    CHECK(cudaPointerGetAttributes(&attributes, pinned));
    EXPECT(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == pinned);
    CHECK(cudaPointerGetAttributes(&attributes, &host));
    EXPECT(attributes.type == cudaMemoryTypeUnregistered);
    CHECK(cudaFreeHost(pinned));
}

static void capacity() {
    size_t free_before, free_with, total;
    CHECK(cudaMemGetInfo(&free_before, &total));
    EXPECT(free_before > 0 && free_before <= total);
    void *block;
    CHECK(cudaMalloc(&block, 64 << 20));
    CHECK(cudaMemGetInfo(&free_with, &total));
    EXPECT(free_with + (64 << 20) <= free_before);
    CHECK(cudaFree(block));
    EXPECT_ERROR(cudaErrorMemoryAllocation, cudaMalloc(&block, total + (1 << 20)));
    EXPECT_ERROR(cudaErrorMemoryAllocation, cudaGetLastError());
    CHECK(cudaFree(nullptr));
}

int main() {
    std::vector<int> values = random_values<int>(count, -1000000, 1000000);
    round_trip(values);
    part(values);
    asynchronous(values);
    mapped(values);
    memset_bytes();
    attributes_of_pointers();
    capacity();
    return finish();
}
