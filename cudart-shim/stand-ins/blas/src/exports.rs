//! The exported functions with their bodies, under the version nodes of CUDA 11, 12 and 13.

use std::ffi::c_int;

use half::f16;

use crate::element::Complex;
use crate::lt::descriptor::{Layout, Operation, Preference, Transform};
use crate::lt::{algorithm, descriptor, matmul};
use crate::{gemm, handle, status};

/// The labels of a function, each with its version, and the jump behind them.
macro_rules! versions {
    ($library:literal, $name:expr, $code:expr) => {
        concat!(
            ".text\n.balign 8\n",
            ".globl voltsim_",
            $name,
            "_11\n.type voltsim_",
            $name,
            "_11,@function\n",
            ".globl voltsim_",
            $name,
            "_12\n.type voltsim_",
            $name,
            "_12,@function\n",
            ".globl voltsim_",
            $name,
            "_13\n.type voltsim_",
            $name,
            "_13,@function\n",
            "voltsim_",
            $name,
            "_11:\nvoltsim_",
            $name,
            "_12:\nvoltsim_",
            $name,
            "_13:\n",
            $code,
            "\n",
            ".symver voltsim_",
            $name,
            "_11,",
            $name,
            "@",
            $library,
            ".so.11,remove\n",
            ".symver voltsim_",
            $name,
            "_12,",
            $name,
            "@@",
            $library,
            ".so.12,remove\n",
            ".symver voltsim_",
            $name,
            "_13,",
            $name,
            "@",
            $library,
            ".so.13,remove\n",
        )
    };
}

/// Exports a function with a body.
macro_rules! export {
    ($library:literal: $($name:ident = $target:path;)*) => {
        $(
            core::arch::global_asm!(
                versions!($library, stringify!($name), "jmp {target}"),
                target = sym $target,
                options(att_syntax)
            );
        )*
    };
}

/// Exports a function of a major version's own.
macro_rules! export_by_version {
    ($library:literal: $($name:ident = $module:ident::$function:ident;)*) => {
        $(
            core::arch::global_asm!(
                concat!(
                    ".text\n.balign 8\n",
                    ".globl voltsim_", stringify!($name), "_11\n.type voltsim_", stringify!($name), "_11,@function\n",
                    "voltsim_", stringify!($name), "_11:\njmp {eleven}\n",
                    ".globl voltsim_", stringify!($name), "_12\n.type voltsim_", stringify!($name), "_12,@function\n",
                    "voltsim_", stringify!($name), "_12:\njmp {twelve}\n",
                    ".globl voltsim_", stringify!($name), "_13\n.type voltsim_", stringify!($name), "_13,@function\n",
                    "voltsim_", stringify!($name), "_13:\njmp {thirteen}\n",
                    ".symver voltsim_", stringify!($name), "_11,", stringify!($name), "@", $library, ".so.11,remove\n",
                    ".symver voltsim_", stringify!($name), "_12,", stringify!($name), "@@", $library, ".so.12,remove\n",
                    ".symver voltsim_", stringify!($name), "_13,", stringify!($name), "@", $library, ".so.13,remove\n",
                ),
                eleven = sym $module::$function::<11>,
                twelve = sym $module::$function::<12>,
                thirteen = sym $module::$function::<13>,
                options(att_syntax)
            );
        )*
    };
}

/// Exports functions with sizes of 32 bits, and those with 64 bits, whose names end in `_64`.
macro_rules! export_sizes {
    ($($name:ident = $module:ident::$function:ident $(<$($kind:ty),+>)?;)*) => {
        $(
            core::arch::global_asm!(
                versions!("libcublas", stringify!($name), "jmp {target}"),
                target = sym $module::$function::<$($($kind,)+)? c_int>,
                options(att_syntax)
            );
            core::arch::global_asm!(
                versions!("libcublas", concat!(stringify!($name), "_64"), "jmp {target}"),
                target = sym $module::$function::<$($($kind,)+)? i64>,
                options(att_syntax)
            );
        )*
    };
}

export! { "libcublas":
    cublasCreate_v2 = handle::create;
    cublasDestroy_v2 = handle::destroy;
    cublasSetStream_v2 = handle::set_stream;
    cublasGetStream_v2 = handle::get_stream;
    cublasSetPointerMode_v2 = handle::set_pointer_mode;
    cublasGetPointerMode_v2 = handle::get_pointer_mode;
    cublasSetMathMode = handle::set_math_mode;
    cublasGetMathMode = handle::get_math_mode;
    cublasSetAtomicsMode = handle::set_atomics_mode;
    cublasGetAtomicsMode = handle::get_atomics_mode;
    cublasSetSmCountTarget = handle::set_sms;
    cublasGetSmCountTarget = handle::get_sms;
    cublasSetWorkspace_v2 = handle::set_workspace;
    cublasGetStatusName = status::name_of;
    cublasGetStatusString = status::text_of;
    cublasLoggerConfigure = handle::no_messages;
    cublasSetLoggerCallback = handle::no_messages;
}

export_by_version! { "libcublas":
    cublasGetVersion_v2 = handle::get_version;
    cublasGetProperty = handle::get_property;
    cublasGetCudartVersion = handle::runtime_version;
}

