/* Work on two queues, waited for by name. */
#include "check.h"

int main(void)
{
    enum { N = 1000 };
    int a[N], b[N];
#pragma acc data copyout(a, b)
    {
#pragma acc parallel loop async(1)
        for (int i = 0; i < N; i++) a[i] = i;
#pragma acc parallel loop async(2)
        for (int i = 0; i < N; i++) b[i] = 2 * i;
#pragma acc wait(1) async(2)
#pragma acc parallel loop async(2)
        for (int i = 0; i < N; i++) b[i] += a[i];
#pragma acc wait
    }
    for (int i = 0; i < N; i++) EXPECT(a[i] == i && b[i] == 3 * i);
    return 0;
}
