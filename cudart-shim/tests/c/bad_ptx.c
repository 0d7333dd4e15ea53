/* A mistake in a kernel is an error of its launch, neither sticky nor one of the module's other kernels; what cannot be
 * taken apart into kernels is an error of all. */
#include "cuda_api.h"

#define HEAD ".version 7.0\\n.target sm_70\\n.address_size 64\\n"
#define DECLARATIONS " .reg .pred %p; .reg .b32 %r<4>; .reg .f64 %f<2>; "

FAT_BINARY(kernels, 70,
    HEAD
    ".visible .entry good() { ret; }\\n"
    ".visible .entry unknown_opcode() {" DECLARATIONS "frobnicate.u32 %r1, %r2; ret; }\\n"
    ".visible .entry unknown_modifier() {" DECLARATIONS "add.sideways.u32 %r1, %r2, %r3; ret; }\\n"
    ".visible .entry unknown_directive() { .frobnicate 3; ret; }\\n"
    ".visible .entry wrong_type() {" DECLARATIONS "add.u32 %r1, %f1, %r2; ret; }\\n"
    ".visible .entry missing_operand() {" DECLARATIONS "add.u32 %r1, %r2; ret; }\\n"
    ".visible .entry missing_label() { bra nowhere; }\\n"
    ".visible .entry missing_register() { mov.u32 %r1, 1; ret; }\\n"
    ".visible .entry missing_variable() {" DECLARATIONS "ld.global.u32 %r1, [nowhere]; ret; }\\n"
    ".visible .entry missing_function() { call nowhere; ret; }\\n"
    ".visible .entry many_parameters(.param .b8 large[40000]) { ret; }\\n"
    ".visible .entry much_local() {" DECLARATIONS ".local .b8 large[1000000000]; ld.local.u8 %r1, [large]; ret; }\\n"
    ".visible .entry much_shared() {" DECLARATIONS ".shared .b8 large[60000]; ld.shared.u8 %r1, [large]; ret; }\\n");
FAT_BINARY(directive, 70, HEAD ".frobnicate 3;\\n.visible .entry beside_a_directive() { ret; }\\n");
FAT_BINARY(constants, 70, HEAD ".const .b8 large[65537];\\n.visible .entry beside_constants() { ret; }\\n");
FAT_BINARY(unclosed, 70, HEAD ".visible .entry unclosed() { ret;\\n");

static const char *const bad[] = {
    "unknown_opcode", "unknown_modifier", "unknown_directive", "wrong_type", "missing_operand",
    "missing_label", "missing_register", "missing_variable", "missing_function",
    "many_parameters", "much_local", "much_shared",
};
enum { COUNT = sizeof bad / sizeof *bad };
static char good, stubs[COUNT];

static int launch(const char *stub)
{
    dim3 one = {1, 1, 1};
    return cudaLaunchKernel(stub, one, one, NULL, 0, NULL);
}

/* The error of a kernel in a fat binary of its own. */
static int error_of(void *wrapper, char *name)
{
    char stub;
    void **handle = __cudaRegisterFatBinary(wrapper);
    __cudaRegisterFunction(handle, &stub, name, name, -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    int error = launch(&stub);
    __cudaUnregisterFatBinary(handle);
    return error;
}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    __cudaRegisterFunction(handle, &good, "good", "good", -1, 0, 0, 0, 0, 0);
    for (int i = 0; i < COUNT; ++i)
        __cudaRegisterFunction(handle, &stubs[i], (char *)bad[i], bad[i], -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);

    for (int i = 0; i < COUNT; ++i) {
        int error = launch(&stubs[i]);
        if (error != cudaErrorInvalidPtx) {
            fprintf(stderr, "%s: %d\n", bad[i], error);
            return 1;
        }
        EXPECT(cudaGetLastError(), cudaErrorInvalidPtx);
        OK(launch(&good));
        OK(cudaDeviceSynchronize());
    }
    OK(error_of(&directive_wrapper, "beside_a_directive"));
    EXPECT(error_of(&constants_wrapper, "beside_constants"), cudaErrorInvalidPtx);
    EXPECT(error_of(&unclosed_wrapper, "unclosed"), cudaErrorInvalidPtx);
    cudaGetLastError();
    OK(launch(&good));
    OK(cudaDeviceSynchronize());
    EXPECT(cudaGetLastError(), cudaSuccess);
    return 0;
}
