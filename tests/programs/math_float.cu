// Single-precision functions of the CUDA math library against the host's double precision, within the errors that the
// CUDA C++ Programming Guide states.
#include "check.h"

#include <algorithm>

// Function, exact function, range of arguments, maximum error in units of the last place.
#define UNARY(X)                                       \
    X(sinf, std::sin, -100, 100, 2)                    \
    X(cosf, std::cos, -100, 100, 2)                    \
    X(tanf, std::tan, -10, 10, 4)                      \
    X(asinf, std::asin, -1, 1, 2)                      \
    X(acosf, std::acos, -1, 1, 2)                      \
    X(atanf, std::atan, -50, 50, 2)                    \
    X(sinhf, std::sinh, -20, 20, 3)                    \
    X(coshf, std::cosh, -20, 20, 2)                    \
    X(tanhf, std::tanh, -5, 5, 2)                      \
    X(asinhf, std::asinh, -100, 100, 3)                \
    X(acoshf, std::acosh, 1, 100, 4)                   \
    X(atanhf, std::atanh, -0.99, 0.99, 3)              \
    X(expf, std::exp, -80, 80, 2)                      \
    X(exp2f, std::exp2, -100, 100, 2)                  \
    X(expm1f, std::expm1, -10, 10, 1)                  \
    X(logf, std::log, 1e-6, 1e6, 1)                    \
    X(log2f, std::log2, 1e-6, 1e6, 1)                  \
    X(log10f, std::log10, 1e-6, 1e6, 2)                \
    X(log1pf, std::log1p, -0.9, 100, 1)                \
    X(sqrtf, std::sqrt, 0, 1e6, 0)                     \
    X(cbrtf, std::cbrt, -1e6, 1e6, 1)                  \
    X(erff, std::erf, -4, 4, 2)                        \
    X(erfcf, std::erfc, -4, 8, 4)                      \
    X(tgammaf, std::tgamma, 0.1, 30, 5)                \
    X(lgammaf, std::lgamma, 3, 100, 6)                 \
    X(rsqrtf, reciprocal_root, 1e-6, 1e6, 2)           \
    X(sinpif, sine_of_pi, -20, 20, 1)                  \
    X(truncf, std::trunc, -1e5, 1e5, 0)                \
    X(floorf, std::floor, -1e5, 1e5, 0)                \
    X(ceilf, std::ceil, -1e5, 1e5, 0)                  \
    X(rintf, std::rint, -1e5, 1e5, 0)                  \
    X(roundf, std::round, -1e5, 1e5, 0)                \
    X(fabsf, std::fabs, -1e5, 1e5, 0)

#define BINARY(X)                        \
    X(powf, std::pow, 0.01, 20, 4)       \
    X(atan2f, std::atan2, -50, 50, 3)    \
    X(hypotf, std::hypot, -1e4, 1e4, 3)  \
    X(fmodf, std::fmod, -1e4, 1e4, 0)    \
    X(fdimf, std::fdim, -10, 10, 0)      \
    X(fmaxf, std::fmax, -10, 10, 0)      \
    X(fminf, std::fmin, -10, 10, 0)      \
    X(copysignf, std::copysign, -10, 10, 0) \
    X(remainderf, std::remainder, -1e4, 1e4, 0) \
    X(quotient, exact_quotient, -1e4, 1e4, 0)

static const double pi = 3.14159265358979323846;
static double reciprocal_root(double x) { return 1 / std::sqrt(x); }
static double sine_of_pi(double x) {
    double turn = std::remainder(x, 2.0);
    // Reduces to the nearer zero, so that integers give exactly zero.
    return std::sin(pi * (turn > 0.5 ? 1 - turn : turn < -0.5 ? -1 - turn : turn));
}
static double exact_quotient(double x, double y) { return x / y; }
__device__ float quotient(float x, float y) { return x / y; }

#define UNARY_KERNEL(function, exact, low, high, ulps) \
    __global__ void run_##function(const float *x, const float *, float *out, int count) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < count) out[i] = function(x[i]); \
    }
#define BINARY_KERNEL(function, exact, low, high, ulps) \
    __global__ void run_##function(const float *x, const float *y, float *out, int count) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < count) out[i] = function(x[i], y[i]); \
    }
UNARY(UNARY_KERNEL)
BINARY(BINARY_KERNEL)

// Distance in units of the last place of a float near `exact`; half a unit is the rounding of the exact value itself.
static double ulps_between(float got, double exact) {
    if (double(got) == exact || (std::isnan(got) && std::isnan(exact))) return 0;
    int exponent = std::max(std::ilogb(exact), -126);
    return std::fabs(got - exact) / std::ldexp(1.0, exponent - 23) - 0.5;
}

