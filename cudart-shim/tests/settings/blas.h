/* Declarations of cuBLAS and helpers for its tests, from its documentation. */
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../c/cuda_api.h"

typedef void *cublasHandle_t;
typedef void *cudaStream;
enum { OP_N, OP_T, OP_C };
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, C_32F = 4, C_64F = 5, R_32I = 10, R_16BF = 14 };
enum { COMPUTE_16F = 64, COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, COMPUTE_32F_FAST_TF32 = 77 };

int cublasCreate_v2(cublasHandle_t *);
int cublasDestroy_v2(cublasHandle_t);
int cublasSetStream_v2(cublasHandle_t, cudaStream);
int cublasSetPointerMode_v2(cublasHandle_t, int);
int cublasGetVersion_v2(cublasHandle_t, int *);

static int failures;

#define CHECK(call)                                                                                   \
    do {                                                                                              \
        const int status_of_call = (call);                                                            \
        if (status_of_call != 0) {                                                                    \
            printf("%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, status_of_call);                 \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

static uint64_t random_state = 88172645463325252ULL;

static uint32_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32);
}

static int random_below(int bound) { return (int)(random_word() % (uint32_t)bound); }

/* A number of -1 to 1 in steps that half precision has. */
static double random_value(void) { return (random_below(257) - 128) / 128.0; }

static uint16_t bfloat_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float float_of_bfloat(uint16_t value)
{
    const uint32_t bits = (uint32_t)value << 16;
    float result;
    memcpy(&result, &bits, 4);
    return result;
}

static int parts_of(int type) { return type == C_32F || type == C_64F ? 2 : 1; }

/* Bytes of a number, or of a part of a complex number. */
static int part_size(int type)
{
    switch (type) {
    case R_8I: return 1;
    case R_16F:
    case R_16BF: return 2;
    case R_64F:
    case C_64F: return 8;
    default: return 4;
    }
}

static void put(void *array, size_t index, int type, double value)
{
    switch (type) {
    case R_8I: ((int8_t *)array)[index] = (int8_t)value; break;
    case R_16F: ((_Float16 *)array)[index] = (_Float16)value; break;
    case R_16BF: ((uint16_t *)array)[index] = bfloat_of((float)value); break;
    case R_32I: ((int32_t *)array)[index] = (int32_t)value; break;
    case R_64F:
    case C_64F: ((double *)array)[index] = value; break;
    default: ((float *)array)[index] = (float)value; break;
    }
}

static double get(const void *array, size_t index, int type)
{
    switch (type) {
    case R_8I: return ((const int8_t *)array)[index];
    case R_16F: return (double)((const _Float16 *)array)[index];
    case R_16BF: return float_of_bfloat(((const uint16_t *)array)[index]);
    case R_32I: return ((const int32_t *)array)[index];
    case R_64F:
    case C_64F: return ((const double *)array)[index];
    default: return ((const float *)array)[index];
    }
}

/* Relative precision of results. */
static double precision_of(int type)
{
    switch (type) {
    case R_16F: return 2e-3;
    case R_16BF: return 1.6e-2;
    case R_64F:
    case C_64F: return 1e-12;
    case R_8I:
    case R_32I: return 0;
    default: return 2e-5;
    }
}

/* An array on the host and on the device. Elements count parts of complex numbers. */
struct Array {
    void *host, *device;
    size_t elements;
    int type;
};

static struct Array array_of(size_t elements, int type)
{
    struct Array array = {NULL, NULL, elements * parts_of(type), type};
    const size_t bytes = array.elements * part_size(type) + 16;
    array.host = calloc(bytes, 1);
    CHECK(cudaMalloc(&array.device, bytes));
    for (size_t index = 0; index < array.elements; index++)
        put(array.host, index, type, type == R_8I || type == R_32I ? random_below(11) - 5 : random_value());
    CHECK(cudaMemcpy(array.device, array.host, bytes, cudaMemcpyHostToDevice));
    return array;
}

static void release(struct Array *array)
{
    CHECK(cudaFree(array->device));
    free(array->host);
}

/* Copies of the device's elements, which the caller frees. */
static void *results_of(const struct Array *array)
{
    const size_t bytes = array->elements * part_size(array->type);
    void *results = malloc(bytes + 1);
    CHECK(cudaMemcpy(results, array->device, bytes, cudaMemcpyDeviceToHost));
    return results;
}
