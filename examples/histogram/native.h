#pragma once

// Counts how often each byte value occurs.
void histogram_native(int count, const unsigned char *data, unsigned *bins);
