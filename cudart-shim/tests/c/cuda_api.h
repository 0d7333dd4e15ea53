/* The part of the CUDA APIs the tests use, in our own declarations, and a fat binary around PTX text. */
#ifndef CUDA_API_H
#define CUDA_API_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;
typedef struct { size_t width, height, depth; } cudaExtent;
typedef struct { size_t x, y, z; } cudaPos;
typedef struct { void *ptr; size_t pitch, xsize, ysize; } cudaPitchedPtr;
typedef struct {
    void *srcArray; cudaPos srcPos; cudaPitchedPtr srcPtr;
    void *dstArray; cudaPos dstPos; cudaPitchedPtr dstPtr;
    cudaExtent extent; int kind;
} cudaMemcpy3DParms;
typedef struct { int type, device; void *devicePointer, *hostPointer; char rest[64]; } cudaPointerAttributes;
typedef struct {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes, carveout;
    int rest[22];
} cudaFuncAttributes;
typedef void *cudaStream_t, *cudaEvent_t, *cudaKernel_t, *cudaMemPool_t;
typedef void (*cudaHostFn_t)(void *);
typedef void *cudaArray_t, *cudaMipmappedArray_t;
typedef uint64_t cudaTextureObject_t, cudaSurfaceObject_t;
typedef struct { int x, y, z, w, f; } cudaChannelFormatDesc;
/* As CUDA 13 has them; CUDA 11's end after the union, and before `seamlessCubemap`. */
typedef struct {
    int resType;
    union {
        void *array, *mipmap;
        struct { void *devPtr; cudaChannelFormatDesc desc; size_t sizeInBytes; } linear;
        struct { void *devPtr; cudaChannelFormatDesc desc; size_t width, height, pitchInBytes; } pitch2D;
        int reserved[32];
    } res;
    unsigned flags;
} cudaResourceDesc;
typedef struct {
    int addressMode[3], filterMode, readMode, sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
} cudaTextureDesc;

enum {
    cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInitializationError = 3,
    cudaErrorInvalidConfiguration = 9, cudaErrorInvalidPitchValue = 12, cudaErrorInvalidSymbol = 13,
    cudaErrorInvalidTexture = 18, cudaErrorInvalidTextureBinding = 19, cudaErrorInvalidChannelDescriptor = 20,
    cudaErrorInvalidMemcpyDirection = 21, cudaErrorInvalidFilterSetting = 26, cudaErrorInvalidNormSetting = 27,
    cudaErrorInvalidSurface = 37, cudaErrorInvalidDeviceFunction = 98, cudaErrorInvalidDevice = 101,
    cudaErrorInvalidKernelImage = 200, cudaErrorDeviceUninitialized = 201, cudaErrorNoKernelImageForDevice = 209,
    cudaErrorInvalidPtx = 218, cudaErrorInvalidResourceHandle = 400, cudaErrorSymbolNotFound = 500,
    cudaErrorNotReady = 600, cudaErrorLaunchTimeout = 702, cudaErrorIllegalAddress = 700, cudaErrorHostMemoryAlreadyRegistered = 712,
    cudaErrorHostMemoryNotRegistered = 713, cudaErrorHardwareStackError = 714, cudaErrorMisalignedAddress = 716,
    cudaErrorLaunchFailure = 719, cudaErrorNotPermitted = 800,
    cudaErrorNotSupported = 801,
};
enum { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };

