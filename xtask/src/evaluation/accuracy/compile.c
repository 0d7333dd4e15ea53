/* Compiles CUDA C++ to PTX with NVRTC. Arguments: library, source, PTX to write, options. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*Create)(void **, const char *, const char *, int, const char **, const char **);
typedef int (*Compile)(void *, int, const char **);
typedef int (*Size)(void *, size_t *);
typedef int (*Text)(void *, char *);

static void *library;

static void *function(const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static char *text(void *program, const char *size_of, const char *text_of, size_t *bytes)
{
    ((Size)function(size_of))(program, bytes);
    char *found = calloc(*bytes + 1, 1);
    ((Text)function(text_of))(program, found);
    return found;
}

int main(int count, char **words)
{
    void *program;
    size_t bytes;

    if (count < 4)
        return 2;
    library = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    FILE *file = fopen(words[2], "rb");
    if (file == NULL) {
        perror(words[2]);
        return 1;
    }
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    char *source = calloc((size_t)size + 1, 1);
    if (fread(source, 1, (size_t)size, file) != (size_t)size)
        return 1;
    fclose(file);
    int result = ((Create)function("nvrtcCreateProgram"))(&program, source, words[2], 0, NULL, NULL);
    if (result == 0)
        result = ((Compile)function("nvrtcCompileProgram"))(program, count - 4, (const char **)words + 4);
    if (result != 0) {
        fputs(text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog", &bytes), stderr);
        return 1;
    }
    const char *ptx = text(program, "nvrtcGetPTXSize", "nvrtcGetPTX", &bytes);
    FILE *out = fopen(words[3], "wb");
    if (out == NULL || fputs(ptx, out) < 0 || fclose(out) != 0) {
        perror(words[3]);
        return 1;
    }
    return 0;
}
