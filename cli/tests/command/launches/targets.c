/* Launches a kernel of three modules in turn, each of whose CTAs adds 1 to a word, which is printed. The second module is for
   sm_90, and its kernel's CTAs are clusters of two. */
#include "cuda_api.h"
#include <string.h>

static const char text[] =
#include "kernels.h"
    ;

int main(void)
{
    static const char body[] = "\n{", cluster[] = " .explicitcluster .reqnctapercluster 2, 1, 1";
    static char newer[sizeof text + sizeof cluster];
    const char *texts[] = {text, newer, text};
    CUcontext context;
    CUdeviceptr memory;
    unsigned long long offset = 0;
    unsigned counted = 0;

    memcpy(newer, text, sizeof text);
    memcpy(strstr(newer, ".version 7.0"), ".version 7.8", strlen(".version 7.8"));
    memcpy(strstr(newer, "sm_70"), "sm_90", strlen("sm_90"));
    char *start = strstr(newer, body);
    memmove(start + strlen(cluster), start, strlen(start) + 1);
    memcpy(start, cluster, strlen(cluster));
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemAlloc_v2(&memory, sizeof counted));
    OK(cuMemcpyHtoD_v2(memory, &counted, sizeof counted));
    for (int i = 0; i < 3; i++) {
        CUmodule module;
        CUfunction kernel;
        OK(cuModuleLoadData(&module, texts[i]));
        OK(cuModuleGetFunction(&kernel, module, "touch"));
        OK(cuLaunchKernel(kernel, i == 1 ? 2 : 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&memory, &offset}, NULL));
    }
    OK(cuMemcpyDtoH_v2(&counted, memory, sizeof counted));
    printf("%u\n", counted);
    return 0;
}