int cudaGetLastError(void);
int cudaPeekAtLastError(void);
const char *cudaGetErrorName(int);
const char *cudaGetErrorString(int);
int cudaGetDeviceCount(int *);
int cudaGetDevice(int *);
int cudaSetDevice(int);
int cudaDeviceReset(void);
int cudaDeviceSynchronize(void);
int cudaDeviceGetAttribute(int *, int, int);
int cudaGetDeviceProperties(void *, int);
int cudaDeviceGetLimit(size_t *, int);
int cudaDeviceSetLimit(int, size_t);
int cudaRuntimeGetVersion(int *);
int cudaDriverGetVersion(int *);
int cudaMalloc(void **, size_t);
int cudaMallocHost(void **, size_t);
int cudaMallocManaged(void **, size_t, unsigned);
int cudaMallocPitch(void **, size_t *, size_t, size_t);
int cudaMallocAsync(void **, size_t, cudaStream_t);
int cudaFree(void *);
int cudaFreeHost(void *);
int cudaFreeAsync(void *, cudaStream_t);
int cudaHostAlloc(void **, size_t, unsigned);
int cudaHostRegister(void *, size_t, unsigned);
int cudaHostUnregister(void *);
int cudaHostGetDevicePointer(void **, void *, unsigned);
int cudaMemGetInfo(size_t *, size_t *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpyAsync(void *, const void *, size_t, int, cudaStream_t);
int cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
int cudaMemcpy3D(const cudaMemcpy3DParms *);
int cudaMemset(void *, int, size_t);
int cudaMemset2D(void *, size_t, int, size_t, size_t);
cudaChannelFormatDesc cudaCreateChannelDesc(int, int, int, int, int);
int cudaMallocArray(cudaArray_t *, const cudaChannelFormatDesc *, size_t, size_t, unsigned);
int cudaMalloc3DArray(cudaArray_t *, const cudaChannelFormatDesc *, cudaExtent, unsigned);
int cudaMallocMipmappedArray(cudaMipmappedArray_t *, const cudaChannelFormatDesc *, cudaExtent, unsigned, unsigned);
int cudaGetMipmappedArrayLevel(cudaArray_t *, cudaMipmappedArray_t, unsigned);
int cudaFreeArray(cudaArray_t);
int cudaFreeMipmappedArray(cudaMipmappedArray_t);
int cudaArrayGetInfo(cudaChannelFormatDesc *, cudaExtent *, unsigned *, cudaArray_t);
int cudaGetChannelDesc(cudaChannelFormatDesc *, cudaArray_t);
int cudaMemcpyToArray(cudaArray_t, size_t, size_t, const void *, size_t, int);
int cudaMemcpyFromArray(void *, cudaArray_t, size_t, size_t, size_t, int);
int cudaMemcpyArrayToArray(cudaArray_t, size_t, size_t, cudaArray_t, size_t, size_t, size_t, int);
int cudaMemcpy2DToArray(cudaArray_t, size_t, size_t, const void *, size_t, size_t, size_t, int);
int cudaMemcpy2DFromArray(void *, size_t, cudaArray_t, size_t, size_t, size_t, size_t, int);
int cudaMemcpy2DArrayToArray(cudaArray_t, size_t, size_t, cudaArray_t, size_t, size_t, size_t, size_t, int);
int cudaCreateTextureObject(cudaTextureObject_t *, const cudaResourceDesc *, const cudaTextureDesc *, const void *);
int cudaDestroyTextureObject(cudaTextureObject_t);
int cudaGetTextureObjectResourceDesc(cudaResourceDesc *, cudaTextureObject_t);
int cudaGetTextureObjectTextureDesc(cudaTextureDesc *, cudaTextureObject_t);
int cudaCreateSurfaceObject(cudaSurfaceObject_t *, const cudaResourceDesc *);
int cudaDestroySurfaceObject(cudaSurfaceObject_t);
int cudaGetSurfaceObjectResourceDesc(cudaResourceDesc *, cudaSurfaceObject_t);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int cudaMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
int cudaGetSymbolSize(size_t *, const void *);
int cudaPointerGetAttributes(cudaPointerAttributes *, const void *);
int cudaFuncGetAttributes(cudaFuncAttributes *, const void *);
int cudaFuncSetAttribute(const void *, int, int);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
int cudaStreamCreate(cudaStream_t *);
int cuStreamGetId(cudaStream_t, unsigned long long *);
int cudaStreamCreateWithFlags(cudaStream_t *, unsigned);
int cudaStreamDestroy(cudaStream_t);
int cudaStreamSynchronize(cudaStream_t);
int cudaStreamQuery(cudaStream_t);
int cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
int cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t, void *);
int cudaEventCreate(cudaEvent_t *);
int cudaEventCreateWithFlags(cudaEvent_t *, unsigned);
int cudaEventDestroy(cudaEvent_t);
int cudaEventRecord(cudaEvent_t, cudaStream_t);
int cudaEventSynchronize(cudaEvent_t);
int cudaEventQuery(cudaEvent_t);
int cudaEventElapsedTime(float *, cudaEvent_t, cudaEvent_t);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
int __cudaGetKernel(cudaKernel_t *, const void *);
int __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, cudaStream_t);
int __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, cudaStream_t *);
int cudaGetDriverEntryPointByVersion(const char *, void **, unsigned, unsigned long long, int *);
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
void __cudaRegisterManagedVar(void **, void **, char *, const char *, int, size_t, int, int);
char __cudaInitModule(void **);
void __cudaRegisterTexture(void **, const void *, const void **, const char *, int, int, int);
void __cudaRegisterSurface(void **, const void *, const void **, const char *, int, int);
void __cudaUnregisterFatBinary(void **);

