// Graphs built node by node: the effect of each node type,
// order, topology queries, clones, drawings and user objects.
#include "check.h"

#include <cstring>
#include <fstream>
#include <string>
#include <unistd.h>

__global__ void add(int *data, int count, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) data[i] += value;
}

__global__ void multiply(int *data, int count, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) data[i] *= value;
}

// The first number is how many kernels have started.
__global__ void note_start(int *data, int, int place) {
    if (blockIdx.x == 0 && threadIdx.x == 0) data[place] = atomicAdd(data, 1);
}

__device__ int variable[64];

static const int count = 1024;

static cudaGraphNode_t kernel_node(cudaGraph_t graph, std::vector<cudaGraphNode_t> after, void (*kernel)(int *, int, int), int *data, int value) {
    int elements = count;
    void *arguments[] = {&data, &elements, &value};
    cudaKernelNodeParams params = {};
    params.func = (void *)kernel;
    params.gridDim = dim3(4);
    params.blockDim = dim3(64);
    params.kernelParams = arguments;
    cudaGraphNode_t node;
    CHECK(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
    return node;
}

static cudaGraphNode_t memset_node(cudaGraph_t graph, std::vector<cudaGraphNode_t> after, void *data, unsigned value, unsigned size, size_t width) {
    cudaMemsetParams params = {};
    params.dst = data;
    params.value = value;
    params.elementSize = size;
    params.width = width;
    params.height = 1;
    cudaGraphNode_t node;
    CHECK(cudaGraphAddMemsetNode(&node, graph, after.data(), after.size(), &params));
    return node;
}

static void launch(cudaGraph_t graph, int times = 1) {
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < times; ++i) CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaGraphExecDestroy(exec));
}

static void a_diamond_runs_in_order_each_time() {
    DeviceArray<int> data(count), other(count);
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t start = memset_node(graph, {}, data, 1, 4, count);
    cudaGraphNode_t left = kernel_node(graph, {start}, add, data, 2);
    cudaGraphNode_t right = memset_node(graph, {start}, other, 5, 4, count);
    cudaGraphNode_t join = kernel_node(graph, {left, right}, multiply, data, 10);
    kernel_node(graph, {join}, add, other, 1);
    launch(graph, 3);
    compare("diamond", data.download(), std::vector<int>(count, 30));
    compare("its other branch", other.download(), std::vector<int>(count, 6));
    CHECK(cudaGraphDestroy(graph));
}

static void copies_of_all_shapes() {
    DeviceArray<int> device(count), device2(count);
    std::vector<int> in = random_values<int>(count, 0, 1000), out(count), symbol(64), box(4 * 3 * 2);
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t up, over, down, to_symbol, from_symbol, rows;
    CHECK(cudaGraphAddMemcpyNode1D(&up, graph, nullptr, 0, device, in.data(), device.bytes(), cudaMemcpyHostToDevice));
    CHECK(cudaGraphAddMemcpyNode1D(&over, graph, &up, 1, device2, device, device.bytes(), cudaMemcpyDeviceToDevice));
    CHECK(cudaGraphAddMemcpyNode1D(&down, graph, &over, 1, out.data(), device2, device.bytes(), cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddMemcpyNodeToSymbol(&to_symbol, graph, nullptr, 0, variable, in.data(), 32 * sizeof(int), 16 * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaGraphAddMemcpyNodeFromSymbol(&from_symbol, graph, &to_symbol, 1, symbol.data(), variable, 64 * sizeof(int), 0, cudaMemcpyDeviceToHost));
    // A box of 4 x 3 x 2 elements out of 8 x 4 x 3.
    cudaMemcpy3DParms params = {};
    params.srcPtr = make_cudaPitchedPtr(device2.get(), 8 * sizeof(int), 8, 4);
    params.srcPos = make_cudaPos(2 * sizeof(int), 1, 1);
    params.dstPtr = make_cudaPitchedPtr(box.data(), 4 * sizeof(int), 4, 3);
    params.extent = make_cudaExtent(4 * sizeof(int), 3, 2);
    params.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaGraphAddMemcpyNode(&rows, graph, &over, 1, &params));
    // The arrays are read when the graph runs, not when it is built.
    in[0] = -7;
    launch(graph);
    compare("linear copies", out, in);
    std::vector<int> want(64, 0);
    std::memcpy(&want[16], in.data(), 32 * sizeof(int));
    compare("symbol copies", symbol, want);
    std::vector<int> want_box;
    for (int z = 1; z < 3; ++z)
        for (int y = 1; y < 4; ++y)
            for (int x = 2; x < 6; ++x) want_box.push_back(in[(z * 4 + y) * 8 + x]);
    compare("box", box, want_box);

    cudaMemcpy3DParms got = {};
    CHECK(cudaGraphMemcpyNodeGetParams(rows, &got));
    EXPECT(got.srcPtr.ptr == device2.get() && got.srcPos.x == 2 * sizeof(int) && got.srcPos.z == 1 && got.extent.depth == 2);
    EXPECT(got.kind == cudaMemcpyDeviceToHost);
    CHECK(cudaGraphDestroy(graph));
}

static void copies_of_arrays() {
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&array, &format, 8, 4));
    std::vector<float> in = random_values<float>(32, 0, 1), out(32);
    cudaMemcpy3DParms up = {}, down = {};
    up.srcPtr = make_cudaPitchedPtr(in.data(), 8 * sizeof(float), 8, 4);
    up.dstArray = array;
    up.extent = make_cudaExtent(8, 4, 1);
    up.kind = cudaMemcpyHostToDevice;
    down.srcArray = array;
    down.dstPtr = make_cudaPitchedPtr(out.data(), 8 * sizeof(float), 8, 4);
    down.extent = make_cudaExtent(8, 4, 1);
    down.kind = cudaMemcpyDeviceToHost;
    cudaGraph_t graph;
    cudaGraphNode_t first, second;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode(&first, graph, nullptr, 0, &up));
    CHECK(cudaGraphAddMemcpyNode(&second, graph, &first, 1, &down));
    launch(graph);
    compare("through an array", out, in);
    cudaMemcpy3DParms got = {};
    CHECK(cudaGraphMemcpyNodeGetParams(first, &got));
    EXPECT(got.dstArray == array && got.extent.width == 8 && got.extent.height == 4);
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFreeArray(array));
}

