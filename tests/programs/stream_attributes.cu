//@ link: -lcuda
// Attributes of streams, events of all work of a context, the error log,
// core dump settings, and a cooperative launch on all (one) devices.
#include "check_driver.h"

#include <cstring>
#include <string>
#include <unistd.h>

#include <cooperative_groups.h>

__global__ void set(int *cell, int value) { *cell = value; }

__global__ void both_halves(int *cells) {
    cells[blockIdx.x] = blockIdx.x + 1;
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 0) cells[2] = cells[0] + cells[1];
}

static std::string told;
static void CUDART_CB tell(void *data, cudaLogLevel level, char *message, size_t length) {
    if (data == &told && level == cudaLogLevelError) told.assign(message, length);
}

static void CUDART_CB wait_for(void *flag) {
    while (!*static_cast<volatile int *>(flag)) usleep(100);
}

int main() {
    cudaStream_t stream, other;
    CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -2));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    const auto wrong = cudaErrorInvalidValue;

    // Initial attributes of a stream, and changed ones.
    cudaStreamAttrValue value = {};
    CHECK(cudaStreamGetAttribute(stream, cudaStreamAttributePriority, &value));
    EXPECT(value.priority == -2);
    CHECK(cudaStreamGetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value));
    EXPECT(value.syncPolicy == cudaSyncPolicyAuto);
    value.syncPolicy = cudaSyncPolicyYield;
    CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value));
    char buffer[256];
    memset(&value, 0, sizeof value);
    value.accessPolicyWindow.base_ptr = buffer;
    value.accessPolicyWindow.hitRatio = 0.5f;
    value.accessPolicyWindow.hitProp = cudaAccessPropertyStreaming;
    CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    CHECK(cudaStreamCopyAttributes(other, stream));
    memset(&value, 0xff, sizeof value);
    CHECK(cudaStreamGetAttribute(other, cudaStreamAttributeSynchronizationPolicy, &value));
    EXPECT(value.syncPolicy == cudaSyncPolicyYield);
    CHECK(cudaStreamGetAttribute(other, cudaStreamAttributeAccessPolicyWindow, &value));
    EXPECT(value.accessPolicyWindow.base_ptr == buffer && value.accessPolicyWindow.hitRatio == 0.5f);
    value.accessPolicyWindow.hitRatio = 1.5f;
    EXPECT_ERROR(wrong, cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    EXPECT_ERROR(wrong, cudaStreamGetAttribute(stream, cudaStreamAttrID(99), &value));
    EXPECT_ERROR(cudaErrorInvalidResourceHandle,
                 cudaStreamGetAttribute(cudaStream_t(99), cudaStreamAttributePriority, &value));
    CUcontext context;
    CUgreenCtx green = CUgreenCtx(1);
    DRIVER(cuStreamGetCtx_v2(stream, &context, &green));
    CUcontext current;
    DRIVER(cuCtxGetCurrent(&current));
    EXPECT(context == current && green == nullptr);

    // An event after all work of the context, and one that all later work waits for.
    DeviceArray<int> cell(1);
    cell.fill(0);
    // Non-blocking streams do not wait for the event.
    CHECK(cudaDeviceSynchronize());
    volatile int open = 0;
    cudaEvent_t all, gate;
    CHECK(cudaEventCreateWithFlags(&all, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&gate, cudaEventDisableTiming));
    CHECK(cudaLaunchHostFunc_v2(stream, wait_for, (void *)&open, 1));
    set<<<1, 1, 0, stream>>>(cell, 5);
    DRIVER(cuCtxRecordEvent(nullptr, all));
    CHECK(cudaStreamSynchronize(other));
    EXPECT_ERROR(cudaErrorNotReady, cudaEventQuery(all));
    CHECK(cudaEventRecord(gate, stream));
    DRIVER(cuCtxWaitEvent(nullptr, gate));
    set<<<1, 1, 0, other>>>(cell, 6);
    EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(other));
    open = 1;
    CHECK(cudaEventSynchronize(all));
    CHECK(cudaStreamSynchronize(other));
    EXPECT(cell.download()[0] == 6);

    // Failures are logged.
    cudaLogsCallbackHandle listener;
    CHECK(cudaLogsRegisterCallback(tell, &told, &listener));
    cudaLogIterator iterator;
    CHECK(cudaLogsCurrent(&iterator, 0));
    EXPECT_ERROR(wrong, cudaMemset(nullptr, 0, 4));
    EXPECT(told.find("cudaMemset") != std::string::npos);
    char text[1000];
    size_t size = sizeof text;
    CHECK(cudaLogsDumpToMemory(&iterator, text, &size, 0));
    EXPECT(size == strlen(text) && strstr(text, "cudaMemset") != nullptr);
    size = sizeof text;
    CHECK(cudaLogsDumpToMemory(&iterator, text, &size, 0));
    EXPECT(size == 0);
    CHECK(cudaLogsUnregisterCallback(listener));
    EXPECT_ERROR(wrong, cudaLogsUnregisterCallback(listener));
    told.clear();
    EXPECT_ERROR(wrong, cudaMemset(nullptr, 0, 4));
    EXPECT(told.empty());
    cudaGetLastError();

    // Core dumps.
    bool enabled = true;
    size = sizeof enabled;
    DRIVER(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &enabled, &size));
    EXPECT(!enabled);
    char name[1024] = "/tmp/dump";
    size = strlen(name);
    DRIVER(cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, name, &size));
    memset(name, 'x', sizeof name);
    size = sizeof name;
    DRIVER(cuCoredumpGetAttribute(CU_COREDUMP_FILE, name, &size));
    EXPECT(strcmp(name, "/tmp/dump") == 0);
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuCoredumpGetAttribute(CUcoredumpSettings(99), name, &size));

    // Notifications of an unexceeded budget, and the behaviour of a link.
    cudaAsyncCallbackHandle_t notification;
    auto ignore = [](cudaAsyncNotificationInfo_t *, void *, cudaAsyncCallbackHandle_t) {};
    CHECK(cudaDeviceRegisterAsyncNotification(0, ignore, nullptr, &notification));
    CHECK(cudaDeviceUnregisterAsyncNotification(0, notification));
    EXPECT_ERROR(wrong, cudaDeviceUnregisterAsyncNotification(0, notification));
    unsigned capability = 99;
    cudaAtomicOperation operation = cudaAtomicOperationIntegerAdd;
    CHECK(cudaDeviceGetHostAtomicCapabilities(&capability, &operation, 1, 0));
    int native;
    CHECK(cudaDeviceGetAttribute(&native, cudaDevAttrHostNativeAtomicSupported, 0));
    EXPECT((capability != 0) == (native != 0));

    // All devices at once.
    DeviceArray<int> cells(3);
    int *pointer = cells;
    void *arguments[] = {&pointer};
    CUDA_LAUNCH_PARAMS launch = {};
    cudaFunction_t function;
    CHECK(cudaGetFuncBySymbol(&function, (const void *)both_halves));
    launch.function = function;
    launch.gridDimX = 2;
    launch.gridDimY = launch.gridDimZ = launch.blockDimX = launch.blockDimY = launch.blockDimZ = 1;
    launch.hStream = stream;
    launch.kernelParams = arguments;
    DRIVER(cuLaunchCooperativeKernelMultiDevice(&launch, 1, 0));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(cells.download()[2] == 3);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(other));
    return finish();
}
