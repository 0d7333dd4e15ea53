// Graphs captured from streams: nodes of calls, forks and joins, forbidden calls, and modes.
#include "check.h"

#include <thread>

__global__ void add(int *data, int count, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) data[i] += value;
}

__global__ void multiply(int *data, int count, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) data[i] *= value;
}

__device__ int variable[4];

static const int count = 1024;
static cudaStream_t stream, second;  // Blocking streams.
static cudaEvent_t event, other;

static void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) { CHECK(cudaStreamBeginCapture(stream, mode)); }

static cudaGraph_t end() {
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    EXPECT(graph != nullptr);
    return graph;
}

// The capture ends with this error and without a graph.
static void end_with(cudaError_t wanted) {
    cudaGraph_t graph = (cudaGraph_t)1;
    EXPECT_ERROR(wanted, cudaStreamEndCapture(stream, &graph));
    EXPECT(graph == nullptr);
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusNone);
    (void)cudaGetLastError();
}

static void launch(cudaGraph_t graph, int times = 1) {
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < times; ++i) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

static std::vector<cudaGraphNodeType> types(cudaGraph_t graph) {
    size_t number = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &number));
    std::vector<cudaGraphNode_t> nodes(number);
    CHECK(cudaGraphGetNodes(graph, nodes.data(), &number));
    std::vector<cudaGraphNodeType> types(number);
    for (size_t i = 0; i < number; ++i) CHECK(cudaGraphNodeGetType(nodes[i], &types[i]));
    return types;
}

static int host_calls;
static void call(void *) { ++host_calls; }

static void calls_become_nodes() {
    DeviceArray<int> data(count);
    data.fill(0);
    std::vector<int> in(count, 3), out(count), symbol = {1, 2, 3, 4}, symbol_out(4);
    begin();
    CHECK(cudaMemsetAsync(data, 0xff, data.bytes(), stream));
    CHECK(cudaMemcpyAsync(data, in.data(), data.bytes(), cudaMemcpyHostToDevice, stream));
    add<<<4, 64, 0, stream>>>(data, count, 4);
    CHECK(cudaLaunchHostFunc(stream, call, nullptr));
    CHECK(cudaMemcpy2DAsync(out.data(), 64, data, 64, 64, count / 16, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyToSymbolAsync(variable, symbol.data(), 16, 0, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyFromSymbolAsync(symbol_out.data(), variable, 16, 0, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(out.data(), data, 0, cudaMemcpyDeviceToHost, stream));
    cudaGraph_t graph = end();
    using T = cudaGraphNodeType;
    EXPECT((types(graph) == std::vector<T>{cudaGraphNodeTypeMemset, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeKernel, cudaGraphNodeTypeHost,
                                           cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemcpy}));
    // Nothing has run yet.
    EXPECT(host_calls == 0);
    compare("before", data.download(), std::vector<int>(count, 0));
    launch(graph, 2);
    EXPECT(host_calls == 2);
    compare("captured", out, std::vector<int>(count, 7));
    compare("captured symbols", symbol_out, symbol);
}

static void forks_and_joins() {
    DeviceArray<int> data(count), more(count);
    begin();
    CHECK(cudaMemsetAsync(data, 0, data.bytes(), stream));
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamWaitEvent(second, event, 0));
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(second, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    add<<<4, 64, 0, stream>>>(data, count, 4);
    CHECK(cudaMemsetAsync(more, 0, more.bytes(), second));
    add<<<4, 64, 0, second>>>(more, count, 1);
    CHECK(cudaEventRecord(other, second));
    CHECK(cudaStreamWaitEvent(stream, other, 0));
    multiply<<<4, 64, 0, stream>>>(data, count, 2);
    cudaGraph_t graph = end();
    size_t edges = 0, roots = 0;
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    EXPECT(edges == 5 && roots == 1);
    launch(graph);
    compare("forked", data.download(), std::vector<int>(count, 8));
    compare("joined", more.download(), std::vector<int>(count, 1));
    CHECK(cudaStreamIsCapturing(second, &status));
    EXPECT(status == cudaStreamCaptureStatusNone);
}

static void work_of_others_has_to_be_joined() {
    DeviceArray<int> data(count);
    begin();
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamWaitEvent(second, event, 0));
    add<<<4, 64, 0, second>>>(data, count, 1);
    end_with(cudaErrorStreamCaptureUnjoined);
    // A stream that joined without any work need not be joined back.
    begin();
    add<<<4, 64, 0, stream>>>(data, count, 1);
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamWaitEvent(second, event, 0));
    CHECK(cudaGraphDestroy(end()));
}

static void captures_stay_apart() {
    DeviceArray<int> data(count);
    // Two captures cannot merge.
    begin();
    CHECK(cudaStreamBeginCapture(second, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(event, second));
    EXPECT_ERROR(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(stream, event, 0));
    cudaGraph_t graph;
    EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(second, &graph));
    end_with(cudaErrorStreamCaptureInvalidated);
    // Captured and uncaptured work cannot wait for each other.
    CHECK(cudaEventRecord(event, second));
    begin();
    EXPECT_ERROR(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(stream, event, 0));
    add<<<4, 64, 0, stream>>>(data, count, 1);
    EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaGetLastError());
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusInvalidated);
    end_with(cudaErrorStreamCaptureInvalidated);
    begin();
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaGraphDestroy(end()));
    EXPECT_ERROR(cudaErrorCapturedEvent, cudaStreamWaitEvent(second, event, 0));
    EXPECT_ERROR(cudaErrorCapturedEvent, cudaEventSynchronize(event));
    CHECK(cudaEventRecord(event, second));
    CHECK(cudaStreamWaitEvent(second, event, 0));
    // A capture must end in the stream where it began.
    begin();
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamWaitEvent(second, event, 0));
    EXPECT_ERROR(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(second, &graph));
    end_with(cudaErrorStreamCaptureInvalidated);
    EXPECT_ERROR(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
    begin();
    EXPECT_ERROR(cudaErrorIllegalState, cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaGraphDestroy(end()));
    EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaStreamBeginCapture(stream, cudaStreamCaptureMode(7)));
    (void)cudaGetLastError();
}

