// Memory that graphs allocate and free: addresses are fixed; lifetimes begin at launches and end at frees.
#include "check.h"

#include <unistd.h>

__global__ void add(int *data, int count, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) data[i] += value;
}

static const int count = 4096;
static const size_t bytes = count * sizeof(int);
static cudaStream_t stream;

static cudaGraphNode_t allocation(cudaGraph_t graph, int **memory) {
    cudaMemAllocNodeParams params = {};
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location = {cudaMemLocationTypeDevice, 0};
    params.bytesize = bytes;
    cudaGraphNode_t node;
    CHECK(cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &params));
    EXPECT(params.dptr != nullptr);
    *memory = static_cast<int *>(params.dptr);
    cudaMemAllocNodeParams got = {};
    CHECK(cudaGraphMemAllocNodeGetParams(node, &got));
    EXPECT(got.dptr == params.dptr && got.bytesize == bytes && got.poolProps.location.type == cudaMemLocationTypeDevice);
    return node;
}

// Fills memory with a value and adds to it.
static cudaGraphNode_t use(cudaGraph_t graph, cudaGraphNode_t after, int *memory, int value) {
    cudaMemsetParams fill = {memory, 0, 1, 4, count, 1};
    cudaGraphNode_t filled, added;
    CHECK(cudaGraphAddMemsetNode(&filled, graph, &after, 1, &fill));
    int elements = count;
    void *arguments[] = {&memory, &elements, &value};
    cudaKernelNodeParams kernel = {(void *)add, dim3(4), dim3(64), 0, arguments, nullptr};
    CHECK(cudaGraphAddKernelNode(&added, graph, &filled, 1, &kernel));
    return added;
}

static unsigned long long attribute(cudaGraphMemAttributeType which) {
    unsigned long long value = 0;
    CHECK(cudaDeviceGetGraphMemAttribute(0, which, &value));
    return value;
}

static void freed_in_the_graph() {
    std::vector<int> out(count);
    cudaGraph_t graph, copy;
    CHECK(cudaGraphCreate(&graph, 0));
    int *memory;
    cudaGraphNode_t allocated = allocation(graph, &memory), used = use(graph, allocated, memory, 4), down, freed, again;
    CHECK(cudaGraphAddMemcpyNode1D(&down, graph, &used, 1, out.data(), memory, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddMemFreeNode(&freed, graph, &down, 1, memory));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&again, graph, &down, 1, memory));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&again, graph, &down, 1, &memory));
    void *got = nullptr;
    CHECK(cudaGraphMemFreeNodeGetParams(freed, &got));
    EXPECT(got == memory);
    cudaGraphExec_t exec, second;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    compare("freed in the graph", out, std::vector<int>(count, 5));
    // Freed memory still counts until it is trimmed.
    EXPECT(attribute(cudaGraphMemAttrUsedMemCurrent) >= bytes && attribute(cudaGraphMemAttrUsedMemHigh) >= bytes);
    EXPECT(attribute(cudaGraphMemAttrReservedMemCurrent) >= bytes);
    CHECK(cudaDeviceGraphMemTrim(0));
    EXPECT(attribute(cudaGraphMemAttrUsedMemCurrent) == 0 && attribute(cudaGraphMemAttrReservedMemCurrent) == 0);
    // Such a graph has one executable graph, no clones, no parents, and no removals.
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphInstantiate(&second, graph, 0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphClone(&copy, graph));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphDestroyNode(down));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphRemoveDependencies(graph, &down, &freed, nullptr, 1));
    cudaGraph_t parent;
    cudaGraphNode_t child;
    CHECK(cudaGraphCreate(&parent, 0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, graph));
    CHECK(cudaGraphDestroy(parent));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    (void)cudaGetLastError();
}

static void freed_outside() {
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    int *memory;
    cudaGraphNode_t allocated = allocation(graph, &memory);
    use(graph, allocated, memory, 6);
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    std::vector<int> out(count);
    for (int round = 0; round < 2; ++round) {
        CHECK(cudaGraphLaunch(exec, stream));
        // The memory lives until it is freed; before that, the graph cannot allocate it again.
        EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphLaunch(exec, stream));
        CHECK(cudaMemcpyAsync(out.data(), memory, bytes, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        compare("lives on", out, std::vector<int>(count, 7));
        EXPECT(attribute(cudaGraphMemAttrUsedMemCurrent) >= bytes);
        if (round == 0) CHECK(cudaFreeAsync(memory, stream));
        else CHECK(cudaFree(memory));
        EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(memory));
    }
    // The memory outlives the graph.
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaMemcpyAsync(out.data(), memory, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    compare("outlives the graph", out, std::vector<int>(count, 7));
    CHECK(cudaFree(memory));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(memory));
    (void)cudaGetLastError();
}