static void fills_of_all_widths() {
    DeviceArray<unsigned> data(16);
    data.fill(0);
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    memset_node(graph, {}, data.get(), 0x12345678, 1, 4);
    memset_node(graph, {}, data.get() + 1, 0x12345678, 2, 2);
    memset_node(graph, {}, data.get() + 2, 0x12345678, 4, 1);
    cudaMemsetParams rows = {};
    rows.dst = data.get() + 4;
    rows.pitch = 16;
    rows.value = 9;
    rows.elementSize = 4;
    rows.width = 2;
    rows.height = 3;
    cudaGraphNode_t node;
    CHECK(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &rows));
    launch(graph);
    compare("fills", data.download(), {0x78787878, 0x56785678, 0x12345678, 0, 9, 9, 0, 0, 9, 9, 0, 0, 9, 9, 0, 0});
    cudaMemsetParams got = {};
    CHECK(cudaGraphMemsetNodeGetParams(node, &got));
    EXPECT(got.dst == rows.dst && got.width == 2 && got.height == 3 && got.elementSize == 4 && got.value == 9 && got.pitch == 16);
    rows.elementSize = 3;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &rows));
    CHECK(cudaGraphDestroy(graph));
}

static std::vector<int> calls;
static void call(void *argument) { calls.push_back(*static_cast<int *>(argument)); }

static void host_functions_and_children() {
    static int one = 1, two = 2;
    DeviceArray<int> data(count);
    cudaGraph_t child, graph;
    CHECK(cudaGraphCreate(&child, 0));
    cudaGraphNode_t inner = kernel_node(child, {}, multiply, data, 3);
    cudaHostNodeParams host = {call, &one};
    cudaGraphNode_t inner_host;
    CHECK(cudaGraphAddHostNode(&inner_host, child, &inner, 1, &host));

    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t start = memset_node(graph, {}, data, 1, 4, count), first, second, end, empty;
    CHECK(cudaGraphAddChildGraphNode(&first, graph, &start, 1, child));
    CHECK(cudaGraphAddEmptyNode(&empty, graph, &first, 1));
    CHECK(cudaGraphAddChildGraphNode(&second, graph, &empty, 1, child));
    host.userData = &two;
    CHECK(cudaGraphAddHostNode(&end, graph, &second, 1, &host));
    // The node has its own copy of the graph.
    CHECK(cudaGraphDestroy(child));
    launch(graph);
    compare("children", data.download(), std::vector<int>(count, 9));
    EXPECT((calls == std::vector<int>{1, 1, 2}));
    cudaHostNodeParams got = {};
    CHECK(cudaGraphHostNodeGetParams(end, &got));
    EXPECT(got.fn == call && got.userData == &two);
    cudaGraph_t embedded;
    size_t nodes = 0;
    CHECK(cudaGraphChildGraphNodeGetGraph(first, &embedded));
    CHECK(cudaGraphGetNodes(embedded, nullptr, &nodes));
    EXPECT(nodes == 2);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphDestroy(embedded));
    CHECK(cudaGraphDestroy(graph));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphGetNodes(embedded, nullptr, &nodes));
}

