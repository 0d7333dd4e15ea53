/* A child forked after the device was used gets a clean error; one forked before can use the device. */
#include "cuda_api.h"
#include <sys/wait.h>
#include <unistd.h>

static void in_child(int expected)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        void *pointer;
        int result = cudaMalloc(&pointer, 16);
        if (result == cudaSuccess)
            result = cudaDeviceSynchronize();
        _exit(result);
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
    OK(cudaFree(pointer));
    return 0;
}
