/* Gangs, workers and vectors of a loop. */
#include "check.h"
#include <openacc.h>

int main(void)
{
    enum { N = 3000 };
    float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 1;
    EXPECT(acc_get_num_devices(acc_device_nvidia) >= 1);
#pragma acc parallel loop gang vector copyin(x) copy(y)
    for (int i = 0; i < N; i++) y[i] += 2 * x[i];
    for (int i = 0; i < N; i++) EXPECT(y[i] == 1 + 2 * (float)i);
    return 0;
}
