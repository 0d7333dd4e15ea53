#include "native.h"

void histogram_native(int count, const unsigned char *data, unsigned *bins) {
    for (int bin = 0; bin < 256; ++bin) bins[bin] = 0;
    for (int i = 0; i < count; ++i) ++bins[data[i]];
}
