// Calls with different arguments in CUDA 11, 12 and 13.
//@ modes: shared clang clang11
#include "check.h"

__global__ void add(int *data, int value) { *data += value; }

static cudaStream_t stream;

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph) {
#if CUDART_VERSION < 12000
    cudaGraphNode_t node = nullptr;
    char log[32] = "?";
    cudaError_t error = cudaGraphInstantiate(exec, graph, &node, log, sizeof log);
    EXPECT((error == cudaSuccess) == (log[0] == 0) && (error == cudaSuccess) == (node == nullptr));
    return error;
#else
    return cudaGraphInstantiate(exec, graph, 0);
#endif
}

static cudaError_t link(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
#if CUDART_VERSION < 13000
    return cudaGraphAddDependencies(graph, &from, &to, 1);
#else
    return cudaGraphAddDependencies(graph, &from, &to, nullptr, 1);
#endif
}

static cudaError_t update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResult *result) {
#if CUDART_VERSION < 12000
    cudaGraphNode_t node;
    return cudaGraphExecUpdate(exec, graph, &node, result);
#else
    cudaGraphExecUpdateResultInfo info = {};
    cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
    *result = info.result;
    return error;
#endif
}

static cudaGraphNode_t kernel(cudaGraph_t graph, int *data, int value) {
    void *arguments[] = {&data, &value};
    cudaKernelNodeParams params = {(void *)add, dim3(1), dim3(1), 0, arguments, nullptr};
    cudaGraphNode_t node;
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    return node;
}

int main() {
    CHECK(cudaStreamCreate(&stream));
    DeviceArray<int> data(1);
    cudaGraph_t graph, other;
    cudaGraphExec_t exec;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t first = kernel(graph, data, 1), second = kernel(graph, data, 2);
    CHECK(link(graph, first, second));
    cudaGraphNode_t from[2], to[2];
    size_t edges = 2, dependents = 0;
#if CUDART_VERSION < 13000
    CHECK(cudaGraphGetEdges(graph, from, to, &edges));
    CHECK(cudaGraphNodeGetDependentNodes(first, nullptr, &dependents));
#else
    CHECK(cudaGraphGetEdges(graph, from, to, nullptr, &edges));
    CHECK(cudaGraphNodeGetDependentNodes(first, nullptr, nullptr, &dependents));
#endif
    EXPECT(edges == 1 && from[0] == first && to[0] == second && dependents == 1);
    data.fill(0);
    CHECK(instantiate(&exec, graph));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(data.download()[0] == 3);

    cudaGraphExecUpdateResult result;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, stream>>>(data, 10);
    cudaStreamCaptureStatus status;
    unsigned long long id = 0;
    CHECK(cudaStreamGetCaptureInfo(stream, &status, &id));
    EXPECT(status == cudaStreamCaptureStatusActive && id != 0);
    add<<<1, 1, 0, stream>>>(data, 20);
    CHECK(cudaStreamEndCapture(stream, &other));
    CHECK(update(exec, other, &result));
    EXPECT(result == cudaGraphExecUpdateSuccess);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(data.download()[0] == 33);
    kernel(other, data, 5);
    EXPECT_ERROR(cudaErrorGraphExecUpdateFailure, update(exec, other, &result));
    EXPECT(result == cudaGraphExecUpdateErrorTopologyChanged);

    cudaGraphExec_t none;
    CHECK(link(graph, second, first));
    EXPECT_ERROR(cudaErrorInvalidValue, instantiate(&none, graph));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(other));
    return finish();
}
