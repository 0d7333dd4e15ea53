// Graphs in the driver API, with features absent from the runtime API: kernels by
// handle and by parameter block, both versions of calls, memory operations, contexts.
//@ link: -lcuda
#include "check_driver.h"

extern "C" __global__ void add(int *data, int count, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) data[i] += value;
}

static const int count = 512;
static CUcontext context;
static CUstream stream;
static CUfunction function;

struct Buffer {
    CUdeviceptr address;
    Buffer() { DRIVER(cuMemAlloc(&address, count * sizeof(int))); }
    ~Buffer() { DRIVER(cuMemFree(address)); }
    std::vector<int> download() {
        std::vector<int> values(count);
        DRIVER(cuMemcpyDtoHAsync(values.data(), address, count * sizeof(int), stream));
        DRIVER(cuStreamSynchronize(stream));
        return values;
    }
};

static std::vector<int> all(int value) { return std::vector<int>(count, value); }

static CUgraphNode fill(CUgraph graph, CUdeviceptr address, unsigned value) {
    CUDA_MEMSET_NODE_PARAMS params = {};
    params.dst = address;
    params.value = value;
    params.elementSize = 4;
    params.width = count;
    params.height = 1;
    CUgraphNode node;
    DRIVER(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &params, context));
    return node;
}

static CUDA_KERNEL_NODE_PARAMS kernel_params(void **arguments) {
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.func = function;
    params.gridDimX = 2;
    params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
    params.blockDimX = 64;
    params.kernelParams = arguments;
    return params;
}

static void kernels_by_arguments_and_by_block() {
    Buffer data;
    std::vector<int> out(count);
    CUgraph graph;
    DRIVER(cuGraphCreate(&graph, 0));
    CUgraphNode start = fill(graph, data.address, 1), first, second, down;
    int elements = count, value = 4;
    void *arguments[] = {&data.address, &elements, &value};
    CUDA_KERNEL_NODE_PARAMS params = kernel_params(arguments);
    DRIVER(cuGraphAddKernelNode(&first, graph, &start, 1, &params));
    struct {
        CUdeviceptr data;
        int count, value;
    } block = {data.address, count, 10};
    size_t size = sizeof block;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    params.kernelParams = nullptr;
    params.extra = extra;
    DRIVER(cuGraphAddKernelNode(&second, graph, &first, 1, &params));
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = data.address;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = out.data();
    copy.WidthInBytes = count * sizeof(int);
    copy.Height = copy.Depth = 1;
    DRIVER(cuGraphAddMemcpyNode(&down, graph, &second, 1, &copy, context));
    CUgraphExec exec;
    DRIVER(cuGraphInstantiate(&exec, graph, 0));
    DRIVER(cuGraphUpload(exec, stream));
    DRIVER(cuGraphLaunch(exec, stream));
    DRIVER(cuStreamSynchronize(stream));
    compare("kernels", out, all(15));

    CUDA_KERNEL_NODE_PARAMS got = {};
    DRIVER(cuGraphKernelNodeGetParams(first, &got));
    EXPECT(got.func == function && got.gridDimX == 2 && got.blockDimX == 64 && got.ctx == context);
    EXPECT(*(CUdeviceptr *)got.kernelParams[0] == data.address && *(int *)got.kernelParams[2] == 4);
    CUDA_MEMCPY3D copy_got = {};
    DRIVER(cuGraphMemcpyNodeGetParams(down, &copy_got));
    EXPECT(copy_got.srcDevice == data.address && copy_got.dstHost == out.data() && copy_got.WidthInBytes == count * sizeof(int));
    EXPECT(copy_got.srcMemoryType == CU_MEMORYTYPE_DEVICE && copy_got.dstMemoryType == CU_MEMORYTYPE_HOST && copy_got.Height == 1);
    CUDA_MEMSET_NODE_PARAMS fill_got = {};
    DRIVER(cuGraphMemsetNodeGetParams(start, &fill_got));
    EXPECT(fill_got.dst == data.address && fill_got.value == 1 && fill_got.elementSize == 4 && fill_got.width == count);

    // Each argument is changed for the next launch, as in programs that replay graphs.
    for (int round = 0; round < 3; ++round) {
        value = 100 * round;
        params = kernel_params(arguments);
        DRIVER(cuGraphExecKernelNodeSetParams(exec, second, &params));
        DRIVER(cuGraphExecMemcpyNodeSetParams(exec, down, &copy, context));
        DRIVER(cuGraphLaunch(exec, stream));
        DRIVER(cuStreamSynchronize(stream));
        compare("changed", out, all(5 + 100 * round));
    }
    fill_got.value = 7;
    DRIVER(cuGraphExecMemsetNodeSetParams(exec, start, &fill_got, context));
    DRIVER(cuGraphLaunch(exec, stream));
    DRIVER(cuStreamSynchronize(stream));
    compare("fill changed", out, all(211));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuGraphExecMemsetNodeSetParams(exec, first, &fill_got, context));
    params.extra = extra;
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeSetParams(first, &params));
    DRIVER(cuGraphExecDestroy(exec));
    DRIVER(cuGraphDestroy(graph));
}