static void what_waits_is_forbidden() {
    DeviceArray<int> data(count);
    std::vector<int> host(count);
    begin(cudaStreamCaptureModeRelaxed);
    EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    end_with(cudaErrorStreamCaptureInvalidated);
    begin(cudaStreamCaptureModeRelaxed);
    EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(stream));
    end_with(cudaErrorStreamCaptureInvalidated);
    begin(cudaStreamCaptureModeRelaxed);
    EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaDeviceSynchronize());
    end_with(cudaErrorStreamCaptureInvalidated);
    begin(cudaStreamCaptureModeRelaxed);
    CHECK(cudaEventRecord(event, stream));
    EXPECT_ERROR(cudaErrorCapturedEvent, cudaEventQuery(event));
    end_with(cudaErrorStreamCaptureInvalidated);
    // The legacy default stream would depend on the captured blocking stream.
    begin(cudaStreamCaptureModeRelaxed);
    cudaStreamCaptureStatus status;
    EXPECT_ERROR(cudaErrorStreamCaptureImplicit, cudaStreamIsCapturing(cudaStreamLegacy, &status));
    EXPECT_ERROR(cudaErrorStreamCaptureImplicit, cudaMemcpy(host.data(), data, data.bytes(), cudaMemcpyDeviceToHost));
    end_with(cudaErrorStreamCaptureInvalidated);
    begin(cudaStreamCaptureModeRelaxed);
    add<<<4, 64>>>(data, count, 1);
    EXPECT_ERROR(cudaErrorStreamCaptureImplicit, cudaGetLastError());
    end_with(cudaErrorStreamCaptureInvalidated);
    begin(cudaStreamCaptureModeRelaxed);
    EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaStreamAddCallback(stream, [](cudaStream_t, cudaError_t, void *) {}, nullptr, 0));
    end_with(cudaErrorStreamCaptureInvalidated);
    // While only non-blocking streams are captured, the legacy stream is usable.
    cudaStream_t independent;
    CHECK(cudaStreamCreateWithFlags(&independent, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(independent, cudaStreamCaptureModeRelaxed));
    CHECK(cudaMemcpy(host.data(), data, data.bytes(), cudaMemcpyDeviceToHost));
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(independent, &graph));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(independent));
    (void)cudaGetLastError();
}

static cudaError_t allocate_and_free() {
    void *memory;
    cudaError_t error = cudaMalloc(&memory, 64);
    if (error == cudaSuccess) error = cudaFree(memory);
    (void)cudaGetLastError();
    return error;
}

static cudaError_t in_another_thread(cudaError_t (*function)()) {
    cudaError_t error;
    std::thread([&] { error = function(); }).join();
    return error;
}

