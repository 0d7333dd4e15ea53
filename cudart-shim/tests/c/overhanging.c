/* A vector load that begins in an allocation and ends behind it: allowed in device memory, which is handed out in larger units,
 * and an illegal address in registered memory, behind which the program's own bytes lie. */
#include "cuda_api.h"

#define LOAD                                                                                                  \
    ".version 7.0\n.target sm_70\n.address_size 64\n"                                                         \
    ".visible .entry load(.param .u64 from, .param .u64 to) { .reg .b64 %f, %t; .reg .b32 %r<4>;\n"            \
    " ld.param.u64 %f, [from]; ld.param.u64 %t, [to];\n"                                                      \
    " ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%f]; st.global.u32 [%t], %r0; ret; }\n"

int main(void)
{
    static char secret[64] __attribute__((aligned(32)));
    void *from, *to, *arguments[] = {&from, &to}, *module, *function;

    OK(cudaMalloc(&to, 4));
    OK(cudaMalloc(&from, 8));
    OK(cuModuleLoadData(&module, LOAD));
    OK(cuModuleGetFunction(&function, module, "load"));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    OK(cudaDeviceSynchronize());
    from = secret;
    OK(cudaHostRegister(secret, 16, 0));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaHostUnregister(secret));
    OK(cudaHostRegister(secret, 8, 0));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    return 0;
}
