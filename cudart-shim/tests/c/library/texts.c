/* Stands for cuDNN, which gives texts, and for Python, which takes them. */
#include <stdio.h>

const char *cudnnGetErrorString(int status)
{
    return status == 8 ? "CUDNN_STATUS_EXECUTION_FAILED" : "CUDNN_STATUS_NOT_SUPPORTED";
}

void PyErr_SetString(void *kind, const char *text)
{
    (void)kind;
    puts(text);
}
