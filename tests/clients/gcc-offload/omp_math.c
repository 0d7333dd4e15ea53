/* The mathematical library on the device agrees with the host's. */
#include "check.h"

int main(void)
{
    enum { N = 256 };
    double values[4][N];
#pragma omp target teams distribute parallel for map(from : values)
    for (int i = 0; i < N; i++) {
        double x = i / 16.0 + 0.125;
        values[0][i] = sqrt(x);
        values[1][i] = sin(x);
        values[2][i] = exp(-x);
        values[3][i] = pow(x, 1.5);
    }
    for (int i = 0; i < N; i++) {
        double x = i / 16.0 + 0.125;
        EXPECT(values[0][i] == sqrt(x));
        EXPECT(fabs(values[1][i] - sin(x)) < 1e-14);
        EXPECT(fabs(values[2][i] - exp(-x)) < 1e-14);
        EXPECT(fabs(values[3][i] - pow(x, 1.5)) < 1e-12);
    }
    return 0;
}
