/* Launches a kernel with a mangled name, which writes so many bytes behind the start of 64 bytes as the argument says. */
#include "cuda_api.h"
#include <stdlib.h>

static const char text[] =
#include "kernels.h"
    ;

int main(int count, char **arguments)
{
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr out;
    CUdeviceptr in = 0;
    int offset = count > 1 ? atoi(arguments[1]) : 0;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&kernel, module, "_Z6reducePKiPii"));
    OK(cuMemAlloc_v2(&out, 64));
    OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&in, &out, &offset}, NULL));
    return cuCtxSynchronize() != 0;
}