static void events_inside() {
    DeviceArray<int> data(count);
    cudaEvent_t event;
    cudaStream_t one, other;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    cudaGraph_t records, waits;
    cudaGraphNode_t record, wait;
    CHECK(cudaGraphCreate(&records, 0));
    cudaGraphNode_t fill = memset_node(records, {}, data, 4, 4, count);
    CHECK(cudaGraphAddEventRecordNode(&record, records, &fill, 1, event));
    CHECK(cudaGraphCreate(&waits, 0));
    CHECK(cudaGraphAddEventWaitNode(&wait, waits, nullptr, 0, event));
    kernel_node(waits, {wait}, add, data, 3);
    cudaGraphExec_t first, second;
    CHECK(cudaGraphInstantiate(&first, records, 0));
    CHECK(cudaGraphInstantiate(&second, waits, 0));
    for (int i = 0; i < 5; ++i) {
        CHECK(cudaGraphLaunch(first, one));
        CHECK(cudaGraphLaunch(second, other));
        CHECK(cudaStreamSynchronize(other));
        compare("through an event", data.download(), std::vector<int>(count, 7));
    }
    cudaEvent_t got;
    CHECK(cudaGraphEventRecordNodeGetEvent(record, &got));
    EXPECT(got == event);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphEventRecordNodeGetEvent(wait, &got));
    CHECK(cudaGraphExecDestroy(first));
    CHECK(cudaGraphExecDestroy(second));
    CHECK(cudaGraphDestroy(records));
    CHECK(cudaGraphDestroy(waits));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(one));
    CHECK(cudaStreamDestroy(other));
}

static void a_graph_is_ordered_in_its_stream() {
    DeviceArray<int> data(count);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    kernel_node(graph, {}, add, data, 1);
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphUpload(exec, stream));
    CHECK(cudaMemsetAsync(data, 0, data.bytes(), stream));
    for (int i = 0; i < 4; ++i) {
        CHECK(cudaGraphLaunch(exec, stream));
        multiply<<<4, 64, 0, stream>>>(data, count, 2);
    }
    // The graph is destroyed while it runs; the launches continue.
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamSynchronize(stream));
    compare("in a stream", data.download(), std::vector<int>(count, 30));
    CHECK(cudaStreamDestroy(stream));
}

static void topology() {
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t nodes[4];
    for (cudaGraphNode_t &node : nodes) CHECK(cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
    cudaGraphNode_t from[] = {nodes[0], nodes[0], nodes[1]}, to[] = {nodes[1], nodes[2], nodes[3]};
    CHECK(cudaGraphAddDependencies(graph, from, to, nullptr, 3));
    size_t number = 0;
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &number));
    EXPECT(number == 3);
    cudaGraphNode_t got_from[5], got_to[5];
    number = 5;
    CHECK(cudaGraphGetEdges(graph, got_from, got_to, nullptr, &number));
    EXPECT(number == 3 && got_from[0] == nodes[0] && got_to[0] == nodes[1] && got_from[4] == nullptr);
    cudaGraphNode_t roots[2];
    number = 2;
    CHECK(cudaGraphGetRootNodes(graph, roots, &number));
    EXPECT(number == 1 && roots[0] == nodes[0]);
    number = 1;
    CHECK(cudaGraphGetNodes(graph, roots, &number));
    EXPECT(number == 1);
    CHECK(cudaGraphNodeGetDependentNodes(nodes[0], nullptr, nullptr, &number));
    EXPECT(number == 2);
    CHECK(cudaGraphNodeGetDependencies(nodes[3], roots, nullptr, &number));
    EXPECT(number == 1 && roots[0] == nodes[1]);
    // An edge exists once and can be removed once.
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, from, to, nullptr, 1));
    CHECK(cudaGraphRemoveDependencies(graph, from, to, nullptr, 1));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphRemoveDependencies(graph, from, to, nullptr, 1));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, from, from, nullptr, 1));
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(nodes[0], &type));
    EXPECT(type == cudaGraphNodeTypeEmpty);

    // Instantiation detects cycles.
    cudaGraphNode_t back_from = nodes[3], back_to = nodes[1];
    CHECK(cudaGraphAddDependencies(graph, &back_from, &back_to, nullptr, 1));
    cudaGraphExec_t exec;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0));
    cudaGraphInstantiateParams params = {};
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphInstantiateWithParams(&exec, graph, &params));
    EXPECT(params.result_out == cudaGraphInstantiateInvalidStructure && params.errNode_out == nodes[1]);
    CHECK(cudaGraphDestroyNode(nodes[3]));
    CHECK(cudaGraphInstantiateWithParams(&exec, graph, &params));
    EXPECT(params.result_out == cudaGraphInstantiateSuccess && params.errNode_out == nullptr);
    unsigned long long flags = 9;
    CHECK(cudaGraphExecGetFlags(exec, &flags));
    EXPECT(flags == 0);
    CHECK(cudaGraphExecDestroy(exec));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphExecDestroy(exec));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphDestroyNode(nodes[3]));
    EXPECT_ERROR(cudaErrorNotSupported, cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 64));

    // Dependencies on nodes of another graph are refused.
    cudaGraph_t other;
    cudaGraphNode_t node;
    CHECK(cudaGraphCreate(&other, 0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&node, other, nodes, 1));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphCreate(&other, 1));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphCreate(nullptr, 0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddEmptyNode(nullptr, other, nullptr, 0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&node, other, nullptr, 1));
    CHECK(cudaGraphDestroy(other));
    CHECK(cudaGraphDestroy(graph));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphDestroy(graph));
    (void)cudaGetLastError();
}

