/* Mistakes, the version, and functions without a body. */
#include "fft.h"

static void expect(const char *what, int told, int expected)
{
    if (told != expected)
        printf("%s: %d, not %d\n", what, told, expected);
}

int main(void)
{
    cufftHandle plan;
    size_t bytes;
    int value = 0;
    long long n = 16;
    expect("no place", cufftCreate(NULL), 4);
    expect("no plan", cufftDestroy(4711), 1);
    expect("size 0", cufftPlan1d(&plan, 0, C2C, 1), 8);
    expect("type", cufftPlan1d(&plan, 8, 0x2b, 1), 3);
    CHECK(cufftCreate(&plan));
    expect("without a transform", cufftExecC2C(plan, &value, &value, FORWARD), 1);
    for (int call = 0; call < 2; call++)
        expect("half", cufftXtMakePlanMany(plan, 1, &n, NULL, 1, 1, 6, NULL, 1, 1, 6, 1, &bytes, 6), 16);
    CHECK(cufftMakePlan1d(plan, 16, C2C, 1, &bytes));
    expect("made twice", cufftMakePlan1d(plan, 16, C2C, 1, &bytes), 1);
    expect("null", cufftExecC2C(plan, NULL, NULL, FORWARD), 4);
    expect("direction", cufftExecC2C(plan, &value, &value, 0), 4);
    expect("another type", cufftExecZ2Z(plan, &value, &value, FORWARD), 3);
    expect("callback", cufftXtSetCallback(plan, NULL, 0, NULL), 16);
    expect("devices", cufftXtSetGPUs(plan, 2, &value), 16);
    CHECK(cufftDestroy(plan));
    expect("destroyed twice", cufftDestroy(plan), 1);
    CHECK(cufftGetVersion(&value));
    expect("version", value, 11300);
    CHECK(cufftGetProperty(0, &value));
    expect("major version", value, 11);
    return 0;
}
