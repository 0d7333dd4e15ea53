// Calls of CUB's device-wide algorithms, which require temporary storage.
#pragma once

#include "check.h"

// Calls `algorithm(storage, bytes)` for the size, then with storage of that size, and waits for completion.
template <class Algorithm>
void with_storage(Algorithm algorithm) {
    size_t bytes = 0;
    CHECK(algorithm(nullptr, bytes));
    DeviceArray<char> storage(bytes);
    CHECK(algorithm(storage.get(), bytes));
    CHECK_KERNEL();
}
