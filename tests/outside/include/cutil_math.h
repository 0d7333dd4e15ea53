// The part of the CUDA SDK 4's vector functions that programs of the suites use.
#pragma once

#include <cuda_runtime.h>
#include <math.h>

#define CUTIL_MATH inline __host__ __device__

CUTIL_MATH float3 make_float3(float4 a) { return make_float3(a.x, a.y, a.z); }
CUTIL_MATH float4 make_float4(float3 a, float w) { return make_float4(a.x, a.y, a.z, w); }
CUTIL_MATH float4 make_float4(float3 a) { return make_float4(a, 0.0f); }

CUTIL_MATH float3 operator-(float3 a) { return make_float3(-a.x, -a.y, -a.z); }
CUTIL_MATH float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
CUTIL_MATH float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
CUTIL_MATH float3 operator*(float3 a, float3 b) { return make_float3(a.x * b.x, a.y * b.y, a.z * b.z); }
CUTIL_MATH float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
CUTIL_MATH float3 operator*(float s, float3 a) { return a * s; }
CUTIL_MATH float3 operator/(float3 a, float s) { return a * (1.0f / s); }
CUTIL_MATH void operator+=(float3 &a, float3 b) { a = a + b; }
CUTIL_MATH void operator-=(float3 &a, float3 b) { a = a - b; }
CUTIL_MATH void operator*=(float3 &a, float s) { a = a * s; }
CUTIL_MATH float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
CUTIL_MATH float length(float3 a) { return sqrtf(dot(a, a)); }
CUTIL_MATH float3 normalize(float3 a) { return a * (1.0f / sqrtf(dot(a, a))); }
CUTIL_MATH float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

CUTIL_MATH float4 operator+(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
CUTIL_MATH float4 operator-(float4 a, float4 b) {
    return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}
CUTIL_MATH float4 operator*(float4 a, float s) { return make_float4(a.x * s, a.y * s, a.z * s, a.w * s); }
CUTIL_MATH float4 operator*(float s, float4 a) { return a * s; }
CUTIL_MATH void operator+=(float4 &a, float4 b) { a = a + b; }
CUTIL_MATH float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
CUTIL_MATH float4 normalize(float4 a) { return a * (1.0f / sqrtf(dot(a, a))); }
