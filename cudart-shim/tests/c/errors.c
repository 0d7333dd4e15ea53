/* The last error is kept per thread until it is read; names and texts are CUDA's. */
#include "cuda_api.h"
#include <pthread.h>

static void *other_thread(void *unused)
{
    EXPECT(cudaGetLastError(), cudaSuccess);
    return unused;
}

int main(void)
{
    pthread_t thread;
    const char *text;

    EXPECT(cudaSetDevice(5), cudaErrorInvalidDevice);
    OK(cudaSetDevice(0));
    EXPECT(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, NULL);
    EXPECT(cudaGetLastError(), cudaErrorInvalidDevice);
    EXPECT(cudaGetLastError(), cudaSuccess);

    EXPECT(strcmp(cudaGetErrorName(1), "cudaErrorInvalidValue"), 0);
    EXPECT(strcmp(cudaGetErrorString(700), "an illegal memory access was encountered"), 0);
    EXPECT(strcmp(cudaGetErrorName(12345), "unrecognized error code"), 0);
    OK(cuGetErrorName(201, &text));
    EXPECT(strcmp(text, "CUDA_ERROR_INVALID_CONTEXT"), 0);
    EXPECT(cuGetErrorName(12345, &text), 1);
    EXPECT(text == NULL, 1);
    return 0;
}
