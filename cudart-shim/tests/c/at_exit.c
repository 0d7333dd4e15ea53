/* Exit handlers may still call CUDA, whether registered before or after its first use. */
#include "cuda_api.h"

static void *first, *second;

static void early(void)
{
    if (cudaFree(first) != cudaSuccess)
        _Exit(1);
}

static void late(void)
{
    if (cudaFree(second) != cudaSuccess)
        _Exit(1);
}

int main(void)
{
    atexit(early);
    OK(cudaMalloc(&first, 16));
    OK(cudaMalloc(&second, 16));
    OK(cudaMemset(second, 1, 16));
    atexit(late);
    return 0;
}
