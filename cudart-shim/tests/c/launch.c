/* A registered kernel runs by each launch protocol; variables, sizes, attributes and errors of launches. */
#include "cuda_api.h"

FAT_BINARY(kernels, 70, KERNELS);

static void add_one(void) {}
static void store(void) {}
static void unknown(void) {}
static void missing(void) {}
static unsigned answer;

int main(void)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    unsigned numbers[1000], *device, count = 1000, value = 42, read;
    dim3 grid = {4, 1, 1}, block = {256, 1, 1}, none = {0, 1, 1}, huge = {2048, 1, 1}, one = {1, 1, 1};
    cudaFuncAttributes attributes;
    cudaKernel_t kernel;
    cudaStream_t stream;
    size_t shared, size;
    int ctas;

    __cudaRegisterFunction(handle, (char *)add_one, "add_one", "add_one", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, (char *)store, "store", "store", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, (char *)unknown, "unknown", "unknown", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, (char *)missing, "missing", "missing", -1, 0, 0, 0, 0, 0);
    __cudaRegisterVar(handle, (char *)&answer, "answer", "answer", 0, sizeof answer, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);

    for (unsigned i = 0; i < 1000; ++i)
        numbers[i] = i;
    OK(cudaMalloc((void **)&device, sizeof numbers));
    OK(cudaMemcpy(device, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    void *arguments[] = {&device, &count};
    OK(cudaLaunchKernel(add_one, grid, block, arguments, 0, NULL));
    OK(__cudaGetKernel(&kernel, add_one));
    OK(__cudaLaunchKernel(kernel, grid, block, arguments, 0, NULL));
    EXPECT(__cudaPushCallConfiguration(grid, block, 8, NULL), 0);
    dim3 popped_grid, popped_block;
    OK(__cudaPopCallConfiguration(&popped_grid, &popped_block, &shared, &stream));
    EXPECT(shared, 8);
    OK(cudaLaunchKernel(add_one, popped_grid, popped_block, arguments, shared, stream));
    OK(cudaMemcpy(numbers, device, sizeof numbers, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < 1000; ++i)
        EXPECT(numbers[i], i + 3);

    OK(cudaGetSymbolSize(&size, &answer));
    EXPECT(size, 4);
    OK(cudaMemcpyFromSymbol(&read, &answer, 4, 0, cudaMemcpyDeviceToHost));
    EXPECT(read, 7);
    void *value_argument[] = {&value};
    OK(cudaLaunchKernel(store, one, one, value_argument, 0, NULL));
    OK(cudaMemcpyFromSymbol(&read, &answer, 4, 0, cudaMemcpyDeviceToHost));
    EXPECT(read, 42);
    EXPECT(cudaMemcpyToSymbol(&answer, &value, 8, 0, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT(cudaMemcpyToSymbol(&read, &value, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);

    EXPECT(cudaLaunchKernel(add_one, none, block, arguments, 0, NULL), cudaErrorInvalidConfiguration);
    EXPECT(cudaLaunchKernel(add_one, grid, huge, arguments, 0, NULL), cudaErrorInvalidConfiguration);
    EXPECT(cudaLaunchKernel(add_one, grid, block, arguments, 48 * 1024 + 1, NULL), cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(add_one, 8, 96 * 1024));
    OK(cudaLaunchKernel(add_one, grid, block, arguments, 96 * 1024, NULL));
    EXPECT(cudaFuncSetAttribute(add_one, 8, 96 * 1024 + 1), cudaErrorInvalidValue);
    EXPECT(cudaLaunchKernel(missing, one, one, NULL, 0, NULL), cudaErrorInvalidDeviceFunction);
    EXPECT(cudaLaunchKernel(main, one, one, NULL, 0, NULL), cudaErrorInvalidDeviceFunction);
    EXPECT(cudaLaunchKernel(unknown, one, one, NULL, 0, NULL), cudaErrorInvalidPtx);

    OK(cudaFuncGetAttributes(&attributes, add_one));
    EXPECT(attributes.maxThreadsPerBlock, 1024);
    EXPECT(attributes.binaryVersion, 70);
    EXPECT(attributes.ptxVersion, 70);
    EXPECT(attributes.numRegs > 0, 1);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, add_one, 256, 0));
    EXPECT(ctas, 8);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, add_one, 256, 40 * 1024));
    EXPECT(ctas, 2);

    __cudaUnregisterFatBinary(handle);
    EXPECT(cudaLaunchKernel(add_one, grid, block, arguments, 0, NULL), cudaErrorInvalidDeviceFunction);
    return 0;
}
