/* Registers memory, unmaps it, or protects it with RIGHTS, and lets the device use it as HOW says. Prints the codes of the use
 * and of the call behind it. */
#define _GNU_SOURCE
#include "../c/cuda_api.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define STORE                                                                                                 \
    ".version 7.0\n.target sm_70\n.address_size 64\n"                                                         \
    ".visible .entry store(.param .u64 at) { .reg .b64 %a; ld.param.u64 %a, [at]; st.global.u64 [%a], %a; ret; }\n"

/* Polls a word until it is not 0. */
#define POLL                                                                                                  \
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry store(.param .u64 at) { .reg .b64 %a;\n"  \
    ".reg .b32 %r; .reg .pred %p; ld.param.u64 %a, [at]; L: ld.volatile.global.u32 %r, [%a];\n"               \
    "setp.eq.u32 %p, %r, 0; @%p bra L; ret; }\n"

static sigjmp_buf back;

static void go_back(int signal)
{
    siglongjmp(back, signal);
}

extern int cudaMemsetAsync(void *, int, size_t, cudaStream_t);
extern int cuStreamWriteValue32(void *, CUdeviceptr, unsigned, unsigned);

int main(void)
{
    const char *how = getenv("HOW");
    size_t size = 65536;
    /* Nothing else maps memory here, as it may do where memory was unmapped. */
    void *place = (void *)0x500000000000;
    char *gone = mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    void *device, *arguments[] = {&gone}, *module, *function;
    cudaStream_t stream;

    int is_running = !strcmp(how, "running kernel");
    if (is_running)
        signal(SIGSEGV, go_back);
    OK(cudaMalloc(&device, size));
    OK(cudaStreamCreate(&stream));
    OK(cudaHostRegister(gone, size, 0));
    OK(cuModuleLoadData(&module, is_running ? POLL : STORE));
    OK(cuModuleGetFunction(&function, module, "store"));
    int code = 0;
    if (is_running) {
        code = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
        usleep(200000);
    }
    const char *rights = getenv("RIGHTS");
    if (rights)
        mprotect(gone, size, atoi(rights));
    else
        munmap(gone, size);
    if (is_running && rights) {
        code = 0;
    } else if (is_running) {
        /* The program's own access stays its own fault: behind the registered memory nothing is mapped. */
        if (!sigsetjmp(back, 1))
            code = gone[size];
        else
            puts("own handler");
    } else if (!strcmp(how, "kernel"))
        code = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
    else if (!strcmp(how, "copy"))
        code = cudaMemcpyAsync(device, gone, size, cudaMemcpyHostToDevice, stream);
    else if (!strcmp(how, "copy back"))
        code = cudaMemcpyAsync(gone, device, size, cudaMemcpyDeviceToHost, stream);
    else if (!strcmp(how, "fill"))
        code = cudaMemsetAsync(gone, 1, size, stream);
    else if (!strcmp(how, "write"))
        code = cuStreamWriteValue32(stream, (CUdeviceptr)gone, 1, 0);
    else if (!strcmp(how, "nothing")) {
        /* Work elsewhere ends the registration and is no mistake. */
        code = cudaMemsetAsync(device, 1, size, stream);
    } else if (!strcmp(how, "unregister")) {
        code = cudaHostUnregister(gone);
    }
    int later = cudaStreamSynchronize(stream);
    printf("%d %d", code, later);
    if (!later) {
        /* The address may be registered again, and unregistered once. */
        char *again = mmap(gone, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        cudaHostUnregister(gone);
        OK(cudaHostRegister(again, size, 0));
        OK(cudaMemsetAsync(again, 5, size, stream));
        OK(cudaStreamSynchronize(stream));
        printf(" %d", again[size - 1]);
    }
    printf("\n");
    return 0;
}
