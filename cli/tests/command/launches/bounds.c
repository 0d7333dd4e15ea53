/* Prints the address of 1000 bytes of memory of the kind that the argument names, touches the first word of them, and then one that lies
   behind them. Ends with the error of the launch that did so. */
#include "cuda_api.h"
#include <stdlib.h>
#include <string.h>

int cuMemAllocManaged(CUdeviceptr *, size_t, unsigned);
int cuMemAllocHost_v2(void **, size_t);
int cuMemHostRegister_v2(void *, size_t, unsigned);
int cuMemAllocAsync(CUdeviceptr *, size_t, void *);

static const char text[] =
#include "kernels.h"
    ;

static CUfunction kernel;

static int touch(CUdeviceptr address, unsigned long long offset)
{
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&address, &offset}, NULL));
    return cuCtxSynchronize();
}

/* Memory of a kind; `aside` is how far behind its start to touch. */
static CUdeviceptr memory_of(const char *kind, unsigned long long *aside)
{
    enum { size = 1000, page = 4096 };
    CUdeviceptr memory, other;
    *aside = size;
    if (strcmp(kind, "device") == 0)
        OK(cuMemAlloc_v2(&memory, size));
    else if (strcmp(kind, "managed") == 0)
        OK(cuMemAllocManaged(&memory, size, 1));
    else if (strcmp(kind, "host") == 0)
        OK(cuMemAllocHost_v2((void **)&memory, size));
    else if (strcmp(kind, "pool") == 0) {
        OK(cuMemAllocAsync(&memory, size, NULL));
    } else if (strncmp(kind, "registered", 10) == 0) {
        memory = (CUdeviceptr)aligned_alloc(page, page);
        OK(cuMemHostRegister_v2((void *)memory, size, 0));
        if (strcmp(kind, "registered and its end") == 0)
            *aside = size - 8;
    } else if (strcmp(kind, "smaller than before") == 0) {
        /* What is touched was allocated when another launch ran. */
        OK(cuMemAlloc_v2(&other, 2 * page));
        OK(touch(other, page));
        OK(cuMemFree_v2(other));
        OK(cuMemAlloc_v2(&memory, size));
        *aside = page;
        if (memory != other)
            abort();
    } else {
        /* A kernel that is given one of two neighbours reaches the other. */
        OK(cuMemAlloc_v2(&memory, page));
        OK(cuMemAlloc_v2(&other, page));
        *aside = other - memory;
        if (other != memory + page)
            abort();
    }
    return memory;
}

int main(int count, char **arguments)
{
    CUcontext context;
    CUmodule module;
    unsigned long long aside;
    CUdeviceptr memory;

    (void)count;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&kernel, module, "touch"));
    memory = memory_of(arguments[1], &aside);
    printf("%#llx\n", (unsigned long long)memory);
    OK(touch(memory, 0));
    return touch(memory, aside) != 0;
}
