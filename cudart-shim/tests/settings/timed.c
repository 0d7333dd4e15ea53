/* Three launches of `add_one` on 64 CTAs, a copy back, and a launch of `store`; prints the milliseconds that events measure
 * around each launch, and how many numbers are right. */
#include "../c/cuda_api.h"

FAT_BINARY(kernels, 70, KERNELS);

enum { COUNT = 64 * 256 };

static char add_one, store;
static unsigned numbers[COUNT];

int main(void)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    unsigned *device, count = COUNT, right = 0;
    dim3 grid = {64, 1, 1}, block = {256, 1, 1}, one = {1, 1, 1};
    cudaEvent_t before, after;
    float milliseconds;

    __cudaRegisterFunction(handle, &add_one, "add_one", "add_one", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &store, "store", "store", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    OK(cudaMalloc((void **)&device, sizeof numbers));
    OK(cudaEventCreate(&before));
    OK(cudaEventCreate(&after));
    for (unsigned i = 0; i < COUNT; ++i)
        numbers[i] = i * 7;
    OK(cudaMemcpy(device, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    void *arguments[] = {&device, &count}, *value[] = {&count};
    for (unsigned launch = 0; launch < 3; ++launch) {
        OK(cudaEventRecord(before, NULL));
        OK(cudaLaunchKernel(&add_one, grid, block, arguments, 0, NULL));
        OK(cudaEventRecord(after, NULL));
        OK(cudaEventSynchronize(after));
        OK(cudaEventElapsedTime(&milliseconds, before, after));
        printf("%.9f\n", milliseconds);
    }
    OK(cudaMemcpy(numbers, device, sizeof numbers, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < COUNT; ++i)
        right += numbers[i] == i * 7 + 3;
    printf("%u\n", right);
    OK(cudaLaunchKernel(&store, one, one, value, 0, NULL));
    return cudaDeviceSynchronize();
}
