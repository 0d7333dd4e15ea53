#pragma once

// y = a x + y in plain C++.
void saxpy_native(int count, float a, const float *x, float *y);
