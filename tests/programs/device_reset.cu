// cudaDeviceReset releases memory of all kinds, streams, events, pools, arrays,
// textures and graphs. Earlier handles are invalid, and the device works as new.
#include "check.h"

#include <unistd.h>

__device__ int counter = 5;

__global__ void add(int *to, cudaTextureObject_t texture) {
    *to += counter + (texture ? tex1Dfetch<int>(texture, 2) : 0);
    counter = 0;
}

static long resident_pages() {
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2) resident = -1;
    if (file) fclose(file);
    return resident;
}

struct Handles {
    cudaStream_t stream;
    cudaEvent_t event;
    cudaMemPool_t pool;
    cudaArray_t array;
    cudaTextureObject_t texture;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    int *memory;
};

static Handles make_everything() {
    Handles made = {};
    CHECK(cudaStreamCreate(&made.stream));
    CHECK(cudaEventCreate(&made.event));
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&made.pool, &properties));
    void *pooled, *managed, *pinned;
    CHECK(cudaMallocFromPoolAsync(&pooled, 1 << 20, made.pool, made.stream));
    CHECK(cudaMallocManaged(&managed, 1 << 20));
    CHECK(cudaMallocHost(&pinned, 1 << 20));
    CHECK(cudaMalloc(&made.memory, 4 << 20));
    CHECK(cudaMemsetAsync(made.memory, 0, 4 << 20, made.stream));
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
    CHECK(cudaMallocArray(&made.array, &format, 256, 256));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = made.memory;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = 1024;
    cudaTextureDesc description = {};
    CHECK(cudaCreateTextureObject(&made.texture, &resource, &description, nullptr));
    CHECK(cudaStreamBeginCapture(made.stream, cudaStreamCaptureModeRelaxed));
    add<<<1, 1, 0, made.stream>>>(made.memory, made.texture);
    CHECK(cudaStreamEndCapture(made.stream, &made.graph));
    CHECK(cudaGraphInstantiate(&made.executable, made.graph, 0));
    CHECK(cudaGraphLaunch(made.executable, made.stream));
    CHECK(cudaEventRecord(made.event, made.stream));
    return made;
}

int main() {
    size_t free_at_first, free_now, total;
    CHECK(cudaMemGetInfo(&free_at_first, &total));
    long pages = 0;
    for (int round = 0; round < 40; ++round) {
        Handles made = make_everything();
        CHECK(cudaDeviceSynchronize());
        int value = 0;
        CHECK(cudaMemcpy(&value, made.memory, sizeof value, cudaMemcpyDeviceToHost));
        EXPECT(value == 5);  // variables have their first values again
        CHECK(cudaDeviceReset());
        EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(made.stream));
        EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventSynchronize(made.event));
        EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(made.memory, 0, 4));
        cudaGetLastError();
        CHECK(cudaMemGetInfo(&free_now, &total));
        EXPECT(free_now == free_at_first);
        if (round == 10) pages = resident_pages();
    }
    EXPECT(resident_pages() - pages < (8 << 20) / sysconf(_SC_PAGESIZE));
    return finish();
}
