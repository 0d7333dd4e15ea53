/* Two threads that count for themselves, each by four launches, as they come. Prints what they have counted. */
#include "cuda_api.h"
#include <pthread.h>

int cuCtxSetCurrent(CUcontext);

enum { threads = 2, times = 4 };

static const char text[] =
#include "kernels.h"
    ;

static CUcontext context;
static CUfunction kernel;

static void *count(void *place)
{
    CUdeviceptr memory;
    unsigned long long offset = 0;
    unsigned counted = 0;

    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc_v2(&memory, sizeof counted));
    OK(cuMemcpyHtoD_v2(memory, &counted, sizeof counted));
    for (int i = 0; i < times; i++)
        OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&memory, &offset}, NULL));
    OK(cuMemcpyDtoH_v2(place, memory, sizeof counted));
    return NULL;
}

int main(void)
{
    CUmodule module;
    pthread_t thread[threads];
    unsigned counted[threads];

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&kernel, module, "touch"));
    for (int i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, count, &counted[i]);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    printf("%u %u\n", counted[0], counted[1]);
    return 0;
}
