/* A kernel of eight CTAs, each of which launches a kernel, has memory filled and, to be executed when all that has ended, launches another. */
#include "cuda_api.h"

static const char text[] =
#include "kernels.h"
    ;

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction parent;
    CUdeviceptr total, line;
    unsigned sum = 0;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&parent, module, "parent"));
    OK(cuMemAlloc_v2(&total, sizeof sum));
    OK(cuMemAlloc_v2(&line, 64));
    OK(cuMemcpyHtoD_v2(total, &sum, sizeof sum));
    OK(cuLaunchKernel(parent, 8, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&total, &line}, NULL));
    OK(cuMemcpyDtoH_v2(&sum, total, sizeof sum));
    printf("%u\n", sum);
    return 0;
}
