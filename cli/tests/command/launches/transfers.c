/* A fill and a copy within the device of 256 KiB, in rows with gaps the second time, each before a launch that walks through some of
   it. */
#include "cuda_api.h"

int cuMemcpyDtoD_v2(CUdeviceptr, CUdeviceptr, size_t);
int cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);
int cuMemsetD2D8_v2(CUdeviceptr, size_t, unsigned char, size_t, size_t);

static const char text[] =
#include "kernels.h"
    ;

int main(void)
{
    enum { size = 256 << 10 };
    CUcontext context;
    CUmodule module;
    CUfunction walk;
    CUdeviceptr numbers, copy, total;
    unsigned long long sum;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&walk, module, "walk"));
    OK(cuMemAlloc_v2(&numbers, size));
    OK(cuMemAlloc_v2(&copy, size));
    OK(cuMemAlloc_v2(&total, sizeof sum));
    for (int i = 0; i < 2; i++) {
        CUdeviceptr end = copy + 256;
        if (i == 0)
            OK(cuMemsetD8_v2(numbers, 1, size));
        else
            OK(cuMemsetD2D8_v2(numbers, 1024, 2, 100, size / 1024));
        OK(cuMemcpyDtoD_v2(copy, numbers, size));
        OK(cuLaunchKernel(walk, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&copy, &end, &total}, NULL));
    }
    OK(cuMemcpyDtoH_v2(&sum, total, sizeof sum));
    printf("%llu\n", sum);
    return 0;
}
