/* A launch of a kernel that DRAM limits, and one of a kernel that bank conflicts limit. */
#include "cuda_api.h"

static const char text[] =
#include "kernels.h"
    ;

enum { CTAS = 128, THREADS = 256 };

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction saxpy, conflict;
    CUdeviceptr x, y;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&saxpy, module, "saxpy"));
    OK(cuModuleGetFunction(&conflict, module, "conflict"));
    OK(cuMemAlloc_v2(&x, 4 * CTAS * THREADS));
    OK(cuMemAlloc_v2(&y, 4 * CTAS * THREADS));
    void *of_saxpy[] = {&x, &y}, *of_conflict[] = {&y};
    OK(cuLaunchKernel(saxpy, CTAS, 1, 1, THREADS, 1, 1, 0, NULL, of_saxpy, NULL));
    OK(cuLaunchKernel(conflict, 4, 1, 1, THREADS, 1, 1, 0, NULL, of_conflict, NULL));
    OK(cuCtxSynchronize());
    printf("done\n");
    return 0;
}