static void modes() {
    begin(cudaStreamCaptureModeGlobal);
    EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, allocate_and_free());
    end_with(cudaErrorStreamCaptureInvalidated);
    begin(cudaStreamCaptureModeGlobal);
    EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, in_another_thread(allocate_and_free));
    end_with(cudaErrorStreamCaptureInvalidated);
    begin(cudaStreamCaptureModeThreadLocal);
    EXPECT_ERROR(cudaSuccess, in_another_thread(allocate_and_free));
    EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, allocate_and_free());
    end_with(cudaErrorStreamCaptureInvalidated);
    begin(cudaStreamCaptureModeRelaxed);
    EXPECT_ERROR(cudaSuccess, allocate_and_free());
    CHECK(cudaGraphDestroy(end()));
    // A thread may relax its capture mode.
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    begin(cudaStreamCaptureModeGlobal);
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == cudaStreamCaptureModeGlobal);
    EXPECT_ERROR(cudaSuccess, allocate_and_free());
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == cudaStreamCaptureModeRelaxed);
    CHECK(cudaGraphDestroy(end()));
    // Only a relaxed capture can end in another thread.
    auto end_it = [] {
        cudaGraph_t graph;
        cudaError_t error = cudaStreamEndCapture(stream, &graph);
        return error == cudaSuccess ? cudaGraphDestroy(graph) : error;
    };
    begin(cudaStreamCaptureModeThreadLocal);
    EXPECT_ERROR(cudaErrorStreamCaptureWrongThread, in_another_thread(end_it));
    CHECK(cudaGraphDestroy(end()));
    begin(cudaStreamCaptureModeRelaxed);
    EXPECT_ERROR(cudaSuccess, in_another_thread(end_it));
}

static void what_is_known_of_a_capture() {
    DeviceArray<int> data(count);
    cudaStreamCaptureStatus status;
    unsigned long long id = 7, next_id;
    cudaGraph_t graph;
    const cudaGraphNode_t *dependencies;
    size_t number;
    CHECK(cudaStreamGetCaptureInfo(stream, &status, &id));
    EXPECT(status == cudaStreamCaptureStatusNone);
    begin();
    CHECK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &dependencies, nullptr, &number));
    EXPECT(status == cudaStreamCaptureStatusActive && id != 0 && graph != nullptr && number == 0);
    CHECK(cudaMemsetAsync(data, 0, data.bytes(), stream));
    CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &dependencies, nullptr, &number));
    EXPECT(number == 1);
    // A node added manually, between nodes captured before and after.
    cudaGraphNode_t node;
    int elements = count, value = 5;
    int *address = data;
    void *arguments[] = {&address, &elements, &value};
    cudaKernelNodeParams params = {(void *)add, dim3(4), dim3(64), 0, arguments, nullptr};
    CHECK(cudaGraphAddKernelNode(&node, graph, dependencies, number, &params));
    CHECK(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies));
    multiply<<<4, 64, 0, stream>>>(data, count, 3);
    cudaGraph_t ended = end();
    EXPECT(ended == graph);
    launch(ended);
    compare("by hand", data.download(), std::vector<int>(count, 15));
    EXPECT_ERROR(cudaErrorIllegalState, cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 0, 0));
    begin();
    CHECK(cudaStreamGetCaptureInfo(stream, &status, &next_id));
    EXPECT(next_id != id);
    CHECK(cudaGraphDestroy(end()));
    (void)cudaGetLastError();
}

static void into_a_graph_that_is_there() {
    DeviceArray<int> data(count);
    cudaGraph_t graph, ended;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams params = {data.get(), 0, 2, 4, count, 1};
    cudaGraphNode_t fill;
    CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &params));
    CHECK(cudaStreamBeginCaptureToGraph(stream, graph, &fill, nullptr, 1, cudaStreamCaptureModeGlobal));
    multiply<<<4, 64, 0, stream>>>(data, count, 4);
    CHECK(cudaStreamEndCapture(stream, &ended));
    EXPECT(ended == graph);
    // The owner of the graph need not query it.
    size_t number = 2;
    cudaGraphNode_t nodes[2];
    CHECK(cudaGraphGetNodes(graph, nodes, &number));
    cudaGraphNode_t product = nodes[nodes[0] == fill];
    CHECK(cudaStreamBeginCaptureToGraph(stream, graph, &product, nullptr, 1, cudaStreamCaptureModeGlobal));
    multiply<<<4, 64, 0, stream>>>(data, count, 2);
    CHECK(cudaStreamEndCapture(stream, nullptr));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaStreamEndCapture(stream, nullptr));
    CHECK(cudaStreamEndCapture(stream, &ended));
    CHECK(cudaGraphDestroy(ended));
    // An existing graph outlives a failed capture.
    CHECK(cudaStreamBeginCaptureToGraph(stream, graph, &fill, nullptr, 1, cudaStreamCaptureModeRelaxed));
    EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    end_with(cudaErrorStreamCaptureInvalidated);
    launch(graph);
    compare("into a graph", data.download(), std::vector<int>(count, 16));
}

