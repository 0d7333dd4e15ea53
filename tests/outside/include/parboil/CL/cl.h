// The types of OpenCL that Parboil's header names; its CUDA programs use none of them.
#pragma once

typedef int cl_int;
typedef unsigned cl_uint;
typedef struct cl_object *cl_command_queue;
typedef struct cl_object *cl_event;
typedef struct cl_object *cl_kernel;
typedef struct cl_object *cl_mem;