typedef uint64_t CUdeviceptr;
typedef void *CUcontext, *CUmodule, *CUlibrary, *CUkernel, *CUfunction, *CUlinkState, *CUarray, *CUtexref, *CUsurfref;
typedef struct { size_t Width, Height; int Format; unsigned NumChannels; } CUDA_ARRAY_DESCRIPTOR;
typedef struct { size_t Width, Height, Depth; int Format; unsigned NumChannels, Flags; } CUDA_ARRAY3D_DESCRIPTOR;
typedef struct {
    size_t srcXInBytes, srcY; int srcMemoryType; const void *srcHost; CUdeviceptr srcDevice; CUarray srcArray; size_t srcPitch;
    size_t dstXInBytes, dstY; int dstMemoryType; void *dstHost; CUdeviceptr dstDevice; CUarray dstArray; size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;
typedef struct {
    int resType;
    union {
        void *array;
        struct { CUdeviceptr devPtr; int format; unsigned numChannels; size_t sizeInBytes; } linear;
        int reserved[32];
    } res;
    unsigned flags;
} CUDA_RESOURCE_DESC;
typedef struct {
    int addressMode[3], filterMode; unsigned flags, maxAnisotropy; int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp, borderColor[4];
    int reserved[12];
} CUDA_TEXTURE_DESC;
int cuArrayCreate_v2(CUarray *, const CUDA_ARRAY_DESCRIPTOR *);
int cuArray3DCreate_v2(CUarray *, const CUDA_ARRAY3D_DESCRIPTOR *);
int cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *, CUarray);
int cuArrayDestroy(CUarray);
int cuMemcpyHtoA_v2(CUarray, size_t, const void *, size_t);
int cuMemcpyAtoH_v2(void *, CUarray, size_t, size_t);
int cuMemcpyDtoA_v2(CUarray, size_t, CUdeviceptr, size_t);
int cuMemcpyAtoD_v2(CUdeviceptr, CUarray, size_t, size_t);
int cuMemcpyAtoA_v2(CUarray, size_t, CUarray, size_t, size_t);
int cuMemcpy2D_v2(const CUDA_MEMCPY2D *);
int cuModuleGetTexRef(CUtexref *, CUmodule, const char *);
int cuModuleGetSurfRef(CUsurfref *, CUmodule, const char *);
int cuTexRefSetArray(CUtexref, CUarray, unsigned);
int cuTexRefGetArray(CUarray *, CUtexref);
int cuTexRefSetAddress_v2(size_t *, CUtexref, CUdeviceptr, size_t);
int cuTexRefSetFormat(CUtexref, int, int);
int cuTexRefSetAddressMode(CUtexref, int, int);
int cuTexRefSetFilterMode(CUtexref, int);
int cuTexRefSetFlags(CUtexref, unsigned);
int cuTexRefGetFlags(unsigned *, CUtexref);
int cuParamSetTexRef(CUfunction, int, CUtexref);
int cuSurfRefSetArray(CUsurfref, CUarray, unsigned);
int cuTexObjectCreate(uint64_t *, const CUDA_RESOURCE_DESC *, const CUDA_TEXTURE_DESC *, const void *);
int cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *, uint64_t);
int cuTexObjectDestroy(uint64_t);
int cuInit(unsigned);
int cuDriverGetVersion(int *);
int cuDeviceGet(int *, int);
int cuDeviceGetName(char *, int, int);
int cuDeviceTotalMem_v2(size_t *, int);
int cuDevicePrimaryCtxRetain(CUcontext *, int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuDevicePrimaryCtxGetState(int, unsigned *, int *);
int cuCtxCreate_v2(CUcontext *, unsigned, int);
int cuCtxDestroy_v2(CUcontext);
int cuCtxSetCurrent(CUcontext);
int cuCtxGetCurrent(CUcontext *);
int cuCtxGetId(CUcontext, unsigned long long *);
int cuCtxPushCurrent_v2(CUcontext);
int cuCtxPopCurrent_v2(CUcontext *);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(CUdeviceptr *, size_t);
int cuMemFree_v2(CUdeviceptr);
int cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t);
int cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
int cuMemsetD32_v2(CUdeviceptr, unsigned, size_t);
int cuMemGetAddressRange_v2(CUdeviceptr *, size_t *, CUdeviceptr);
int cuPointerGetAttribute(void *, int, CUdeviceptr);
int cuModuleLoadData(CUmodule *, const void *);
int cuModuleLoadDataEx(CUmodule *, const void *, unsigned, int *, void **);
int cuModuleUnload(CUmodule);
int cuModuleGetFunction(CUfunction *, CUmodule, const char *);
int cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule, const char *);
int cuFuncGetAttribute(int *, int, CUfunction);
int cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cudaLibraryLoadData(CUlibrary *, const void *, int *, void **, unsigned, int *, void **, unsigned);
int cudaGetFuncBySymbol(CUfunction *, const void *);
int cuLibraryLoadData(CUlibrary *, const void *, int *, void **, unsigned, int *, void **, unsigned);
int cuLibraryUnload(CUlibrary);
int cuLibraryGetKernel(CUkernel *, CUlibrary, const char *);
int cuLibraryGetModule(CUmodule *, CUlibrary);
int cuLibraryGetGlobal(CUdeviceptr *, size_t *, CUlibrary, const char *);
int cuLibraryGetManaged(CUdeviceptr *, size_t *, CUlibrary, const char *);
int cuKernelGetFunction(CUfunction *, CUkernel);
int cuKernelGetLibrary(CUlibrary *, CUkernel);
int cuKernelSetAttribute(int, int, CUkernel, int);
int cuKernelGetAttribute(int *, int, CUkernel, int);
int cuLaunchCooperativeKernelMultiDevice(void *, unsigned, unsigned);
int cuLaunchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **);
int cuLinkCreate_v2(unsigned, int *, void **, CUlinkState *);
int cuLinkAddData_v2(CUlinkState, int, void *, size_t, const char *, unsigned, int *, void **);
int cuLinkAddFile_v2(CUlinkState, int, const char *, unsigned, int *, void **);
int cuLinkComplete(CUlinkState, void **, size_t *);
int cuLinkDestroy(CUlinkState);
int cuGetProcAddress_v2(const char *, void **, int, uint64_t, int *);
int cuGetErrorName(int, const char **);
int cuGetErrorString(int, const char **);
int cuGetExportTable(const void **, const void *);