static int calls;
static void call(void *) { ++calls; }

static void nodes_of_any_type() {
    Buffer data, target;
    CUevent event;
    DRIVER(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CUgraph graph, child;
    DRIVER(cuGraphCreate(&graph, 0));
    DRIVER(cuGraphCreate(&child, 0));
    fill(child, data.address, 3);
    CUgraphNode nodes[6];
    CUgraphNodeParams params = {};
    params.type = CU_GRAPH_NODE_TYPE_GRAPH;
    params.graph.graph = child;
    DRIVER(cuGraphAddNode(&nodes[0], graph, nullptr, nullptr, 0, &params));
    int elements = count, value = 5;
    void *arguments[] = {&data.address, &elements, &value};
    params = {};
    params.type = CU_GRAPH_NODE_TYPE_KERNEL;
    params.kernel.func = function;
    params.kernel.gridDimX = params.kernel.gridDimY = params.kernel.gridDimZ = 1;
    params.kernel.blockDimX = 32;
    params.kernel.blockDimY = params.kernel.blockDimZ = 1;
    params.kernel.kernelParams = arguments;
    DRIVER(cuGraphAddNode(&nodes[1], graph, &nodes[0], nullptr, 1, &params));
    params = {};
    params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    params.memcpy.copyCtx = context;
    params.memcpy.copyParams.srcMemoryType = params.memcpy.copyParams.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params.memcpy.copyParams.srcDevice = data.address;
    params.memcpy.copyParams.dstDevice = target.address;
    params.memcpy.copyParams.WidthInBytes = count * sizeof(int);
    params.memcpy.copyParams.Height = params.memcpy.copyParams.Depth = 1;
    DRIVER(cuGraphAddNode(&nodes[2], graph, &nodes[1], nullptr, 1, &params));
    params = {};
    params.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    params.eventRecord.event = event;
    DRIVER(cuGraphAddNode(&nodes[3], graph, &nodes[2], nullptr, 1, &params));
    params = {};
    params.type = CU_GRAPH_NODE_TYPE_HOST;
    params.host.fn = call;
    DRIVER(cuGraphAddNode(&nodes[4], graph, &nodes[3], nullptr, 1, &params));
    params = {};
    params.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    params.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    params.alloc.bytesize = 256;
    DRIVER(cuGraphAddNode(&nodes[5], graph, &nodes[4], nullptr, 1, &params));
    EXPECT(params.alloc.dptr != 0);
    CUgraphNode freed;
    DRIVER(cuGraphAddMemFreeNode(&freed, graph, &nodes[5], 1, params.alloc.dptr));
    CUgraphExec exec;
    CUDA_GRAPH_INSTANTIATE_PARAMS how = {};
    how.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    how.hUploadStream = stream;
    DRIVER(cuGraphInstantiateWithParams(&exec, graph, &how));
    EXPECT(how.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS);
    DRIVER(cuGraphLaunch(exec, stream));
    DRIVER(cuEventSynchronize(event));
    DRIVER(cuStreamSynchronize(stream));
    compare("any type", target.download(), all(8));
    EXPECT(calls == 1);
    CUgraphNodeParams got = {};
    DRIVER(cuGraphNodeGetParams(nodes[2], &got));
    EXPECT(got.type == CU_GRAPH_NODE_TYPE_MEMCPY && got.memcpy.copyParams.dstDevice == target.address);
    DRIVER(cuGraphExecDestroy(exec));
    DRIVER(cuGraphDestroy(graph));
    DRIVER(cuGraphDestroy(child));
    DRIVER(cuEventDestroy(event));
}

static void memory_operations() {
    Buffer data;
    CUgraph graph;
    CUgraphNode node;
    DRIVER(cuMemsetD32Async(data.address, 0, count, stream));
    DRIVER(cuGraphCreate(&graph, 0));
    CUstreamBatchMemOpParams operations[2] = {};
    operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operations[0].writeValue.address = data.address;
    operations[0].writeValue.value = 77;
    operations[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    operations[1].waitValue.address = data.address;
    operations[1].waitValue.value = 70;
    operations[1].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {context, 2, operations, 0};
    DRIVER(cuGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &params));
    CUDA_BATCH_MEM_OP_NODE_PARAMS got = {};
    DRIVER(cuGraphBatchMemOpNodeGetParams(node, &got));
    EXPECT(got.count == 2 && got.paramArray[1].waitValue.value == 70 && got.paramArray[0].operation == CU_STREAM_MEM_OP_WRITE_VALUE_32);
    CUgraphExec exec;
    DRIVER(cuGraphInstantiate(&exec, graph, 0));
    DRIVER(cuGraphLaunch(exec, stream));
    EXPECT(data.download()[0] == 77);
    operations[0].writeValue.value = 88;
    DRIVER(cuGraphExecBatchMemOpNodeSetParams(exec, node, &params));
    DRIVER(cuGraphLaunch(exec, stream));
    EXPECT(data.download()[0] == 88);
    DRIVER(cuGraphExecDestroy(exec));
    DRIVER(cuGraphDestroy(graph));
    DRIVER(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    DRIVER(cuStreamWriteValue32(stream, data.address + 4, 5, 0));
    DRIVER(cuStreamEndCapture(stream, &graph));
    CUgraphNodeType type;
    size_t one = 1;
    DRIVER(cuGraphGetNodes(graph, &node, &one));
    DRIVER(cuGraphNodeGetType(node, &type));
    EXPECT(type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    DRIVER(cuGraphInstantiate(&exec, graph, 0));
    DRIVER(cuGraphLaunch(exec, stream));
    EXPECT(data.download()[1] == 5);
    DRIVER(cuGraphExecDestroy(exec));
    DRIVER(cuGraphDestroy(graph));
}

static void captured_and_updated() {
    Buffer data;
    CUgraphExec exec = nullptr;
    for (int round = 1; round <= 3; ++round) {
        CUgraph graph, known;
        CUstreamCaptureStatus status;
        cuuint64_t id;
        const CUgraphNode *dependencies;
        size_t number;
        int elements = count;
        void *arguments[] = {&data.address, &elements, &round};
        DRIVER(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        DRIVER(cuMemsetD32Async(data.address, 0, count, stream));
        DRIVER(cuLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr));
        DRIVER(cuStreamGetCaptureInfo(stream, &status, &id, &known, &dependencies, nullptr, &number));
        EXPECT(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && number == 1);
        DRIVER(cuStreamEndCapture(stream, &graph));
        EXPECT(graph == known);
        CUgraphExecUpdateResultInfo info = {};
        if (exec == nullptr) DRIVER(cuGraphInstantiate(&exec, graph, 0));
        else DRIVER(cuGraphExecUpdate(exec, graph, &info));
        EXPECT(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
        DRIVER(cuGraphDestroy(graph));
        DRIVER(cuGraphLaunch(exec, stream));
        compare("captured", data.download(), all(round));
    }
    DRIVER(cuGraphExecDestroy(exec));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, stream));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(nullptr, stream));
    CUgraph none;
    EXPECT_DRIVER(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream, &none));
    DRIVER(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT_DRIVER(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
    EXPECT_DRIVER(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &none));
    EXPECT(none == nullptr);
}

int main() {
    CUdevice device;
    DRIVER(cuInit(0));
    DRIVER(cuDeviceGet(&device, 0));
    DRIVER(cuDevicePrimaryCtxRetain(&context, device));
    DRIVER(cuCtxSetCurrent(context));
    DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cudaGetFuncBySymbol(&function, (void *)add));
    // The driver's handle equals the module's.
    CUgraph graph;
    CUgraphNode node;
    DRIVER(cuGraphCreate(&graph, 0));
    int zero = 0;
    CUdeviceptr nowhere = 0;
    void *arguments[] = {&nowhere, &zero, &zero};
    CUDA_KERNEL_NODE_PARAMS params = kernel_params(arguments);
    DRIVER(cuGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    DRIVER(cuGraphKernelNodeGetParams(node, &params));
    function = params.func;
    DRIVER(cuGraphDestroy(graph));

    kernels_by_arguments_and_by_block();
    nodes_of_any_type();
    memory_operations();
    captured_and_updated();
    return finish();
}