static void freed_by_the_next_launch() {
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    int *memory;
    cudaGraphNode_t allocated = allocation(graph, &memory);
    use(graph, allocated, memory, 6);
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(attribute(cudaGraphMemAttrUsedMemCurrent) >= bytes);
    CHECK(cudaFree(memory));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

static void CUDART_CB wait_for(void *flag) {
    while (!*static_cast<volatile int *>(flag)) usleep(100);
}

// The first launch reserves memory, and trimming releases it for other uses.
static void memory_goes_back() {
    cudaMemAllocNodeParams params = {};
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location = {cudaMemLocationTypeDevice, 0};
    params.bytesize = 256 << 20;
    size_t before, now, total;
    CHECK(cudaDeviceGraphMemTrim(0));
    CHECK(cudaMemGetInfo(&before, &total));
    cudaGraph_t graph;
    cudaGraphNode_t allocated, freed;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &params));
    CHECK(cudaGraphAddMemFreeNode(&freed, graph, &allocated, 1, params.dptr));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaMemGetInfo(&now, &total));
    EXPECT(now == before);
    for (int round = 0; round < 2; ++round) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemGetInfo(&now, &total));
        EXPECT(now + params.bytesize <= before);
        CHECK(cudaDeviceGraphMemTrim(0));
        CHECK(cudaMemGetInfo(&now, &total));
        EXPECT(now == before);
    }
    // Memory of a running graph is not trimmed.
    volatile int open = 0;
    CHECK(cudaLaunchHostFunc(stream, wait_for, (void *)&open));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaDeviceGraphMemTrim(0));
    CHECK(cudaMemGetInfo(&now, &total));
    EXPECT(now + params.bytesize <= before);
    open = 1;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaDeviceGraphMemTrim(0));
    // Without enough memory, the graph cannot be launched.
    void *rest;
    CHECK(cudaMalloc(&rest, before - params.bytesize / 2));
    EXPECT_ERROR(cudaErrorMemoryAllocation, cudaGraphLaunch(exec, stream));
    CHECK(cudaFree(rest));
    (void)cudaGetLastError();
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaDeviceGraphMemTrim(0));
    CHECK(cudaMemGetInfo(&now, &total));
    EXPECT(now == before);
}

static void captured() {
    std::vector<int> out(count);
    int *memory, *kept;
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&memory, bytes, stream));
    CHECK(cudaMallocAsync(&kept, bytes, stream));
    CHECK(cudaMemsetAsync(memory, 0, bytes, stream));
    add<<<4, 64, 0, stream>>>(memory, count, 9);
    CHECK(cudaMemcpyAsync(kept, memory, bytes, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaFreeAsync(memory, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaMemcpyAsync(out.data(), kept, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(kept, stream));
    CHECK(cudaStreamSynchronize(stream));
    compare("captured allocations", out, std::vector<int>(count, 9));
    // One graph may free an allocation of another.
    cudaGraph_t second;
    cudaGraphNode_t node;
    cudaGraphExec_t second_exec;
    CHECK(cudaGraphCreate(&second, 0));
    CHECK(cudaGraphAddMemFreeNode(&node, second, nullptr, 0, kept));
    CHECK(cudaGraphInstantiate(&second_exec, second, 0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphLaunch(second_exec, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaGraphLaunch(second_exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaDeviceGraphMemTrim(0));
    EXPECT(attribute(cudaGraphMemAttrUsedMemCurrent) == 0);
    CHECK(cudaGraphExecDestroy(second_exec));
    CHECK(cudaGraphDestroy(second));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    // A graph cannot free memory that was allocated outside of graphs.
    CHECK(cudaMallocAsync(&memory, bytes, stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaFreeAsync(memory, stream));
    (void)cudaStreamEndCapture(stream, &graph);
    CHECK(cudaFreeAsync(memory, stream));
    (void)cudaGetLastError();
}

static void attributes() {
    unsigned long long value = 0;
    CHECK(cudaDeviceGraphMemTrim(0));
    CHECK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &value));
    EXPECT(attribute(cudaGraphMemAttrUsedMemHigh) == 0);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &value));
    value = 5;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &value));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttributeType(9), &value));
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaDeviceGraphMemTrim(7));
    (void)cudaGetLastError();
}

int main() {
    CHECK(cudaStreamCreate(&stream));
    freed_in_the_graph();
    freed_outside();
    freed_by_the_next_launch();
    memory_goes_back();
    captured();
    attributes();
    return finish();
}