static void edges_that_say_more() {
    cudaGraph_t graph;
    DeviceArray<int> data(count);
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t start = memset_node(graph, {}, data, 1, 4, count);
    cudaGraphNode_t first = kernel_node(graph, {start}, add, data, 1), second = kernel_node(graph, {}, multiply, data, 5);
    cudaGraphEdgeData programmatic = {};
    programmatic.from_port = cudaGraphKernelNodePortProgrammatic;
    programmatic.type = cudaGraphDependencyTypeProgrammatic;
    CHECK(cudaGraphAddDependencies(graph, &first, &second, &programmatic, 1));
    launch(graph);
    compare("programmatic edge", data.download(), std::vector<int>(count, 10));
    size_t number = 4;
    cudaGraphNode_t from[4], to[4];
    cudaGraphEdgeData edges[4];
    EXPECT_ERROR(cudaErrorLossyQuery, cudaGraphGetEdges(graph, from, to, nullptr, &number));
    CHECK(cudaGraphGetEdges(graph, from, to, edges, &number));
    EXPECT(number == 2 && edges[1].type == cudaGraphDependencyTypeProgrammatic && edges[0].type == 0);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphRemoveDependencies(graph, &first, &second, nullptr, 1));
    CHECK(cudaGraphRemoveDependencies(graph, &first, &second, &programmatic, 1));
    CHECK(cudaGraphDestroy(graph));
    (void)cudaGetLastError();
}

static void clones_and_numbers() {
    DeviceArray<int> data(count);
    cudaGraph_t graph, copy, containing;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t fill = memset_node(graph, {}, data, 2, 4, count);
    cudaGraphNode_t sum = kernel_node(graph, {fill}, add, data, 5), found;
    CHECK(cudaGraphClone(&copy, graph));
    CHECK(cudaGraphNodeFindInClone(&found, sum, copy));
    EXPECT(found != sum);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&found, sum, graph));
    unsigned graph_id, copy_id, fill_id, sum_id;
    unsigned long long tools_id, other_tools_id;
    CHECK(cudaGraphGetId(graph, &graph_id));
    CHECK(cudaGraphGetId(copy, &copy_id));
    EXPECT(graph_id != copy_id);
    CHECK(cudaGraphNodeGetLocalId(fill, &fill_id));
    CHECK(cudaGraphNodeGetLocalId(sum, &sum_id));
    EXPECT(fill_id != sum_id);
    CHECK(cudaGraphNodeGetToolsId(sum, &tools_id));
    CHECK(cudaGraphNodeGetToolsId(found, &other_tools_id));
    EXPECT(tools_id != other_tools_id);
    CHECK(cudaGraphNodeGetContainingGraph(found, &containing));
    EXPECT(containing == copy);
    CHECK(cudaGraphDestroy(graph));
    launch(copy);
    compare("clone", data.download(), std::vector<int>(count, 7));

    std::string path = "/tmp/voltsim-graph-" + std::to_string(getpid()) + ".dot";
    CHECK(cudaGraphDebugDotPrint(copy, path.c_str(), cudaGraphDebugDotFlagsVerbose));
    std::ifstream file(path);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    EXPECT(text.rfind("digraph", 0) == 0 && text.find("add") != std::string::npos && text.find("->") != std::string::npos);
    std::remove(path.c_str());
    EXPECT_ERROR(cudaErrorOperatingSystem, cudaGraphDebugDotPrint(copy, "/no/such/folder/x.dot", 0));
    (void)cudaGetLastError();
    CHECK(cudaGraphDestroy(copy));
}

