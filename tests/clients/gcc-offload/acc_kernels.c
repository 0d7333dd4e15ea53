/* Kernels that the compiler finds, in a region of data. */
#include "check.h"

int main(void)
{
    enum { N = 512 };
    double a[N], b[N], c[N];
    for (int i = 0; i < N; i++) a[i] = i;
#pragma acc data copyin(a) create(b) copyout(c)
    {
#pragma acc kernels
        for (int i = 0; i < N; i++) b[i] = 3 * a[i];
#pragma acc kernels
        for (int i = 0; i < N; i++) c[i] = b[i] + 1;
    }
    for (int i = 0; i < N; i++) EXPECT(c[i] == 3.0 * i + 1);
    return 0;
}
