/* A kernel that allocates 9 MiB and leaves its address, where without the call eight can be had, and one that adds up what is in there and frees it. */
#include "cuda_api.h"

int cuCtxSetLimit(int, size_t);

static const char text[] =
#include "kernels.h"
    ;

int main(void)
{
    enum { MALLOC_HEAP_SIZE = 2 };
    CUcontext context;
    CUmodule module;
    CUfunction take, give;
    CUdeviceptr place, total;
    unsigned long long sum;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuCtxSetLimit(MALLOC_HEAP_SIZE, 10 << 20));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&take, module, "take"));
    OK(cuModuleGetFunction(&give, module, "give"));
    OK(cuMemAlloc_v2(&place, sizeof place));
    OK(cuMemAlloc_v2(&total, sizeof sum));
    for (int i = 0; i < 2; i++) {
        OK(cuLaunchKernel(take, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&place}, NULL));
        OK(cuLaunchKernel(give, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&place, &total}, NULL));
    }
    OK(cuMemcpyDtoH_v2(&sum, total, sizeof sum));
    printf("%llu\n", sum);
    return 0;
}
