// Variant of check.h for calls of the driver API.
#pragma once

#include "check.h"

#include <cuda.h>

// Ends the program if a driver call fails unexpectedly.
#define DRIVER(call) check_driver((call), #call, __FILE__, __LINE__)

inline const char *driver_error(CUresult result) {
    const char *name = "?";
    cuGetErrorName(result, &name);
    return name;
}

inline void check_driver(CUresult result, const char *call, const char *file, int line) {
    if (result == CUDA_SUCCESS) return;
    std::printf("%s:%d: %s: %s\nFAIL\n", file, line, call, driver_error(result));
    std::exit(1);
}

// Checks that the driver call returns exactly this error.
#define EXPECT_DRIVER(wanted, call) expect_driver((wanted), (call), #call, __FILE__, __LINE__)

inline void expect_driver(CUresult wanted, CUresult got, const char *call, const char *file, int line) {
    if (got == wanted) return;
    std::printf("%s:%d: %s: got %s, want %s\n", file, line, call, driver_error(got), driver_error(wanted));
    ++failures;
}
