/* Data stay on the device between regions until they are updated or released. */
#include "check.h"

int main(void)
{
    enum { N = 1000 };
    int *a = malloc(N * sizeof *a);
    for (int i = 0; i < N; i++) a[i] = i;
#pragma omp target enter data map(to : a[:N])
    for (int i = 0; i < N; i++) a[i] = -1;
#pragma omp target teams distribute parallel for
    for (int i = 0; i < N; i++) a[i] *= 2;
    EXPECT(a[7] == -1);
#pragma omp target update from(a[:N / 2])
    EXPECT(a[7] == 14 && a[N - 1] == -1);
#pragma omp target exit data map(from : a[:N])
    EXPECT(a[N - 1] == 2 * (N - 1));
    free(a);
    return 0;
}
