#include "native.h"

void saxpy_native(int count, float a, const float *x, float *y) {
    for (int i = 0; i < count; ++i) y[i] = a * x[i] + y[i];
}
