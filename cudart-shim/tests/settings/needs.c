/* Calls each function of the driver as its line of the API table says. The table `calls` comes before this text. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;
typedef unsigned long word;
typedef int (*call)(word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word);
enum { SUCCESS = 0, NOT_INITIALIZED = 3, INVALID_CONTEXT = 201, CONTEXT_IS_DESTROYED = 709 };

int cuInit(unsigned);
int cuCtxCreate_v2(handle *, unsigned, int);
int cuCtxDestroy_v2(handle);
int cuCtxPopCurrent_v2(handle *);
int cuCtxPushCurrent_v2(handle);
int cuCtxGetCurrent(handle *);
int cuStreamCreate(handle *, unsigned);

static int failures;

static void fail(const struct line *line, const char *where, int code)
{
    fprintf(stderr, "%s (%s) %s: %d\n", line->name, line->need, where, code);
    failures++;
}

/* The call with zeros, but for a stream and a context where it takes them. */
static int with(const struct line *line, handle stream, handle context)
{
    word words[20] = {0};
    call function = (call)dlsym(RTLD_DEFAULT, line->name);

    for (int index = 0; index < 20; index++)
        if (line->streams >> index & 1)
            words[index] = (word)stream;
        else if (line->contexts >> index & 1)
            words[index] = (word)context;
    if (!function)
        abort();
    return function(words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7], words[8], words[9],
                    words[10], words[11], words[12], words[13], words[14], words[15], words[16], words[17], words[18], words[19]);
}

static int is(const struct line *line, const char *need) { return strcmp(line->need, need) == 0; }

static void without_context(const struct line *line)
{
    handle context, stream, current;
    int code;

    if (is(line, "current") || is(line, "stack") || (is(line, "stream") && line->streams))
        if ((code = with(line, NULL, NULL)) != INVALID_CONTEXT)
            fail(line, "without a context", code);
    if (is(line, "current") || is(line, "stack"))
        return;
    if (cuCtxCreate_v2(&context, 0, 0) || cuStreamCreate(&stream, 1) || cuCtxPopCurrent_v2(NULL))
        abort();
    if ((code = with(line, stream, context)) == INVALID_CONTEXT || code == NOT_INITIALIZED)
        fail(line, "without a context, with an object", code);
    while (cuCtxGetCurrent(&current) == SUCCESS && current)
        cuCtxPopCurrent_v2(NULL);
    cuCtxDestroy_v2(context);
}

static void *destroy(void *context)
{
    if (cuCtxDestroy_v2(context))
        abort();
    return NULL;
}

static void with_destroyed_context(const struct line *line)
{
    handle context;
    pthread_t thread;
    int code;

    if (!is(line, "current") && !(is(line, "stream") && line->streams))
        return;
    if (cuCtxCreate_v2(&context, 0, 0) || pthread_create(&thread, NULL, destroy, context) || pthread_join(thread, NULL))
        abort();
    if ((code = with(line, NULL, NULL)) != CONTEXT_IS_DESTROYED)
        fail(line, "with a destroyed context", code);
    if (cuCtxPopCurrent_v2(NULL))
        abort();
}

int main(void)
{
    int code, count = sizeof lines / sizeof *lines;

    for (int index = 0; index < count; index++)
        if ((code = with(&lines[index], NULL, NULL)) != NOT_INITIALIZED)
            fail(&lines[index], "before cuInit", code);
    if (cuInit(0))
        return 1;
    for (int index = 0; index < count; index++)
        without_context(&lines[index]);
    for (int index = 0; index < count; index++)
        with_destroyed_context(&lines[index]);
    printf("%d calls\n", count);
    return failures != 0;
}