export_sizes! {
    cublasSgemm_v2 = gemm::gemm<f32>;
    cublasDgemm_v2 = gemm::gemm<f64>;
    cublasCgemm_v2 = gemm::gemm<Complex<f32>>;
    cublasZgemm_v2 = gemm::gemm<Complex<f64>>;
    cublasHgemm = gemm::gemm<f16>;
    cublasCgemm3m = gemm::gemm<Complex<f32>>;
    cublasZgemm3m = gemm::gemm<Complex<f64>>;
    cublasSgemmStridedBatched = gemm::gemm_strided<f32>;
    cublasDgemmStridedBatched = gemm::gemm_strided<f64>;
    cublasCgemmStridedBatched = gemm::gemm_strided<Complex<f32>>;
    cublasZgemmStridedBatched = gemm::gemm_strided<Complex<f64>>;
    cublasHgemmStridedBatched = gemm::gemm_strided<f16>;
    cublasCgemm3mStridedBatched = gemm::gemm_strided<Complex<f32>>;
    cublasSgemmBatched = gemm::gemm_batched<f32>;
    cublasDgemmBatched = gemm::gemm_batched<f64>;
    cublasCgemmBatched = gemm::gemm_batched<Complex<f32>>;
    cublasZgemmBatched = gemm::gemm_batched<Complex<f64>>;
    cublasHgemmBatched = gemm::gemm_batched<f16>;
    cublasCgemm3mBatched = gemm::gemm_batched<Complex<f32>>;
    cublasGemmEx = gemm::gemm_ex;
    cublasGemmStridedBatchedEx = gemm::gemm_strided_ex;
    cublasGemmBatchedEx = gemm::gemm_batched_ex;
    cublasSgemmEx = gemm::typed_gemm_ex<f32>;
    cublasCgemmEx = gemm::typed_gemm_ex<Complex<f32>>;
}

export! { "libcublasLt":
    cublasLtCreate = handle::create;
    cublasLtDestroy = handle::destroy;
    cublasLtGetStatusName = status::name_of;
    cublasLtGetStatusString = status::text_of;
    cublasLtLoggerForceDisable = handle::no_messages;
    cublasLtLoggerOpenFile = handle::no_messages;
    cublasLtLoggerSetCallback = handle::no_messages;
    cublasLtLoggerSetFile = handle::no_messages;
    cublasLtLoggerSetLevel = handle::no_messages;
    cublasLtLoggerSetMask = handle::no_messages;
    cublasLtHeuristicsCacheSetCapacity = handle::no_messages;
    cublasLtHeuristicsCacheGetCapacity = handle::no_cache;
    cublasLtDisableCpuInstructionsSetMask = handle::no_messages;
    cublasLtMatmul = matmul::matmul;
    cublasLtMatmulAlgoGetHeuristic = algorithm::heuristic;
    cublasLtMatmulAlgoCheck = algorithm::check;
    cublasLtMatmulAlgoGetIds = algorithm::numbers;
    cublasLtMatmulAlgoInit = algorithm::init;
    cublasLtMatmulAlgoCapGetAttribute = algorithm::capability;
    cublasLtMatmulAlgoConfigGetAttribute = algorithm::get;
    cublasLtMatmulAlgoConfigSetAttribute = algorithm::set;
    cublasLtMatmulDescCreate = descriptor::create_operation;
    cublasLtMatmulDescInit_internal = descriptor::init_operation;
    cublasLtMatmulDescDestroy = descriptor::destroy::<Operation>;
    cublasLtMatmulDescGetAttribute = descriptor::get::<Operation>;
    cublasLtMatmulDescSetAttribute = descriptor::set::<Operation>;
    cublasLtMatrixLayoutCreate = descriptor::create_layout;
    cublasLtMatrixLayoutInit_internal = descriptor::init_layout;
    cublasLtMatrixLayoutDestroy = descriptor::destroy::<Layout>;
    cublasLtMatrixLayoutGetAttribute = descriptor::get::<Layout>;
    cublasLtMatrixLayoutSetAttribute = descriptor::set::<Layout>;
    cublasLtMatmulPreferenceCreate = descriptor::create_preference;
    cublasLtMatmulPreferenceInit_internal = descriptor::init_preference;
    cublasLtMatmulPreferenceDestroy = descriptor::destroy::<Preference>;
    cublasLtMatmulPreferenceGetAttribute = descriptor::get::<Preference>;
    cublasLtMatmulPreferenceSetAttribute = descriptor::set::<Preference>;
    cublasLtMatrixTransformDescCreate = descriptor::create_transform;
    cublasLtMatrixTransformDescDestroy = descriptor::destroy::<Transform>;
    cublasLtMatrixTransformDescGetAttribute = descriptor::get::<Transform>;
    cublasLtMatrixTransformDescSetAttribute = descriptor::set::<Transform>;
}

export_by_version! { "libcublasLt":
    cublasLtGetVersion = handle::number_of_version;
    cublasLtGetProperty = handle::get_property;
    cublasLtGetCudartVersion = handle::runtime_version;
}
