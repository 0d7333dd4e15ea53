/* PTX that a program hands over is judged when it is loaded: each error is told in the log; an instruction that is legal and
 * does not run leaves the module's other kernels usable. */
#include "cuda_api.h"

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"
#define KERNEL(body) ".visible .entry k() { .reg .b32 %r<4>; .reg .f64 %f<2>; " body " ret; }\n"

enum {
    WALL_TIME = 2, INFO_LOG = 3, INFO_LOG_SIZE = 4, ERROR_LOG = 5, ERROR_LOG_SIZE = 6, LOG_VERBOSE = 12,
    cudaErrorUnsupportedPtxVersion = 222
};

static const struct { const char *text, *said; int error; } bad[] = {
    {HEAD KERNEL("frobnicate.u32 %r1, %r2;"), "line 4; error   : ", cudaErrorInvalidPtx},
    {HEAD KERNEL("add.sideways.u32 %r1, %r2, %r3;"), "sideways", cudaErrorInvalidPtx},
    {HEAD KERNEL("add.u32 %r1, %f1, %r2;"), "%f1", cudaErrorInvalidPtx},
    {HEAD KERNEL("add.u32 %r1, %r2;"), "add.u32", cudaErrorInvalidPtx},
    {HEAD KERNEL("add.u32 %r1, %r2, nowhere;"), "nowhere", cudaErrorInvalidPtx},
    {HEAD KERNEL("bra nowhere;"), "nowhere", cudaErrorInvalidPtx},
    {HEAD KERNEL(".shared .b8 much[60000];"), "too much shared data (0xea60 bytes, 0xc000 max)", cudaErrorInvalidPtx},
    {HEAD ".shared .b8 much[60000];\n" KERNEL("st.shared.u32 [much], 1;"), "too much shared data (0xea60 bytes, 0xc000 max)", cudaErrorInvalidPtx},
    {HEAD ".shared .b8 one[30000];\n.shared .b8 two[30000];\n.func f() { st.shared.u32 [two], 1; ret; }\n"
     KERNEL("st.shared.u32 [one], 1; call f;"), "too much shared data (0xea60 bytes, 0xc000 max)", cudaErrorInvalidPtx},
    {HEAD ".visible .entry (.param .b32 r) k() { ret; }\n", "fatal   : ", cudaErrorInvalidPtx},
    {HEAD ".const .b8 much[65537];\n" KERNEL(""), "too much global constant data", cudaErrorInvalidPtx},
    {HEAD KERNEL("") KERNEL(""), "twice", cudaErrorInvalidPtx},
    {HEAD ".frobnicate 3;\n" KERNEL(""), "line 4; error   : ", cudaErrorInvalidPtx},
    {HEAD KERNEL("") ".func unused() { frobnicate; }\n", "line 5; error   : ", cudaErrorInvalidPtx},
    {HEAD KERNEL("mov.u32 %r1, 1"), "line 4", cudaErrorInvalidPtx},
    {HEAD ".visible .entry k() { ret;\n", "fatal   : ", cudaErrorInvalidPtx},
    {".version 99.9\n.target sm_70\n" KERNEL(""), "line 1; fatal   : Unsupported .version 99.9", cudaErrorUnsupportedPtxVersion},
    {".version 7.0\n.target sm_999\n" KERNEL(""), "line 2; fatal   : Unsupported .target 'sm_999'", cudaErrorInvalidPtx},
    {".version 7.0\n.target sm_90\n" KERNEL(""), "sm_90", cudaErrorInvalidPtx},
    {".version 7.0\n.target sm_70\n.address_size 32\n" KERNEL(""), ".address_size 32", cudaErrorInvalidPtx},
};

/* The log's size is that of its text. */
static void expect_log(const char *log, size_t size, const char *said)
{
    if (!strstr(log, said) || strlen(log) != size || !strstr(log, "ptxas ")) {
        fprintf(stderr, "%s\nlacks: %s (%zu)\n", log, said, size);
        exit(1);
    }
}

static void refused(const char *text, const char *said, int error)
{
    char log[1000] = "";
    int options[] = {ERROR_LOG, ERROR_LOG_SIZE};
    void *values[] = {log, (void *)sizeof log};
    CUmodule module;
    CUlibrary library;
    CUlinkState link;

    EXPECT(cuModuleLoadData(&module, text), error);
    EXPECT(cuModuleLoadDataEx(&module, text, 2, options, values), error);
    expect_log(log, (size_t)values[1], said);
    log[0] = 0;
    values[1] = (void *)sizeof log;
    EXPECT(cuLibraryLoadData(&library, text, options, values, 2, NULL, NULL, 0), error);
    expect_log(log, (size_t)values[1], said);
    EXPECT(cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0), error);
    log[0] = 0;
    values[1] = (void *)sizeof log;
    OK(cuLinkCreate_v2(2, options, values, &link));
    EXPECT(cuLinkAddData_v2(link, 1, (void *)text, strlen(text), "text", 0, NULL, NULL), error);
    expect_log(log, (size_t)values[1], said);
    OK(cuLinkDestroy(link));
    /* An input has options of its own. */
    log[0] = 0;
    values[1] = (void *)sizeof log;
    OK(cuLinkCreate_v2(0, NULL, NULL, &link));
    EXPECT(cuLinkAddData_v2(link, 1, (void *)text, strlen(text), "text", 2, options, values), error);
    expect_log(log, (size_t)values[1], said);
    OK(cuLinkDestroy(link));
    /* The text is cut off where the buffer ends. */
    values[1] = (void *)(size_t)10;
    EXPECT(cuModuleLoadDataEx(&module, text, 2, options, values), error);
    EXPECT((int)(size_t)values[1], 9);
    EXPECT((int)strlen(log), 9);
}

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    char log[1000] = "x", errors[10] = "x";
    int options[] = {INFO_LOG, INFO_LOG_SIZE, ERROR_LOG, ERROR_LOG_SIZE, LOG_VERBOSE};
    void *values[] = {log, (void *)sizeof log, errors, (void *)sizeof errors, (void *)1};
    static const char missing[] = ".version 8.6\n.target sm_100a\n.address_size 64\n"
        ".visible .entry refused() { tcgen05.wait::ld.sync.aligned; ret; }\n.visible .entry runs() { ret; }\n";

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) refused(bad[i].text, bad[i].said, bad[i].error);

    OK(cuModuleLoadDataEx(&module, missing, 5, options, values));
    EXPECT(strlen(errors) == 0 && values[3] == NULL, 1);
    expect_log(log, (size_t)values[1], "Compiling entry function 'runs' for 'sm_70'");
    OK(cuModuleGetFunction(&function, module, "runs"));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    OK(cuModuleGetFunction(&function, module, "refused"));
    EXPECT(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) != 0, 1);
    OK(cuModuleUnload(module));
    OK(cuCtxDestroy_v2(context));
    return 0;
}
