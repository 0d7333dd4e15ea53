/* Objects find their contexts in threads without a current one; the objects of a destroyed context are gone. */
#include "cuda_api.h"
#include <pthread.h>


extern int cuDevicePrimaryCtxRetain(void **, int), cuDevicePrimaryCtxRelease_v2(int), cuDevicePrimaryCtxGetState(int, unsigned *, int *);
extern int cuDevicePrimaryCtxReset_v2(int), cuStreamCreate(void **, unsigned);
extern int cuCtxCreate_v2(void **, unsigned, int), cuCtxDestroy_v2(void *), cuCtxPopCurrent_v2(void **), cuCtxGetCurrent(void **);
extern int cuStreamGetCtx(void *, void **), cuStreamDestroy_v2(void *), cuStreamQuery(void *), cuStreamSynchronize(void *);
extern int cuStreamWaitEvent(void *, void *, unsigned), cuEventRecord(void *, void *), cuEventQuery(void *);
extern int cuEventSynchronize(void *), cuEventElapsedTime(float *, void *, void *), cuEventDestroy_v2(void *), cuEventCreate(void **, unsigned);
extern int cuModuleUnload(void *), cuFuncGetAttribute(int *, int, void *), cuArrayCreate_v2(void **, const CUDA_ARRAY_DESCRIPTOR *);
extern int cuArrayDestroy(void *), cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *, void *), cuMemFree_v2(uint64_t);
extern int cuMemcpyDtoHAsync_v2(void *, uint64_t, size_t, void *), cuMemcpyHtoD_v2(uint64_t, const void *, size_t);
extern int cuPointerGetAttribute(void *, int, uint64_t), cuMemsetD8Async(uint64_t, unsigned char, size_t, void *);
extern int cuMemAllocHost_v2(void **, size_t), cuMemHostRegister_v2(void *, size_t, unsigned), cuMemHostUnregister(void *);
extern int cuMemHostGetFlags(unsigned *, void *), cuModuleGetFunction(void **, void *, const char *);

enum { INVALID_CONTEXT = 201, CONTEXT_IS_DESTROYED = 709, HOST_MEMORY_NOT_REGISTERED = 713 };

#define ADD                                                                                                   \
    ".version 7.0\n.target sm_70\n.address_size 64\n"                                                         \
    ".visible .entry add(.param .u64 at) { .reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [at];\n"              \
    " ld.global.u32 %r, [%a]; add.u32 %r, %r, 1; st.global.u32 [%a], %r; ret; }\n"

static struct objects {
    void *context, *stream, *events[2], *module, *function, *array, *pinned;
    uint64_t memory;
} all[2];

static void make(struct objects *objects, int device)
{
    CUDA_ARRAY_DESCRIPTOR description = {16, 4, 0x20, 1};

    objects->context = NULL;
    OK(cuStreamCreate(&objects->stream, 1));
    OK(cuEventCreate(&objects->events[0], 0));
    OK(cuEventCreate(&objects->events[1], 0));
    OK(cuModuleLoadData(&objects->module, ADD));
    OK(cuModuleGetFunction(&objects->function, objects->module, "add"));
    OK(cuArrayCreate_v2(&objects->array, &description));
    OK(cuMemAlloc_v2(&objects->memory, 256));
    OK(cuMemAllocHost_v2(&objects->pinned, 64));
    (void)device;
}

/* In a thread without a context. */
static void *use(void *unused)
{
    for (int device = 0; device < 2; device++) {
        struct objects *objects = &all[device];
        void *current = (void *)1, *arguments[] = {&objects->memory}, *owner;
        CUDA_ARRAY_DESCRIPTOR description;
        unsigned value = 0;
        float milliseconds;
        int number, ordinal;

        OK(cuCtxGetCurrent(&current));
        EXPECT(current == NULL, 1);
        OK(cuMemsetD8Async(objects->memory, 1, 4, objects->stream));
        OK(cuEventRecord(objects->events[0], objects->stream));
        OK(cuLaunchKernel(objects->function, 1, 1, 1, 1, 1, 1, 0, objects->stream, arguments, NULL));
        OK(cuMemcpyDtoHAsync_v2(&value, objects->memory, 4, objects->stream));
        OK(cuEventRecord(objects->events[1], objects->stream));
        OK(cuStreamWaitEvent(objects->stream, objects->events[0], 0));
        OK(cuEventSynchronize(objects->events[1]));
        OK(cuStreamSynchronize(objects->stream));
        EXPECT(value, 0x01010102);
        OK(cuStreamQuery(objects->stream));
        OK(cuEventQuery(objects->events[0]));
        OK(cuEventElapsedTime(&milliseconds, objects->events[0], objects->events[1]));
        EXPECT(cuEventRecord(objects->events[0], NULL), INVALID_CONTEXT);
        EXPECT(cuStreamSynchronize(NULL), INVALID_CONTEXT);
        EXPECT(cuLaunchKernel(objects->function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL), INVALID_CONTEXT);
        EXPECT(cuMemcpyHtoD_v2(objects->memory, &value, 4), INVALID_CONTEXT);
        EXPECT(cuMemAlloc_v2(&objects->memory, 4), INVALID_CONTEXT);
        OK(cuFuncGetAttribute(&number, 0, objects->function));
        OK(cuArrayGetDescriptor_v2(&description, objects->array));
        EXPECT(description.Width, 16);
        OK(cuPointerGetAttribute(&owner, 1, objects->memory));
        EXPECT(owner == objects->context, 1);
        OK(cuPointerGetAttribute(&ordinal, 9, objects->memory));
        EXPECT(ordinal, device);
        OK(cuStreamGetCtx(objects->stream, &owner));
        EXPECT(owner == objects->context, 1);
        OK(cuMemHostGetFlags(&value, objects->pinned));
        OK(cuEventDestroy_v2(objects->events[0]));
        OK(cuEventDestroy_v2(objects->events[1]));
        OK(cuStreamDestroy_v2(objects->stream));
        OK(cuModuleUnload(objects->module));
        OK(cuArrayDestroy(objects->array));
        OK(cuMemFree_v2(objects->memory));
        EXPECT(cuStreamQuery(objects->stream), cudaErrorInvalidResourceHandle);
        EXPECT(cuModuleUnload(objects->module), cudaErrorInvalidResourceHandle);
        EXPECT(cuMemFree_v2(objects->memory), cudaErrorInvalidValue);
    }
    return unused;
}

