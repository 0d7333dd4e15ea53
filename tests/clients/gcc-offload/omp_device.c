/* A target region runs on the device, not on the host. */
#include "check.h"
#include <omp.h>

int main(void)
{
    int on_host = -1;
    EXPECT(omp_get_num_devices() >= 1);
#pragma omp target map(from : on_host)
    on_host = omp_is_initial_device();
    EXPECT(on_host == 0);
    return 0;
}