static void graphs_and_external_events_are_captured() {
    DeviceArray<int> data(count);
    begin();
    add<<<4, 64, 0, stream>>>(data, count, 1);
    cudaGraph_t inner = end();
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, inner, 0));
    begin();
    CHECK(cudaMemsetAsync(data, 0, data.bytes(), stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
    CHECK(cudaStreamWaitEvent(stream, other, cudaEventWaitExternal));
    cudaGraph_t graph = end();
    using T = cudaGraphNodeType;
    EXPECT((types(graph) == std::vector<T>{cudaGraphNodeTypeMemset, cudaGraphNodeTypeGraph, cudaGraphNodeTypeGraph, cudaGraphNodeTypeEventRecord,
                                           cudaGraphNodeTypeWaitEvent}));
    launch(graph);
    CHECK(cudaEventSynchronize(event));
    compare("graphs in a graph", data.download(), std::vector<int>(count, 2));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(inner));
}

static void each_thread_captures_for_itself() {
    std::vector<std::thread> threads;
    std::vector<int> wrong(8, 0);
    DeviceArray<int> shared(count);
    shared.fill(0);
    begin();
    add<<<4, 64, 0, stream>>>(shared, count, 1);
    cudaGraph_t common = end();
    cudaGraphExec_t common_exec;
    CHECK(cudaGraphInstantiate(&common_exec, common, 0));
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            cudaStream_t own;
            int *data;
            std::vector<int> out(count);
            CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
            CHECK(cudaMalloc(&data, count * sizeof(int)));
            for (int round = 0; round < 5; ++round) {
                cudaGraph_t graph;
                cudaGraphExec_t exec;
                CHECK(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal));
                CHECK(cudaMemsetAsync(data, 0, count * sizeof(int), own));
                for (int i = 0; i < 4; ++i) add<<<4, 64, 0, own>>>(data, count, t + 1);
                CHECK(cudaMemcpyAsync(out.data(), data, count * sizeof(int), cudaMemcpyDeviceToHost, own));
                CHECK(cudaStreamEndCapture(own, &graph));
                CHECK(cudaGraphInstantiate(&exec, graph, 0));
                CHECK(cudaGraphLaunch(exec, own));
                // Launches of one executable graph run in sequence, in any streams.
                CHECK(cudaGraphLaunch(common_exec, own));
                CHECK(cudaStreamSynchronize(own));
                wrong[t] += out != std::vector<int>(count, 4 * (t + 1));
                CHECK(cudaGraphExecDestroy(exec));
                CHECK(cudaGraphDestroy(graph));
            }
            CHECK(cudaFree(data));
            CHECK(cudaStreamDestroy(own));
        });
    for (std::thread &thread : threads) thread.join();
    compare("threads", wrong, std::vector<int>(8, 0));
    compare("one graph in many streams", shared.download(), std::vector<int>(count, 40));
    CHECK(cudaGraphExecDestroy(common_exec));
    CHECK(cudaGraphDestroy(common));
}

static void a_destroyed_stream_ends_its_capture() {
    cudaStream_t temporary;
    CHECK(cudaStreamCreate(&temporary));
    CHECK(cudaStreamBeginCapture(temporary, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamDestroy(temporary));
    EXPECT_ERROR(cudaSuccess, allocate_and_free());
    // A stream that has joined and been joined back may be destroyed before the end.
    DeviceArray<int> data(count);
    begin();
    CHECK(cudaMemsetAsync(data, 0, data.bytes(), stream));
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamCreate(&temporary));
    CHECK(cudaStreamWaitEvent(temporary, event, 0));
    add<<<4, 64, 0, temporary>>>(data, count, 4);
    CHECK(cudaEventRecord(other, temporary));
    CHECK(cudaStreamWaitEvent(stream, other, 0));
    CHECK(cudaStreamDestroy(temporary));
    add<<<4, 64, 0, stream>>>(data, count, 1);
    launch(end());
    compare("a stream that is gone", data.download(), std::vector<int>(count, 5));
}

int main() {
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&second));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));
    calls_become_nodes();
    forks_and_joins();
    work_of_others_has_to_be_joined();
    captures_stay_apart();
    what_waits_is_forbidden();
    modes();
    what_is_known_of_a_capture();
    into_a_graph_that_is_there();
    graphs_and_external_events_are_captured();
    each_thread_captures_for_itself();
    a_destroyed_stream_ends_its_capture();
    return finish();
}
