/* A child forked after the device was used gets a clean error, also when kernels are running; one forked before can use
 * the device. The parent is not disturbed. */
#include "cuda_api.h"
#include <sys/wait.h>
#include <unistd.h>

FAT_BINARY(kernels, 70, KERNELS);

static void add_one(void) {}

/* The child ends by exit(), which runs the libraries' own handlers. */
static void in_child(int expected)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        void *pointer;
        int result = cudaMalloc(&pointer, 16);
        if (result == cudaSuccess)
            result = cudaDeviceSynchronize();
        exit(result);
    }
    EXPECT(waitpid(child, &status, 0), child);
    EXPECT(WIFEXITED(status), 1);
    EXPECT(WEXITSTATUS(status), expected);
}

int main(void)
{
    void *pointer;
    in_child(cudaSuccess);
    OK(cudaMalloc(&pointer, 16));
    OK(cudaMemset(pointer, 0, 16));
    OK(cudaDeviceSynchronize());
    in_child(cudaErrorInitializationError);

    unsigned *numbers, count = 1 << 20;
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper), *arguments[] = {&numbers, &count};
    dim3 grid = {1 << 12, 1, 1}, block = {256, 1, 1};
    __cudaRegisterFunction(handle, (char *)add_one, "add_one", "add_one", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    OK(cudaMalloc((void **)&numbers, count * sizeof *numbers));
    for (int i = 0; i < 8; ++i)
        OK(cudaLaunchKernel(add_one, grid, block, arguments, 0, NULL));
    in_child(cudaErrorInitializationError);
    OK(cudaMemcpy(&count, numbers, 4, cudaMemcpyDeviceToHost));
    EXPECT(count, 8);
    OK(cudaFree(pointer));
    return 0;
}