/* Fails the test with the place and both values. */
#define EXPECT(actual, expected)                                                                              \
    do {                                                                                                      \
        long long actual_ = (long long)(actual), expected_ = (long long)(expected);                           \
        if (actual_ != expected_) {                                                                           \
            fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", __FILE__, __LINE__, #actual, actual_, expected_); \
            exit(1);                                                                                          \
        }                                                                                                     \
    } while (0)
#define OK(call) EXPECT(call, 0)

/* Puts PTX text (a string literal) into a fat binary and makes `name##_wrapper` for __cudaRegisterFatBinary. */
#define FAT_BINARY(name, architecture, text)                                                                  \
    __asm__(".pushsection .nv_fatbin,\"a\"\n.balign 8\n" #name ":\n.long 0xba55ed50\n.short 1, 16\n"          \
            ".quad " #name "_end - " #name "_entry\n" #name "_entry:\n.short 1, 0x0101\n.long 64\n"           \
            ".quad " #name "_end - " #name "_text\n.long 0, 0\n.short 0, 7\n.long " #architecture "\n"        \
            ".long 0, 0\n.quad 0x11, 0, 0\n" #name "_text:\n.popsection\n");                                  \
    __asm__(".pushsection .nv_fatbin,\"a\"\n.ascii \"" text "\"\n.byte 0\n.balign 8\n" #name "_end:\n.popsection\n");\
    extern const char name[];                                                                                 \
    static struct { uint32_t magic, version; const void *data; const void *more; } name##_wrapper             \
        __attribute__((section(".nvFatBinSegment"), unused)) = {0x466243b1, 1, name, 0}

/* PTX: kernel `add_one` adds 1 to `count` numbers; `store` stores its argument to the variable `answer`; `wild` stores to
 * address 16. Newlines are spelled for the assembler's string. */
#define KERNELS                                                                                               \
    ".version 7.0\\n.target sm_70\\n.address_size 64\\n"                                                      \
    ".visible .global .align 4 .u32 answer = 7;\\n"                                                           \
    ".visible .entry add_one(.param .u64 numbers, .param .u32 count) {\\n"                                    \
    " .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<4>;\\n"                                                    \
    " ld.param.u64 %d1, [numbers]; ld.param.u32 %r1, [count];\\n"                                             \
    " mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;\\n"    \
    " setp.ge.u32 %p, %r5, %r1; @%p bra done;\\n"                                                             \
    " cvta.to.global.u64 %d1, %d1; mul.wide.u32 %d2, %r5, 4; add.s64 %d3, %d1, %d2;\\n"                       \
    " ld.global.u32 %r1, [%d3]; add.s32 %r1, %r1, 1; st.global.u32 [%d3], %r1;\\n"                            \
    "done: ret; }\\n"                                                                                         \
    ".visible .entry store(.param .u32 value) {\\n"                                                           \
    " .reg .b32 %r<2>; ld.param.u32 %r1, [value]; st.global.u32 [answer], %r1; ret; }\\n"                     \
    ".visible .entry wild() { .reg .b64 %d<2>; .reg .b32 %r<2>;\\n"                                           \
    " mov.u64 %d1, 16; mov.u32 %r1, 1; st.global.u32 [%d1], %r1; ret; }\\n"                                   \
    ".visible .entry unknown() { frobnicate.u32 1; ret; }\\n"

#endif
