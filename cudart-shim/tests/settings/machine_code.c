/* A kernel that exists only as machine code: it can be set up, its launches are refused, and the texts of the error name it.
   Writes the runtime's text, cuDNN's for a failed launch and for something unsupported where there is a cuDNN, and where
   there is a Python has it told of an exception with a status of cuBLAS, and of another one. */
#define _GNU_SOURCE
#include "../c/cuda_api.h"
#include <dlfcn.h>
#include <elf.h>

/* A cubin with a kernel called `store`, in a container with one entry, for sm_70. */
static struct {
    struct { unsigned magic; unsigned short version, header_size; uint64_t size; } container;
    struct {
        unsigned short kind, version;
        unsigned header_size;
        uint64_t payload_size;
        unsigned compressed_size, options, minor_major, architecture, name, name_length;
        uint64_t flags, unused, uncompressed_size;
    } entry;
    struct {
        Elf64_Ehdr header;
        Elf64_Shdr sections[4];
        Elf64_Sym symbols[2];
        char names[32];
        char code[16];
    } cubin;
} binary;

static void fill(void)
{
    static const char names[] = "\0store\0.text.store";
    size_t start = offsetof(__typeof__(binary.cubin), symbols);
    __typeof__(binary.cubin) *cubin = &binary.cubin;

    binary.container.magic = 0xba55ed50;
    binary.container.version = 1;
    binary.container.header_size = 16;
    binary.container.size = sizeof binary.entry + sizeof *cubin;
    binary.entry.kind = 2;
    binary.entry.version = 0x0101;
    binary.entry.header_size = sizeof binary.entry;
    binary.entry.payload_size = sizeof *cubin;
    binary.entry.architecture = 70;
    binary.entry.flags = 0x11;

    memcpy(cubin->header.e_ident, ELFMAG, SELFMAG);
    cubin->header.e_ident[EI_CLASS] = ELFCLASS64;
    cubin->header.e_ident[EI_DATA] = ELFDATA2LSB;
    cubin->header.e_ident[EI_VERSION] = EV_CURRENT;
    cubin->header.e_type = ET_EXEC;
    cubin->header.e_machine = EM_CUDA;
    cubin->header.e_version = EV_CURRENT;
    cubin->header.e_ehsize = sizeof cubin->header;
    cubin->header.e_shoff = offsetof(__typeof__(*cubin), sections);
    cubin->header.e_shentsize = sizeof cubin->sections[0];
    cubin->header.e_shnum = 4;
    cubin->header.e_shstrndx = 2;
    cubin->sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_offset = start, .sh_size = sizeof cubin->symbols,
                                      .sh_link = 2, .sh_info = 1, .sh_entsize = sizeof cubin->symbols[0]};
    cubin->sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = start + sizeof cubin->symbols,
                                      .sh_size = sizeof cubin->names};
    cubin->sections[3] = (Elf64_Shdr){.sh_name = 7, .sh_type = SHT_PROGBITS, .sh_size = sizeof cubin->code,
                                      .sh_offset = offsetof(__typeof__(*cubin), code)};
    cubin->symbols[1] = (Elf64_Sym){.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_other = 0x10,
                                    .st_shndx = 3, .st_size = sizeof cubin->code};
    memcpy(cubin->names, names, sizeof names);
}

static void store(void) {}

int main(void)
{
    static struct { unsigned magic, version; const void *data, *more; } wrapper = {0x466243b1, 1, &binary, NULL};
    dim3 one = {1, 1, 1};
    const char *(*cudnn_text)(int) = (const char *(*)(int))dlsym(RTLD_DEFAULT, "cudnnGetErrorString");
    void (*set_error)(void *, const char *) = (void (*)(void *, const char *))dlsym(RTLD_DEFAULT, "PyErr_SetString");

    fill();
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, (char *)store, "store", "store", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    OK(strcmp(cudaGetErrorString(209), "no kernel image is available for execution on the device"));
    OK(cudaFuncSetAttribute(store, 8, 1024));
    for (int time = 0; time < 2; ++time) {
        EXPECT(cudaLaunchKernel(store, one, one, NULL, 0, NULL), 209);
        EXPECT(cudaGetLastError(), 209);
    }
    OK(cudaDeviceSynchronize());
    puts(cudaGetErrorString(209));
    if (cudnn_text) {
        puts(cudnn_text(8));
        puts(cudnn_text(9));
    }
    if (set_error) {
        set_error(NULL, "CUBLAS_STATUS_EXECUTION_FAILED");
        set_error(NULL, "index out of range");
    }
    return 0;
}
