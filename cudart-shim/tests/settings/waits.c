/* Launches `add_one` N times on N numbers (first argument), then does what the second argument says:
 *   wait   prints "ready" and waits for a signal
 *   own    does so with a handler of its own, which ends the program with status 7
 *   late   installs that handler before the first launch and takes it back afterwards, then waits
 *   input  waits for a line of standard input, launches once more, and prints how many numbers are right
 *   quit   ends without the exit handlers */
#include "../c/cuda_api.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

FAT_BINARY(kernels, 70, KERNELS);

enum { COUNT = 64 * 256 };

static char add_one;
static unsigned numbers[COUNT];

static void leave(int number)
{
    (void)number;
    exit(7);
}

static void watch(void (*handler)(int))
{
    const int ending[] = {SIGHUP, SIGINT, SIGTERM};
    for (int i = 0; i < 3; ++i)
        signal(ending[i], handler);
}

int main(int count, char **words)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    unsigned *device, size = COUNT, right = 0;
    unsigned launches = count > 1 ? atoi(words[1]) : 1;
    const char *then = count > 2 ? words[2] : "";
    dim3 grid = {64, 1, 1}, block = {256, 1, 1};
    char line[16];

    __cudaRegisterFunction(handle, &add_one, "add_one", "add_one", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    if (!strcmp(then, "late"))
        watch(leave);
    OK(cudaMalloc((void **)&device, sizeof numbers));
    OK(cudaMemset(device, 0, sizeof numbers));
    void *arguments[] = {&device, &size};
    for (unsigned launch = 0; launch < launches; ++launch)
        OK(cudaLaunchKernel(&add_one, grid, block, arguments, 0, NULL));
    OK(cudaDeviceSynchronize());
    if (!strcmp(then, "own"))
        watch(leave);
    if (!strcmp(then, "quit"))
        _exit(0);
    if (*then) {
        puts("ready");
        fflush(stdout);
    }
    if (!strcmp(then, "input")) {
        if (!fgets(line, sizeof line, stdin))
            return 3;
        OK(cudaLaunchKernel(&add_one, grid, block, arguments, 0, NULL));
        OK(cudaMemcpy(numbers, device, sizeof numbers, cudaMemcpyDeviceToHost));
        for (unsigned i = 0; i < COUNT; ++i)
            right += numbers[i] == launches + 1;
        printf("%u\n", right);
    } else if (*then) {
        for (;;)
            pause();
    }
    return 0;
}
