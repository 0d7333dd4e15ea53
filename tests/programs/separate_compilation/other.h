// Interface of other.cu.
#pragma once

typedef int (*Function)(int);

extern __device__ int other_counter;
extern __device__ int other_table[4];
extern __constant__ int scale;  // defined in the main file

__device__ int other_function(int x);
__device__ Function chosen_function(int which);
void launch_of_other_file(const int *in, int *out, int count);
