/* Ends as Python does after a KeyboardInterrupt: an own handler notes SIGINT, and when launches are over the default action
   is set and the signal sent again. With an argument by `signal`. */
#include "cuda_api.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char text[] =
#include "kernels.h"
    ;

static volatile sig_atomic_t interrupted;

static void note(int signal)
{
    (void)signal;
    interrupted = 1;
}

int main(int count, char **arguments)
{
    struct sigaction own = {.sa_handler = note}, before;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr memory;
    unsigned long long offset = 0;

    (void)arguments;
    sigaction(SIGINT, &own, NULL);
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemAlloc_v2(&memory, 4));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&kernel, module, "touch"));
    kill(getpid(), SIGINT);
    while (!interrupted)
        pause();
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&memory, &offset}, NULL));
    OK(cuCtxSynchronize());
    if (count > 1) {
        signal(SIGINT, SIG_DFL);
    } else {
        memset(&own, 0, sizeof own);
        sigaction(SIGINT, &own, &before);
        if (before.sa_handler != note)
            return 3;
    }
    if (signal(SIGINT, SIG_DFL) != SIG_DFL)
        return 4;
    kill(getpid(), SIGINT);
    return 130;
}
