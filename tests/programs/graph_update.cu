// Changes of graphs: parameters of nodes, of executable graphs individually and as a whole, attributes, disabled nodes.
#include "check.h"

__global__ void add(int *data, int count, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) data[i] += value;
}

__global__ void multiply(int *data, int count, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) data[i] *= value;
}

static const int count = 256;
static cudaStream_t stream;

struct Kernel {
    int *data;
    int elements = count, value;
    void *arguments[3];
    cudaKernelNodeParams params = {};

    Kernel(void (*kernel)(int *, int, int), int *data, int value) : data(data), value(value) {
        arguments[0] = &this->data;
        arguments[1] = &elements;
        arguments[2] = &this->value;
        params.func = (void *)kernel;
        params.gridDim = dim3(2);
        params.blockDim = dim3(32);
        params.kernelParams = arguments;
    }
    const cudaKernelNodeParams *get() const { return &params; }
};

// A fill, a kernel, a copy to the host and a host function in sequence.
struct Chain {
    DeviceArray<int> data{count};
    std::vector<int> out = std::vector<int>(count);
    int calls = 0;
    cudaGraph_t graph;
    cudaGraphNode_t fill, kernel, copy, host;
    cudaGraphExec_t exec;

    explicit Chain(int value, unsigned start = 1) {
        CHECK(cudaGraphCreate(&graph, 0));
        cudaMemsetParams params = {data.get(), 0, start, 4, count, 1};
        CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &params));
        CHECK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, Kernel(add, data, value).get()));
        CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, out.data(), data, data.bytes(), cudaMemcpyDeviceToHost));
        cudaHostNodeParams host_params = {count_call, &calls};
        CHECK(cudaGraphAddHostNode(&host, graph, &copy, 1, &host_params));
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
    }
    ~Chain() {
        CHECK(cudaGraphExecDestroy(exec));
        CHECK(cudaGraphDestroy(graph));
    }
    static void count_call(void *calls) { ++*static_cast<int *>(calls); }
    std::vector<int> run() {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        return out;
    }
};

static std::vector<int> all(int value) { return std::vector<int>(count, value); }

static void nodes_of_a_graph() {
    Chain chain(4);
    cudaKernelNodeParams got = {};
    CHECK(cudaGraphKernelNodeGetParams(chain.kernel, &got));
    EXPECT(got.func == (void *)add && got.gridDim.x == 2 && got.blockDim.x == 32 && got.extra == nullptr);
    EXPECT(*(int **)got.kernelParams[0] == chain.data.get() && *(int *)got.kernelParams[2] == 4);
    CHECK(cudaGraphKernelNodeSetParams(chain.kernel, Kernel(multiply, chain.data, 6).get()));
    cudaMemsetParams fill = {chain.data.get(), 0, 5, 4, count, 1};
    CHECK(cudaGraphMemsetNodeSetParams(chain.fill, &fill));
    // Existing executable graphs are unchanged.
    compare("instantiated before", chain.run(), all(5));
    cudaGraphExec_t later;
    CHECK(cudaGraphInstantiate(&later, chain.graph, 0));
    CHECK(cudaGraphLaunch(later, stream));
    CHECK(cudaStreamSynchronize(stream));
    compare("instantiated after", chain.out, all(30));
    CHECK(cudaGraphExecDestroy(later));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphMemsetNodeSetParams(chain.kernel, &fill));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphKernelNodeGetParams(chain.fill, &got));

    cudaGraphNodeParams any = {};
    any.type = cudaGraphNodeTypeKernel;
    any.kernel.func = (void *)add;
    any.kernel.gridDim = dim3(1);
    any.kernel.blockDim = dim3(64);
    Kernel eleven(add, chain.data, 11);
    any.kernel.kernelParams = eleven.params.kernelParams;
    CHECK(cudaGraphNodeSetParams(chain.kernel, &any));
    cudaGraphNodeParams described = {};
    CHECK(cudaGraphNodeGetParams(chain.kernel, &described));
    EXPECT(described.type == cudaGraphNodeTypeKernel && described.kernel.blockDim.x == 64 && *(int *)described.kernel.kernelParams[2] == 11);
    CHECK(cudaGraphExecNodeSetParams(chain.exec, chain.kernel, &any));
    compare("described", chain.run(), all(12));
}