typedef void (*Kernel)(const float *, const float *, float *, int);

template <class Exact>
void check_function(const char *name, Kernel kernel, double low, double high, double ulps, Exact exact) {
    const int count = 2000;
    std::vector<float> x = random_values<float>(count, low, high, 11), y = random_values<float>(count, low, high, 12);
    x[0] = float(low), x[1] = float(high), x[2] = x[3] = std::fmax(1.0f, float(low));
    DeviceArray<float> device_x(x), device_y(y), out(count);
    kernel<<<(count + 127) / 128, 128>>>(device_x, device_y, out, count);
    CHECK_KERNEL();
    std::vector<float> got = out.download();
    double worst = 0;
    int where = 0;
    for (int i = 0; i < count; ++i) {
        double distance = ulps_between(got[i], exact(x[i], y[i]));
        if (distance > worst || std::isnan(distance)) worst = distance, where = i;
    }
    if (worst <= ulps + 1e-6) return;
    std::printf("%s(%.9g, %.9g): got %.9g, want %.9g, %.2f ulps of %.0f\n", name, x[where], y[where], got[where],
                exact(x[where], y[where]), worst, ulps);
    ++failures;
}

// Fast approximations, by their stated absolute or relative error.
__global__ void approximate(const float *x, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[6 * i] = __sinf(x[i]);
    out[6 * i + 1] = __cosf(x[i]);
    out[6 * i + 2] = __expf(x[i]);
    out[6 * i + 3] = __logf(fabsf(x[i]) + 0.5f);
    out[6 * i + 4] = __fdividef(1.0f, x[i]);
    out[6 * i + 5] = __powf(fabsf(x[i]) + 0.5f, 1.5f);
}

__global__ void special(float *out) {
    float zero = out[0];
    out[1] = logf(zero), out[2] = logf(-1 - zero), out[3] = sqrtf(-1 - zero), out[4] = expf(200 + zero);
    out[5] = expf(-200 + zero), out[6] = 1 / zero, out[7] = sinf(1 / zero), out[8] = powf(zero, zero);
    out[9] = fmaxf(sqrtf(-1 - zero), 3), out[10] = atan2f(zero, -1), out[11] = 1e-40f * (1 + zero);
    out[12] = -1 / zero, out[13] = sinf(1e8f + zero), out[14] = fmodf(5.5f + zero, -2), out[15] = tgammaf(zero);
}

int main() {
#define CHECK_UNARY(function, exact, low, high, ulps) \
    check_function(#function, run_##function, low, high, ulps, [](double x, double) { return exact(x); });
#define CHECK_BINARY(function, exact, low, high, ulps) \
    check_function(#function, run_##function, low, high, ulps, [](double x, double y) { return exact(x, y); });
    UNARY(CHECK_UNARY)
    BINARY(CHECK_BINARY)

    const int count = 1000;
    std::vector<float> x = random_values<float>(count, -3, 3), wanted(6 * count);
    for (int i = 0; i < count; ++i) {
        float positive = std::fabs(x[i]) + 0.5f;
        const double exact[] = {std::sin(x[i]), std::cos(x[i]), std::exp(x[i]), std::log(positive), 1.0 / x[i], std::pow(positive, 1.5)};
        for (int k = 0; k < 6; ++k) wanted[6 * i + k] = float(exact[k]);
    }
    DeviceArray<float> device_x(x), out(6 * count);
    approximate<<<(count + 127) / 128, 128>>>(device_x, out, count);
    CHECK_KERNEL();
    compare("approximations", out.download(), wanted, 1e-6);

    DeviceArray<float> specials(16);
    specials.fill(0);
    special<<<1, 1>>>(specials);
    CHECK_KERNEL();
    std::vector<float> s = specials.download();
    const float infinity = INFINITY;
    EXPECT(s[1] == -infinity && std::isnan(s[2]) && std::isnan(s[3]) && s[4] == infinity && s[5] == 0);
    EXPECT(s[6] == infinity && std::isnan(s[7]) && s[8] == 1 && s[9] == 3 && std::fabs(s[10] - pi) < 1e-6);
    EXPECT(s[11] == 1e-40f && s[12] == -infinity && s[14] == 1.5f && std::isinf(s[15]));
    EXPECT(std::fabs(s[13] - std::sin(1e8)) < 1e-6);
    return finish();
}
