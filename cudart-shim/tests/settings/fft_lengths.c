/* Transforms of one dimension, of many lengths, types and directions. */
#include "fft.h"

static void length(int n, int batch)
{
    const int types[] = {C2C, R2C, C2R, Z2Z, D2Z, Z2D};
    for (int i = 0; i < 6; i++) {
        cufftHandle plan;
        CHECK(cufftPlan1d(&plan, n, types[i], batch));
        struct Transform t = {.type = types[i], .rank = 1, .n = {n, 1, 1}, .batch = batch, .direction = FORWARD};
        compare(plan, t);
        t.direction = INVERSE;
        t.in_place = 1;
        compare(plan, t);
        CHECK(cufftDestroy(plan));
    }
}

int main(void)
{
    for (int n = 1; n <= 64; n++)
        length(n, 3);
    const int others[] = {97, 101, 127, 211, 343, 625, 720, 997, 1000, 1024, 1536, 2048, 2187, 4096, 6000};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        length(others[i], others[i] < 1000 ? 2 : 1);
    /* Convolutions with a chirp in several passes. */
    length(1031, 2);
    length(2 * 1171, 1);
    return 0;
}
