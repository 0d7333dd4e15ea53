/* Signals that come all the time: their handler runs on the program's threads, and no call fails or is cut short. */
#include "cuda_api.h"
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

enum { COUNT = 50000, ROUNDS = 100 };

FAT_BINARY(kernels, 70, KERNELS);

static pthread_t main_thread;
static volatile sig_atomic_t signals, elsewhere;

static void add_one(void) {}

static void handler(int number)
{
    (void)number;
    ++signals;
    if (!pthread_equal(pthread_self(), main_thread))
        ++elsewhere;
}

int main(void)
{
    static unsigned numbers[COUNT];
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    struct sigaction action = {.sa_handler = handler};
    struct itimerval every = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    unsigned *device, count = COUNT;
    dim3 grid = {(COUNT + 255) / 256, 1, 1}, block = {256, 1, 1};
    cudaStream_t stream;

    __cudaRegisterFunction(handle, (char *)add_one, "add_one", "add_one", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    main_thread = pthread_self();
    OK(sigaction(SIGALRM, &action, NULL));
    OK(setitimer(ITIMER_REAL, &every, NULL));
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&device, sizeof numbers));
    OK(cudaMemcpy(device, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    void *arguments[] = {&device, &count};
    for (unsigned round = 1; round <= ROUNDS; ++round) {
        OK(cudaLaunchKernel(add_one, grid, block, arguments, 0, stream));
        OK(cudaStreamSynchronize(stream));
        OK(cudaMemcpy(numbers, device, sizeof numbers, cudaMemcpyDeviceToHost));
        EXPECT(numbers[0], round);
        EXPECT(numbers[COUNT - 1], round);
    }
    while (signals < 10) {}
    OK(setitimer(ITIMER_REAL, &never, NULL));
    EXPECT(elsewhere, 0);
    OK(cudaFree(device));
    return 0;
}
