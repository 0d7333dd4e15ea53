/* In place of cuFFT 11, which asks the driver for a table that ours has not: what PyTorch links with, all of it not supported. */

#define ABSENT(name) int name(void) { return 16 /* CUFFT_NOT_SUPPORTED */; }

ABSENT(cufftCreate)
ABSENT(cufftDestroy)
ABSENT(cufftSetAutoAllocation)
ABSENT(cufftSetStream)
ABSENT(cufftSetWorkArea)
ABSENT(cufftXtExec)
ABSENT(cufftXtMakePlanMany)
