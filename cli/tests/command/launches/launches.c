/* Launches of five kinds: a list whose nodes lie in buffers that only other nodes point to, a variable of the module that
   each launch changes, a remainder, a walk up to the end of a buffer, and at the end, once, a product and its sum.
   Argument: how many times. The variable DIVISOR is the divisor, 5 without. */
#include "cuda_api.h"

static const char text[] =
#include "kernels.h"
    ;

struct node { CUdeviceptr next; unsigned long long value; };

static CUfunction function(CUmodule module, const char *name)
{
    CUfunction found;
    OK(cuModuleGetFunction(&found, module, name));
    return found;
}

int main(int count, char **arguments)
{
    CUcontext context;
    CUmodule module;
    CUdeviceptr nodes[3], total, numbers;
    unsigned values[64];
    unsigned long long sum;
    int times = count > 1 ? atoi(arguments[1]) : 1;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, text));
    for (int i = 2; i >= 0; i--) {
        struct node node = {i == 2 ? 0 : nodes[i + 1], 10 + i};
        OK(cuMemAlloc_v2(&nodes[i], sizeof node));
        OK(cuMemcpyHtoD_v2(nodes[i], &node, sizeof node));
    }
    OK(cuMemAlloc_v2(&total, sizeof sum));
    OK(cuMemAlloc_v2(&numbers, sizeof values));
    for (int i = 0; i < 64; i++)
        values[i] = 7 - i;
    OK(cuMemcpyHtoD_v2(numbers, values, sizeof values));
    for (int i = 0; i < times; i++) {
        CUdeviceptr end = numbers + sizeof values;
        int divisor = getenv("DIVISOR") ? atoi(getenv("DIVISOR")) : 5;
        void *of_list[] = {&nodes[0], &total}, *of_remainder[] = {&numbers, &divisor}, *of_walk[] = {&numbers, &end, &total};
        OK(cuLaunchKernel(function(module, "sum_list"), 1, 1, 1, 1, 1, 1, 0, NULL, of_list, NULL));
        OK(cuLaunchKernel(function(module, "remainder"), 2, 1, 1, 32, 1, 1, 0, NULL, of_remainder, NULL));
        OK(cuLaunchKernel(function(module, "walk"), 1, 1, 1, 1, 1, 1, 0, NULL, of_walk, NULL));
    }
    float factor = 0.7f;
    void *of_scale[] = {&numbers, &factor};
    if (times > 0)
        OK(cuLaunchKernel(function(module, "scale"), 1, 1, 1, 32, 1, 1, 0, NULL, of_scale, NULL));
    OK(cuMemcpyDtoH_v2(&sum, total, sizeof sum));
    printf("%llu\n", sum);
    return 0;
}
