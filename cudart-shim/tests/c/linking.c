/* Linking: PTX with the device code of an object file (this program's own) and with the device runtime's library, whose
 * grid synchronisation is called by name; a limit of registers; the size of a module's constants. */
#include "cuda_api.h"

FAT_BINARY(parts, 70, ".version 7.0\\n.target sm_70\\n.address_size 64\\n"
    ".visible .func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r<3>;\\n"
    " ld.param.b32 %r1, [a]; add.s32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }\\n");

/* Each CTA stores its rank and, behind the grid's barrier, twice what its neighbour has stored. */
static const char caller[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .const .align 4 .b8 table[40];\n"
    ".extern .func (.param .b32 r) twice(.param .b32 a);\n"
    ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 a);\n"
    ".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 a, .param .b32 b);\n"
    ".visible .entry exchange(.param .u64 p) { .reg .pred %q; .reg .b64 %d<5>; .reg .b32 %r<8>;\n"
    " ld.param.u64 %d1, [p]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;\n"
    " mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d1, %d2; st.global.u32 [%d2], %r1;\n"
    " { .param .b32 a; .param .b64 r; st.param.b32 [a], 1;\n"
    " call (r), cudaCGGetIntrinsicHandle, (a); ld.param.b64 %d3, [r]; }\n"
    " { .param .b64 a; .param .b32 b; .param .b32 r; st.param.b64 [a], %d3; st.param.b32 [b], 0;\n"
    " call (r), cudaCGSynchronize, (a, b); ld.param.b32 %r3, [r]; }\n"
    " add.u32 %r4, %r1, 1; rem.u32 %r4, %r4, %r2; mul.wide.u32 %d4, %r4, 4; add.u64 %d4, %d1, %d4;\n"
    " ld.global.u32 %r5, [%d4];\n"
    " { .param .b32 a; .param .b32 r; st.param.b32 [a], %r5; call (r), twice, (a); ld.param.b32 %r6, [r]; }\n"
    " mul.wide.u32 %d4, %r2, 4; add.u64 %d2, %d2, %d4; shl.b32 %r7, %r3, 16; or.b32 %r6, %r6, %r7;\n"
    " st.global.u32 [%d2], %r6; ret; }\n";

enum { CTAS = 12, REGISTERS = 4, CONSTANT_SIZE = 2, MAX_REGISTERS = 0 };

/* A library with a file of the device runtime's name, which is too long for a header. What the file holds does not matter:
 * the vendor's would call the vendor's driver. */
static size_t make_library(char *archive)
{
    const char *header = "%-16s%-12d%-6d%-6d%-8d%-10d`\n%s";
    size_t length = (size_t)sprintf(archive, "!<arch>\n");
    length += (size_t)sprintf(archive + length, header, "//", 0, 0, 0, 0, 24, "cuda_device_runtime.o/\n\n");
    return length + (size_t)sprintf(archive + length, header, "/0", 0, 0, 0, 0, 4, "....");
}

/* A name that nothing defines is found by who puts modules together, if something uses it; functions of the device do not
 * need a definition. */
static void missing_names(void)
{
    static const char missing[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
        ".extern .func nowhere();\n.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
        ".extern .global .align 4 .u32 elsewhere;\n"
        ".visible .entry calls() { call nowhere, (); ret; }\n"
        ".visible .entry reads() { .reg .b32 %r<2>; ld.global.u32 %r1, [elsewhere]; ret; }\n";
    static const char unused[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
        ".extern .func nowhere();\n.extern .global .align 4 .u32 elsewhere;\n.visible .entry nothing() { ret; }\n";
    enum { ERROR_LOG = 5, ERROR_LOG_SIZE = 6 };
    char log[256] = "";
    int options[] = {ERROR_LOG, ERROR_LOG_SIZE};
    void *values[] = {log, (void *)sizeof log};
    CUlinkState link;
    CUmodule module;
    CUlibrary library;
    void *image;

    EXPECT(cuModuleLoadDataEx(&module, missing, 2, options, values), cudaErrorInvalidPtx);
    EXPECT(strstr(log, "Unresolved extern function 'nowhere'") != NULL, 1);
    EXPECT(strstr(log, "Unresolved extern variable 'elsewhere'") != NULL, 1);
    EXPECT(strstr(log, "vprintf") == NULL, 1);
    EXPECT(cuLibraryLoadData(&library, missing, NULL, NULL, 0, NULL, NULL, 0), cudaErrorInvalidPtx);
    OK(cuModuleLoadData(&module, unused));
    OK(cuModuleUnload(module));

    values[1] = (void *)sizeof log;
    OK(cuLinkCreate_v2(2, options, values, &link));
    OK(cuLinkAddData_v2(link, 1, (void *)missing, sizeof missing, "missing", 0, NULL, NULL));
    EXPECT(cuLinkComplete(link, &image, NULL), cudaErrorInvalidKernelImage);
    EXPECT(strstr(log, "Undefined reference to 'nowhere'") != NULL, 1);
    OK(cuLinkDestroy(link));
}

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUlinkState link;
    CUdeviceptr device;
    char archive[256];
    unsigned numbers[2 * CTAS], rank;
    void *image;
    size_t size;
    int value, options[] = {MAX_REGISTERS};
    void *values[] = {(void *)(size_t)3};

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    missing_names();
    OK(cuLinkCreate_v2(1, options, values, &link));
    OK(cuLinkAddData_v2(link, 1, (void *)caller, sizeof caller, "caller", 0, NULL, NULL));
    OK(cuLinkAddFile_v2(link, 3, "/proc/self/exe", 0, NULL, NULL));
    OK(cuLinkAddData_v2(link, 4, archive, make_library(archive), "library", 0, NULL, NULL));
    EXPECT(cuLinkAddData_v2(link, 4, (void *)caller, sizeof caller, "no library", 0, NULL, NULL), cudaErrorInvalidKernelImage);
    EXPECT(cuLinkAddData_v2(link, 99, (void *)caller, sizeof caller, "no kind", 0, NULL, NULL), cudaErrorInvalidValue);
    OK(cuLinkComplete(link, &image, &size));
    OK(cuModuleLoadData(&module, image));
    OK(cuLinkDestroy(link));

    OK(cuModuleGetFunction(&function, module, "exchange"));
    OK(cuFuncGetAttribute(&value, REGISTERS, function));
    EXPECT(value, 3);
    OK(cuFuncGetAttribute(&value, CONSTANT_SIZE, function));
    EXPECT(value, 40);
    OK(cuMemAlloc_v2(&device, sizeof numbers));
    void *pointers[] = {&device};
    OK(cuLaunchCooperativeKernel(function, CTAS, 1, 1, 32, 1, 1, 0, NULL, pointers));
    OK(cuMemcpyDtoH_v2(numbers, device, sizeof numbers));
    for (rank = 0; rank < CTAS; rank++) EXPECT(numbers[CTAS + rank], 2 * ((rank + 1) % CTAS));
    /* Outside of a cooperative launch there is no grid to wait for: 999. */
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL));
    OK(cuMemcpyDtoH_v2(numbers, device, sizeof numbers));
    EXPECT(numbers[1] >> 16, 999);
    OK(cuCtxDestroy_v2(context));
    return 0;
}
