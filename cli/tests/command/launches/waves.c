/* Three launches of 400 CTAs, each of which changes what the one before has left. */
#include "cuda_api.h"

static const char text[] =
#include "kernels.h"
    ;

enum { CTAS = 400, THREADS = 256 };

int main(void)
{
    static unsigned values[CTAS * THREADS];
    CUcontext context;
    CUmodule module;
    CUfunction steps;
    CUdeviceptr numbers;
    unsigned sum = 0;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&steps, module, "steps"));
    OK(cuMemAlloc_v2(&numbers, sizeof values));
    for (int i = 0; i < CTAS * THREADS; i++)
        values[i] = i;
    OK(cuMemcpyHtoD_v2(numbers, values, sizeof values));
    for (int i = 0; i < 3; i++) {
        void *arguments[] = {&numbers};
        OK(cuLaunchKernel(steps, CTAS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL));
    }
    OK(cuMemcpyDtoH_v2(values, numbers, sizeof values));
    for (int i = 0; i < CTAS * THREADS; i++)
        sum = sum * 31 + values[i];
    printf("%u\n", sum);
    return 0;
}
