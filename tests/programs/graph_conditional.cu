// Conditional nodes: if, else, while and switch, by values that kernels set.
#include "check.h"

__global__ void set(cudaGraphConditionalHandle handle, const int *value) { cudaGraphSetConditional(handle, *value); }

__global__ void add(int *data, int value) { *data += value; }

// Counts up until the limit.
__global__ void count_up(cudaGraphConditionalHandle handle, int *data, int limit) { cudaGraphSetConditional(handle, ++*data < limit); }

static cudaStream_t stream;

template <class... Arguments>
static cudaGraphNode_t kernel(cudaGraph_t graph, std::vector<cudaGraphNode_t> after, void (*function)(Arguments...), Arguments... values) {
    void *arguments[] = {&values...};
    cudaKernelNodeParams params = {(void *)function, dim3(1), dim3(1), 0, arguments, nullptr};
    cudaGraphNode_t node;
    CHECK(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
    return node;
}

static cudaGraphConditionalHandle condition(cudaGraph_t graph, unsigned value = 0, unsigned flags = 0) {
    cudaGraphConditionalHandle handle;
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, value, flags));
    return handle;
}

// The graphs of a new conditional node.
static std::vector<cudaGraph_t> conditional(cudaGraph_t graph, std::vector<cudaGraphNode_t> after, cudaGraphConditionalHandle handle,
                                            cudaGraphConditionalNodeType type, unsigned size, cudaGraphNode_t *node = nullptr) {
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
    cudaGraphNode_t made;
    CHECK(cudaGraphAddNode(&made, graph, after.data(), nullptr, after.size(), &params));
    if (node) *node = made;
    return std::vector<cudaGraph_t>(params.conditional.phGraph_out, params.conditional.phGraph_out + size);
}

