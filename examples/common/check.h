// Shared support of all programs: error checks, reproducible random inputs, and comparison with the
// host's results. A program ends with `return finish();`, which prints PASS or FAIL as the last line.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <type_traits>
#include <vector>

inline int failures = 0;

// Ends the program if a CUDA call fails unexpectedly.
#define CHECK(call) check_call((call), #call, __FILE__, __LINE__)

inline void check_call(cudaError_t error, const char *call, const char *file, int line) {
    if (error == cudaSuccess) return;
    std::printf("%s:%d: %s: %s (%s)\nFAIL\n", file, line, call, cudaGetErrorName(error), cudaGetErrorString(error));
    std::exit(1);
}

// Records a failure and continues.
#define EXPECT(condition) expect((condition), #condition, __FILE__, __LINE__)

inline void expect(bool holds, const char *condition, const char *file, int line) {
    if (holds) return;
    std::printf("%s:%d: does not hold: %s\n", file, line, condition);
    ++failures;
}

// Checks that the call returns exactly this error.
#define EXPECT_ERROR(wanted, call) expect_error((wanted), (call), #call, __FILE__, __LINE__)

inline void expect_error(cudaError_t wanted, cudaError_t got, const char *call, const char *file, int line) {
    if (got == wanted) return;
    std::printf("%s:%d: %s: got %s, want %s\n", file, line, call, cudaGetErrorName(got), cudaGetErrorName(wanted));
    ++failures;
}

// Compares every element. `tolerance` is relative to the larger of 1 and the expected value; 0 means equality.
template <class T>
void compare(const char *what, const T *got, const T *want, size_t count, double tolerance = 0) {
    size_t differing = 0;
    for (size_t i = 0; i < count; ++i) {
        bool same = got[i] == want[i];
        if constexpr (std::is_floating_point_v<T>) {
            double difference = std::fabs(double(got[i]) - double(want[i]));
            same = same || difference <= tolerance * std::fmax(1.0, std::fabs(double(want[i])));
        }
        if (same) continue;
        if (differing++ < 5) std::printf("%s[%zu]: got %.9g, want %.9g\n", what, i, double(got[i]), double(want[i]));
    }
    if (differing == 0) return;
    std::printf("%s: %zu of %zu differ\n", what, differing, count);
    ++failures;
}

template <class T>
void compare(const char *what, const std::vector<T> &got, const std::vector<T> &want, double tolerance = 0) {
    EXPECT(got.size() == want.size());
    if (got.size() == want.size()) compare(what, got.data(), want.data(), got.size(), tolerance);
}

// Returns `count` uniformly distributed values in [low, high], equal in every run.
template <class T>
std::vector<T> random_values(size_t count, T low, T high, unsigned seed = 1) {
    std::mt19937_64 engine(seed);
    std::vector<T> values(count);
    if constexpr (std::is_floating_point_v<T>) {
        std::uniform_real_distribution<T> distribution(low, high);
        for (T &value : values) value = distribution(engine);
    } else {
        std::uniform_int_distribution<long long> distribution(low, high);
        for (T &value : values) value = T(distribution(engine));
    }
    return values;
}

// Device memory of `count` elements with automatic release.
template <class T>
class DeviceArray {
public:
    explicit DeviceArray(size_t count) : count_(count) { CHECK(cudaMalloc(&data_, count * sizeof(T))); }
    explicit DeviceArray(const std::vector<T> &values) : DeviceArray(values.size()) { upload(values); }
    ~DeviceArray() { cudaFree(data_); }
    DeviceArray(const DeviceArray &) = delete;
    DeviceArray &operator=(const DeviceArray &) = delete;

    T *get() const { return data_; }
    operator T *() const { return data_; }
    size_t bytes() const { return count_ * sizeof(T); }

    void upload(const std::vector<T> &values) {
        CHECK(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    std::vector<T> download() const {
        std::vector<T> values(count_);
        CHECK(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost));
        return values;
    }
    void fill(int byte) { CHECK(cudaMemset(data_, byte, bytes())); }

private:
    T *data_ = nullptr;
    size_t count_;
};

// Checks for launch errors immediately and for execution errors after the kernel.
inline void check_kernel(const char *file, int line) {
    check_call(cudaGetLastError(), "launch", file, line);
    check_call(cudaDeviceSynchronize(), "cudaDeviceSynchronize()", file, line);
}
#define CHECK_KERNEL() check_kernel(__FILE__, __LINE__)

inline int finish() {
    std::printf("%s\n", failures == 0 ? "PASS" : "FAIL");
    std::fflush(stdout);
    return failures == 0 ? 0 : 1;
}
