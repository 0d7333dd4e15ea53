#pragma once

// Counts the occurrences of each byte value.
void histogram_native(int count, const unsigned char *data, unsigned *bins);