static int value_of(const int *data) {
    int value;
    CHECK(cudaMemcpyAsync(&value, data, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    return value;
}

static void set_value(int *data, int value) {
    CHECK(cudaMemcpyAsync(data, &value, sizeof(int), cudaMemcpyHostToDevice, stream));
    CHECK(cudaStreamSynchronize(stream));
}

static void if_and_else() {
    DeviceArray<int> input(1), data(1);
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle handle = condition(graph);
    cudaGraphNode_t node, start = kernel(graph, {}, set, handle, (const int *)input.get());
    std::vector<cudaGraph_t> bodies = conditional(graph, {start}, handle, cudaGraphCondTypeIf, 2, &node);
    kernel(bodies[0], {}, add, data.get(), 1);
    kernel(bodies[1], {}, add, data.get(), 100);
    kernel(graph, {node}, add, data.get(), 1000);
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    int expected = 0;
    data.fill(0);
    for (int value : {0, 1, 5, 0}) {
        set_value(input, value);
        CHECK(cudaGraphLaunch(exec, stream));
        expected += value ? 1001 : 1100;
        EXPECT(value_of(data) == expected);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

static void loops() {
    DeviceArray<int> data(1), turns(1);
    data.fill(0);
    turns.fill(0);
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    // Each launch starts with the default value.
    cudaGraphConditionalHandle handle = condition(graph, 1, cudaGraphCondAssignDefault);
    cudaGraph_t body = conditional(graph, {}, handle, cudaGraphCondTypeWhile, 1)[0];
    // The body is captured.
    cudaGraph_t captured;
    CHECK(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, stream>>>(turns, 1);
    count_up<<<1, 1, 0, stream>>>(handle, data, 10);
    CHECK(cudaStreamEndCapture(stream, &captured));
    EXPECT(captured == body);
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    EXPECT(value_of(data) == 10 && value_of(turns) == 10);
    CHECK(cudaGraphLaunch(exec, stream));
    EXPECT(value_of(data) == 11 && value_of(turns) == 11);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

static void choices() {
    DeviceArray<int> input(1), data(1);
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle handle = condition(graph);
    cudaGraphNode_t start = kernel(graph, {}, set, handle, (const int *)input.get());
    std::vector<cudaGraph_t> bodies = conditional(graph, {start}, handle, cudaGraphCondTypeSwitch, 3);
    for (int i = 0; i < 3; ++i) kernel(bodies[i], {}, add, data.get(), 1 << (4 * i));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    data.fill(0);
    for (int value : {0, 2, 2, 1, 3, 70}) {
        set_value(input, value);
        CHECK(cudaGraphLaunch(exec, stream));
    }
    EXPECT(value_of(data) == 0x211);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

static void nested() {
    DeviceArray<int> outer(1), inner(1), sum(1);
    outer.fill(0);
    sum.fill(0);
    cudaGraph_t graph, child;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle outer_handle = condition(graph, 1, cudaGraphCondAssignDefault), inner_handle = condition(graph, 1, cudaGraphCondAssignDefault);
    cudaGraph_t body = conditional(graph, {}, outer_handle, cudaGraphCondTypeWhile, 1)[0];
    // inner = 0; while (++inner < 3) ++sum;  ++sum through a child graph; three times over.
    cudaMemsetParams zero = {inner.get(), 0, 0, 4, 1, 1};
    cudaGraphNode_t cleared, loop, embedded;
    CHECK(cudaGraphAddMemsetNode(&cleared, body, nullptr, 0, &zero));
    cudaGraphNode_t ready = kernel(body, {cleared}, count_up, inner_handle, inner.get(), 3);
    cudaGraph_t inner_body = conditional(body, {ready}, inner_handle, cudaGraphCondTypeWhile, 1, &loop)[0];
    cudaGraphNode_t added = kernel(inner_body, {}, add, sum.get(), 1);
    kernel(inner_body, {added}, count_up, inner_handle, inner.get(), 3);
    CHECK(cudaGraphCreate(&child, 0));
    kernel(child, {}, add, sum.get(), 100);
    CHECK(cudaGraphAddChildGraphNode(&embedded, body, &loop, 1, child));
    CHECK(cudaGraphDestroy(child));
    kernel(body, {embedded}, count_up, outer_handle, outer.get(), 3);
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    EXPECT(value_of(sum) == 306);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

static void call(void *) {}

static void what_is_refused() {
    cudaGraph_t graph, other;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle handle = condition(graph);
    cudaGraphExec_t exec;
    cudaGraphInstantiateParams params = {};
    // A condition must be used by exactly one node.
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphInstantiateWithParams(&exec, graph, &params));
    EXPECT(params.result_out == cudaGraphInstantiateConditionalHandleUnused);
    cudaGraphNodeParams node_params = {};
    node_params.type = cudaGraphNodeTypeConditional;
    node_params.conditional.handle = handle;
    node_params.conditional.type = cudaGraphCondTypeWhile;
    node_params.conditional.size = 2;
    cudaGraphNode_t node;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &node_params));
    node_params.conditional.size = 1;
    CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &node_params));
    cudaGraph_t body = node_params.conditional.phGraph_out[0];
    cudaGraphNodeParams got = {};
    CHECK(cudaGraphNodeGetParams(node, &got));
    EXPECT(got.type == cudaGraphNodeTypeConditional && got.conditional.phGraph_out[0] == body && got.conditional.handle == handle);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &node_params));
    // Conditional graphs contain only device work.
    cudaHostNodeParams host = {call, nullptr};
    EXPECT_ERROR(cudaErrorNotSupported, cudaGraphAddHostNode(&node, body, nullptr, 0, &host));
    // Such a graph exists once.
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphClone(&other, graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    cudaGraphExec_t second;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphInstantiate(&second, graph, 0));
    CHECK(cudaGraphExecDestroy(exec));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphDestroy(body));
    CHECK(cudaGraphDestroy(graph));
    (void)cudaGetLastError();
}

int main() {
    CHECK(cudaStreamCreate(&stream));
    if_and_else();
    loops();
    choices();
    nested();
    what_is_refused();
    return finish();
}