static int destroyed;
static void destroy(void *argument) { destroyed += *static_cast<int *>(argument); }

static void user_objects() {
    static int weight = 1;
    cudaUserObject_t object;
    cudaGraph_t graph, copy;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaUserObjectCreate(&object, &weight, destroy, 2, cudaUserObjectNoDestructorSync));
    CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    CHECK(cudaGraphRetainUserObject(graph, object, 1, 0));
    CHECK(cudaUserObjectRelease(object, 1));
    CHECK(cudaGraphReleaseUserObject(graph, object, 1));
    EXPECT(destroyed == 0);
    CHECK(cudaGraphClone(&copy, graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(copy));
    EXPECT(destroyed == 0);
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaGraphExecDestroy(exec));
    EXPECT(destroyed == 1);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaUserObjectRetain(object, 1));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaUserObjectCreate(&object, &weight, destroy, 1, 0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaUserObjectCreate(&object, &weight, nullptr, 1, cudaUserObjectNoDestructorSync));
    (void)cudaGetLastError();
}

static void mistakes_of_nodes() {
    cudaGraph_t graph;
    cudaGraphNode_t node;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaKernelNodeParams params = {};
    EXPECT_ERROR(cudaErrorInvalidDeviceFunction, cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    params.func = (void *)add;
    params.gridDim = dim3(1);
    params.blockDim = dim3(4096);
    EXPECT_ERROR(cudaErrorInvalidConfiguration, cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, graph, nullptr, 0, nullptr));
    cudaHostNodeParams host = {};
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddHostNode(&node, graph, nullptr, 0, &host));
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaGraphAddEventWaitNode(&node, graph, nullptr, 0, nullptr));
    int value;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, &value, nullptr, 4, cudaMemcpyDefault));
    EXPECT_ERROR(cudaErrorInvalidMemcpyDirection, cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, &value, &value, 4, cudaMemcpyKind(9)));
    cudaGraphNodeParams any = {cudaGraphNodeTypeExtSemaphoreSignal};
    EXPECT_ERROR(cudaErrorNotSupported, cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &any));
    size_t number = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &number));
    EXPECT(number == 0);
    CHECK(cudaGraphDestroy(graph));
    (void)cudaGetLastError();
}

// Of two runnable kernels, the one with higher priority starts first if the
// graph runs by nodes. A captured kernel has the priority of its stream.
static void priorities() {
    int least, greatest;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    DeviceArray<int> data(count);
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t start = memset_node(graph, {}, data.get(), 0, 4, count);
    kernel_node(graph, {start}, note_start, data.get(), 1);
    cudaGraphNode_t urgent = kernel_node(graph, {start}, note_start, data.get(), 2);
    cudaLaunchAttributeValue value = {};
    value.priority = greatest;
    CHECK(cudaGraphKernelNodeSetAttribute(urgent, cudaLaunchAttributePriority, &value));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagUseNodePriority));
    // A busy host may start the second kernel while the first one still waits for a core.
    bool in_order = false;
    for (int round = 0; round < 20 && !in_order; ++round) {
        CHECK(cudaGraphLaunch(exec, nullptr));
        std::vector<int> started = data.download();
        in_order = started[0] == 2 && started[2] == 0 && started[1] == 1;
    }
    EXPECT(in_order);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));

    cudaStream_t stream;
    CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<1, 32, 0, stream>>>(data.get(), count, 1);
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphNode_t captured;
    size_t nodes = 1;
    CHECK(cudaGraphGetNodes(graph, &captured, &nodes));
    value = {};
    CHECK(cudaGraphKernelNodeGetAttribute(captured, cudaLaunchAttributePriority, &value));
    EXPECT(value.priority == greatest);
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
}

int main() {
    a_diamond_runs_in_order_each_time();
    copies_of_all_shapes();
    copies_of_arrays();
    fills_of_all_widths();
    host_functions_and_children();
    events_inside();
    a_graph_is_ordered_in_its_stream();
    topology();
    edges_that_say_more();
    clones_and_numbers();
    user_objects();
    priorities();
    mistakes_of_nodes();
    return finish();
}
