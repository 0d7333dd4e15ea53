// The part of the CUDA SDK 4's utility library that programs of the suites use: checked calls,
// timers, command-line flags and a comparison. The SDK is no longer available.
#pragma once

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

typedef int CUTBoolean;
enum { CUTFalse = 0, CUTTrue = 1 };

#define CUDA_SAFE_CALL_NO_SYNC(call)                                                               \
    do {                                                                                           \
        cudaError_t cutil_error = (call);                                                          \
        if (cutil_error != cudaSuccess) {                                                          \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(cutil_error));   \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)
#define CUDA_SAFE_CALL(call) CUDA_SAFE_CALL_NO_SYNC(call)
#define CUT_SAFE_CALL(call)                                                                        \
    do {                                                                                           \
        if ((call) != CUTTrue) {                                                                   \
            fprintf(stderr, "%s:%d: a call of the utility library failed\n", __FILE__, __LINE__);  \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)
#define CUT_CHECK_ERROR(message)                                                                   \
    do {                                                                                           \
        cudaError_t cutil_error = cudaDeviceSynchronize();                                         \
        if (cutil_error != cudaSuccess) {                                                          \
            fprintf(stderr, "%s: %s\n", message, cudaGetErrorString(cutil_error));                 \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)
#define CUT_BANK_CHECKER(array, index) array[index]
#define CUT_DEVICE_INIT(...) CUDA_SAFE_CALL_NO_SYNC(cudaSetDevice(0))
#define CUT_EXIT(...) exit(EXIT_SUCCESS)

// Milliseconds that a timer has run, and the time of day in milliseconds at which the timer started.
struct CutTimer {
    double total, start;
    bool runs;
};

inline CutTimer *cutil_timer(unsigned name) {
    static CutTimer timers[64];
    return &timers[name % 64];
}

inline double cutil_milliseconds() {
    timeval now;
    gettimeofday(&now, 0);
    return now.tv_sec * 1e3 + now.tv_usec * 1e-3;
}

inline CUTBoolean cutResetTimer(unsigned name) {
    cutil_timer(name)->total = 0;
    cutil_timer(name)->start = cutil_milliseconds();
    return CUTTrue;
}

inline CUTBoolean cutCreateTimer(unsigned *name) {
    static unsigned next;
    *name = ++next;
    return cutResetTimer(*name);
}

inline CUTBoolean cutDeleteTimer(unsigned) { return CUTTrue; }

inline CUTBoolean cutStartTimer(unsigned name) {
    cutil_timer(name)->start = cutil_milliseconds();
    cutil_timer(name)->runs = true;
    return CUTTrue;
}

inline CUTBoolean cutStopTimer(unsigned name) {
    CutTimer *timer = cutil_timer(name);
    timer->total += timer->runs ? cutil_milliseconds() - timer->start : 0;
    timer->runs = false;
    return CUTTrue;
}

inline float cutGetTimerValue(unsigned name) {
    CutTimer *timer = cutil_timer(name);
    return (float)(timer->total + (timer->runs ? cutil_milliseconds() - timer->start : 0));
}

inline float cutGetAverageTimerValue(unsigned name) { return cutGetTimerValue(name); }

// Returns the text after `-NAME` or `--NAME` among the arguments, or null.
inline const char *cutil_argument(int count, const char **arguments, const char *name) {
    for (int i = 1; i < count; ++i) {
        const char *text = arguments[i];
        if (*text != '-') continue;
        while (*text == '-') ++text;
        size_t length = strlen(name);
        if (!strncmp(text, name, length) && (!text[length] || text[length] == '=')) return text + length;
    }
    return 0;
}

inline CUTBoolean cutCheckCmdLineFlag(int count, const char **arguments, const char *name) {
    return cutil_argument(count, arguments, name) ? CUTTrue : CUTFalse;
}

inline CUTBoolean cutGetCmdLineArgumenti(int count, const char **arguments, const char *name, int *value) {
    const char *text = cutil_argument(count, arguments, name);
    if (!text || *text != '=') return CUTFalse;
    *value = atoi(text + 1);
    return CUTTrue;
}

inline CUTBoolean cutCompareub(const unsigned char *expected, const unsigned char *found, unsigned size) {
    return memcmp(expected, found, size) == 0 ? CUTTrue : CUTFalse;
}