static void nodes_of_an_executable_graph() {
    Chain chain(4);
    CHECK(cudaGraphExecKernelNodeSetParams(chain.exec, chain.kernel, Kernel(multiply, chain.data, 3).get()));
    cudaMemsetParams fill = {chain.data.get(), 0, 7, 4, count, 1};
    CHECK(cudaGraphExecMemsetNodeSetParams(chain.exec, chain.fill, &fill));
    compare("kernel and fill", chain.run(), all(21));
    std::vector<int> elsewhere(count);
    CHECK(cudaGraphExecMemcpyNodeSetParams1D(chain.exec, chain.copy, elsewhere.data(), chain.data, chain.data.bytes(), cudaMemcpyDeviceToHost));
    int other_calls = 0;
    cudaHostNodeParams host = {Chain::count_call, &other_calls};
    CHECK(cudaGraphExecHostNodeSetParams(chain.exec, chain.host, &host));
    fill.value = 1;
    CHECK(cudaGraphExecMemsetNodeSetParams(chain.exec, chain.fill, &fill));
    compare("left alone", chain.run(), all(21));
    compare("copied elsewhere", elsewhere, all(3));
    EXPECT(chain.calls == 1 && other_calls == 1);
    // A copy must keep its kinds of memory and must not be empty.
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphExecMemcpyNodeSetParams1D(chain.exec, chain.copy, chain.data, elsewhere.data(), 16, cudaMemcpyHostToDevice));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphExecMemcpyNodeSetParams1D(chain.exec, chain.copy, elsewhere.data(), chain.data, 0, cudaMemcpyDeviceToHost));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphExecHostNodeSetParams(chain.exec, chain.copy, &host));
    Chain unrelated(1);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphExecHostNodeSetParams(chain.exec, unrelated.host, &host));
    // A running launch keeps its parameters.
    for (int i = 1; i <= 8; ++i) {
        CHECK(cudaGraphExecKernelNodeSetParams(chain.exec, chain.kernel, Kernel(add, chain.data, i).get()));
        CHECK(cudaGraphLaunch(chain.exec, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    compare("the last of many", elsewhere, all(9));
}

static void children_of_an_executable_graph() {
    Chain first(4), second(9);
    cudaGraph_t graph, embedded;
    cudaGraphNode_t child;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddChildGraphNode(&child, graph, nullptr, 0, first.graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphExecChildGraphNodeSetParams(exec, child, second.graph));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    compare("child replaced", second.out, all(10));
    // Nodes of the child are changed by their handles in the node's graph.
    CHECK(cudaGraphChildGraphNodeGetGraph(child, &embedded));
    cudaGraphNode_t inner[4];
    size_t number = 4;
    CHECK(cudaGraphGetNodes(embedded, inner, &number));
    CHECK(cudaGraphExecKernelNodeSetParams(exec, inner[1], Kernel(add, second.data, 30).get()));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    compare("child's node changed", second.out, all(31));
    Chain third(70);
    cudaGraphNodeParams any = {};
    any.type = cudaGraphNodeTypeGraph;
    any.graph.graph = third.graph;
    CHECK(cudaGraphExecNodeSetParams(exec, child, &any));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    compare("child replaced once more", third.out, all(71));
    cudaGraph_t empty;
    CHECK(cudaGraphCreate(&empty, 0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphExecChildGraphNodeSetParams(exec, child, empty));
    CHECK(cudaGraphDestroy(empty));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

static void whole_graphs() {
    Chain chain(4), other(10, 2);
    cudaGraphExecUpdateResultInfo info = {};
    CHECK(cudaGraphExecUpdate(chain.exec, other.graph, &info));
    EXPECT(info.result == cudaGraphExecUpdateSuccess);
    chain.run();
    compare("updated", other.out, all(12));
    EXPECT(other.calls == 1 && chain.calls == 0);
    // Another number of nodes, other edges, another type.
    cudaGraphNode_t extra;
    CHECK(cudaGraphAddEmptyNode(&extra, other.graph, nullptr, 0));
    EXPECT_ERROR(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(chain.exec, other.graph, &info));
    EXPECT(info.result == cudaGraphExecUpdateErrorTopologyChanged);
    CHECK(cudaGraphDestroyNode(extra));
    CHECK(cudaGraphExecUpdate(chain.exec, other.graph, &info));
    CHECK(cudaGraphRemoveDependencies(other.graph, &other.copy, &other.host, nullptr, 1));
    CHECK(cudaGraphAddDependencies(other.graph, &other.kernel, &other.host, nullptr, 1));
    EXPECT_ERROR(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(chain.exec, other.graph, &info));
    EXPECT(info.result == cudaGraphExecUpdateErrorTopologyChanged);
    CHECK(cudaGraphDestroyNode(other.host));
    CHECK(cudaGraphAddEmptyNode(&other.host, other.graph, &other.copy, 1));
    EXPECT_ERROR(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(chain.exec, other.graph, &info));
    EXPECT(info.result == cudaGraphExecUpdateErrorNodeTypeChanged && info.errorNode == other.host);
    // A copy in the other direction.
    Chain third(3);
    CHECK(cudaGraphMemcpyNodeSetParams1D(third.copy, third.data, third.out.data(), third.data.bytes(), cudaMemcpyHostToDevice));
    EXPECT_ERROR(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(chain.exec, third.graph, &info));
    EXPECT(info.result == cudaGraphExecUpdateErrorParametersChanged && info.errorNode == third.copy);
    // Refused changes have no effect.
    other.out.assign(count, 0);
    chain.run();
    compare("as before", other.out, all(12));
    (void)cudaGetLastError();
}

static void captured_again() {
    DeviceArray<int> data(count);
    cudaGraphExec_t exec = nullptr;
    for (int round = 1; round <= 4; ++round) {
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        CHECK(cudaMemsetAsync(data, 0, data.bytes(), stream));
        for (int i = 0; i < 10; ++i) add<<<round, 32, 0, stream>>>(data, count, round);
        CHECK(cudaStreamEndCapture(stream, &graph));
        cudaGraphExecUpdateResultInfo info;
        if (exec == nullptr) CHECK(cudaGraphInstantiate(&exec, graph, 0));
        else CHECK(cudaGraphExecUpdate(exec, graph, &info));
        CHECK(cudaGraphDestroy(graph));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        compare("captured again", data.download(), all(10 * round));
    }
    CHECK(cudaGraphExecDestroy(exec));
}

static void disabled_nodes() {
    Chain chain(4);
    unsigned enabled = 0;
    CHECK(cudaGraphNodeGetEnabled(chain.exec, chain.kernel, &enabled));
    EXPECT(enabled == 1);
    CHECK(cudaGraphNodeSetEnabled(chain.exec, chain.kernel, 0));
    CHECK(cudaGraphNodeGetEnabled(chain.exec, chain.kernel, &enabled));
    EXPECT(enabled == 0);
    compare("disabled", chain.run(), all(1));
    CHECK(cudaGraphNodeSetEnabled(chain.exec, chain.kernel, 1));
    compare("enabled", chain.run(), all(5));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(chain.exec, chain.host, 0));
    (void)cudaGetLastError();
}

static void attributes() {
    Chain chain(4), other(5);
    cudaLaunchAttributeValue value = {};
    CHECK(cudaGraphKernelNodeGetAttribute(chain.kernel, cudaLaunchAttributeCooperative, &value));
    EXPECT(value.cooperative == 0);
    value.cooperative = 1;
    CHECK(cudaGraphKernelNodeSetAttribute(chain.kernel, cudaLaunchAttributeCooperative, &value));
    value.priority = -2;
    CHECK(cudaGraphKernelNodeSetAttribute(chain.kernel, cudaLaunchAttributePriority, &value));
    CHECK(cudaGraphKernelNodeCopyAttributes(other.kernel, chain.kernel));
    CHECK(cudaGraphKernelNodeGetAttribute(other.kernel, cudaLaunchAttributeCooperative, &value));
    EXPECT(value.cooperative == 1);
    CHECK(cudaGraphKernelNodeGetAttribute(other.kernel, cudaLaunchAttributePriority, &value));
    EXPECT(value.priority == -2);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphKernelNodeGetAttribute(chain.fill, cudaLaunchAttributePriority, &value));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphKernelNodeSetAttribute(chain.kernel, cudaLaunchAttributeID(77), &value));
    (void)cudaGetLastError();
}

static void shapes_of_copies_stay() {
    DeviceArray<int> data(count);
    std::vector<int> out(count);
    cudaMemcpy3DParms rows = {};
    rows.srcPtr = make_cudaPitchedPtr(data.get(), 64, 16, 4);
    rows.dstPtr = make_cudaPitchedPtr(out.data(), 64, 16, 4);
    rows.extent = make_cudaExtent(32, 4, 1);
    rows.kind = cudaMemcpyDeviceToHost;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &rows));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    rows.extent.height = 2;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphExecMemcpyNodeSetParams(exec, node, &rows));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphExecMemcpyNodeSetParams1D(exec, node, out.data(), data, 4, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphMemcpyNodeSetParams(node, &rows));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    (void)cudaGetLastError();
}

int main() {
    CHECK(cudaStreamCreate(&stream));
    nodes_of_a_graph();
    nodes_of_an_executable_graph();
    children_of_an_executable_graph();
    whole_graphs();
    captured_again();
    disabled_nodes();
    attributes();
    shapes_of_copies_stay();
    return finish();
}