static pthread_barrier_t both;

/* Has the context current while another thread destroys it. */
static void *keeps(void *context)
{
    void *current, *memory;

    OK(cuCtxSetCurrent(context));
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    EXPECT(cuMemAlloc_v2((uint64_t *)&memory, 4), CONTEXT_IS_DESTROYED);
    EXPECT(cuCtxSynchronize(), CONTEXT_IS_DESTROYED);
    EXPECT(cudaMalloc(&memory, 4), CONTEXT_IS_DESTROYED);
    OK(cuCtxGetCurrent(&current));
    EXPECT(current == context, 1);
    OK(cuCtxPopCurrent_v2(&current));
    EXPECT(cuCtxSynchronize(), INVALID_CONTEXT);
    return NULL;
}

static char registered[4096];

static void destroyed(void)
{
    struct objects objects;
    void *context, *current, *primary;
    uint64_t other;
    unsigned flags;
    pthread_t thread;
    CUDA_ARRAY_DESCRIPTOR description;

    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cuCtxSetCurrent(primary));
    OK(cuMemAlloc_v2(&other, 64));
    OK(cuCtxCreate_v2(&context, 0, 0));
    make(&objects, 0);
    OK(cuMemHostRegister_v2(registered, sizeof registered, 0));
    pthread_barrier_init(&both, NULL, 2);
    if (pthread_create(&thread, NULL, keeps, context))
        abort();
    pthread_barrier_wait(&both);
    OK(cuCtxDestroy_v2(context));
    pthread_barrier_wait(&both);
    pthread_join(thread, NULL);
    OK(cuCtxGetCurrent(&current));
    EXPECT(current == primary, 1);
    EXPECT(cuStreamQuery(objects.stream), cudaErrorInvalidResourceHandle);
    EXPECT(cuEventQuery(objects.events[0]), cudaErrorInvalidResourceHandle);
    EXPECT(cuModuleUnload(objects.module), cudaErrorInvalidResourceHandle);
    EXPECT(cuLaunchKernel(objects.function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), cudaErrorInvalidResourceHandle);
    EXPECT(cuArrayGetDescriptor_v2(&description, objects.array), cudaErrorInvalidResourceHandle);
    EXPECT(cuMemFree_v2(objects.memory), cudaErrorInvalidValue);
    EXPECT(cuMemHostGetFlags(&flags, objects.pinned), cudaErrorInvalidValue);
    EXPECT(cuMemHostUnregister(registered), HOST_MEMORY_NOT_REGISTERED);
    EXPECT(cuCtxSetCurrent(context), INVALID_CONTEXT);
    EXPECT(cuCtxDestroy_v2(context), INVALID_CONTEXT);
    /* Memory of another context stays, also where the destroyed one had some at an address that is used again. */
    OK(cuMemFree_v2(other));
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRelease_v2(0));
}

static void primary(void)
{
    void *context, *stream;
    uint64_t memory;
    unsigned flags;
    int active;

    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc_v2(&memory, 64));
    OK(cuStreamCreate(&stream, 0));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(active, 0);
    EXPECT(cuCtxSynchronize(), CONTEXT_IS_DESTROYED);
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSynchronize());
    EXPECT(cuStreamQuery(stream), cudaErrorInvalidResourceHandle);
    EXPECT(cuMemFree_v2(memory), cudaErrorInvalidValue);
    /* The runtime holds the context too, so that the last release of the driver's holders leaves it. */
    OK(cudaMalloc((void **)&memory, 64));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuMemFree_v2(memory));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuDevicePrimaryCtxReset_v2(0));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    EXPECT(cuDevicePrimaryCtxRelease_v2(0), INVALID_CONTEXT);
    OK(cudaMalloc((void **)&memory, 64));
    OK(cudaFree((void *)memory));
}

int main(void)
{
    pthread_t thread;

    setenv("VOLTSIM_DEVICES", "2", 1);
    EXPECT(cuMemFree_v2(0), cudaErrorInitializationError);
    EXPECT(cuEventQuery(NULL), cudaErrorInitializationError);
    OK(cuInit(0));
    for (int device = 0; device < 2; device++) {
        if (device == 0) {
            OK(cuDevicePrimaryCtxRetain(&all[0].context, 0));
            OK(cuCtxSetCurrent(all[0].context));
        } else {
            OK(cuCtxCreate_v2(&all[1].context, 0, 1));
        }
        void *context = all[device].context;
        make(&all[device], device);
        all[device].context = context;
    }
    if (pthread_create(&thread, NULL, use, NULL) || pthread_join(thread, NULL))
        abort();
    OK(cuCtxDestroy_v2(all[1].context));
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    destroyed();
    primary();
    return 0;
}
