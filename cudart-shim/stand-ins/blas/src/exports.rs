//! The exported functions with their bodies, under the version nodes of CUDA 11, 12 and 13.

use std::ffi::c_int;

use half::{bf16, f16};
use standin_driver::{export, export_by_version, versions};

use crate::element::Complex;
use crate::lt::descriptor::{Layout, Operation, Preference, Transform};
use crate::lt::{algorithm, descriptor, matmul};
use crate::{gemm, handle, level1, level2, level3, mixed, solve, status, transfer};

/// Exports functions with sizes of 32 bits, and those with 64 bits, whose names end in `_64`.
macro_rules! export_sizes {
    ($($name:ident = $module:ident::$function:ident $(<$($kind:ty),* $(; $flag:literal)?>)?;)*) => {
        $(
            core::arch::global_asm!(
                versions!("libcublas" [11 12 13] stringify!($name), "jmp {target}"),
                target = sym $module::$function::<$($($kind,)* $($flag,)?)? c_int>,
                options(att_syntax)
            );
            core::arch::global_asm!(
                versions!("libcublas" [11 12 13] concat!(stringify!($name), "_64"), "jmp {target}"),
                target = sym $module::$function::<$($($kind,)* $($flag,)?)? i64>,
                options(att_syntax)
            );
        )*
    };
}

export! { "libcublas" [11 12 13]:
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

export_by_version! { "libcublas" [11 12 13]:
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

export_sizes! {
    cublasSaxpy_v2 = level1::axpy<f32>;
    cublasDaxpy_v2 = level1::axpy<f64>;
    cublasCaxpy_v2 = level1::axpy<Complex<f32>>;
    cublasZaxpy_v2 = level1::axpy<Complex<f64>>;
    cublasSscal_v2 = level1::scal<f32>;
    cublasDscal_v2 = level1::scal<f64>;
    cublasCscal_v2 = level1::scal<Complex<f32>>;
    cublasZscal_v2 = level1::scal<Complex<f64>>;
    cublasScopy_v2 = level1::copy<f32>;
    cublasDcopy_v2 = level1::copy<f64>;
    cublasCcopy_v2 = level1::copy<Complex<f32>>;
    cublasZcopy_v2 = level1::copy<Complex<f64>>;
    cublasSswap_v2 = level1::swap<f32>;
    cublasDswap_v2 = level1::swap<f64>;
    cublasCswap_v2 = level1::swap<Complex<f32>>;
    cublasZswap_v2 = level1::swap<Complex<f64>>;
    cublasCsscal_v2 = level1::scal_real<Complex<f32>>;
    cublasZdscal_v2 = level1::scal_real<Complex<f64>>;
    cublasSdot_v2 = level1::dot<f32>;
    cublasDdot_v2 = level1::dot<f64>;
    cublasCdotu_v2 = level1::dot<Complex<f32>>;
    cublasCdotc_v2 = level1::dotc<Complex<f32>>;
    cublasZdotu_v2 = level1::dot<Complex<f64>>;
    cublasZdotc_v2 = level1::dotc<Complex<f64>>;
    cublasSasum_v2 = level1::asum<f32>;
    cublasSnrm2_v2 = level1::nrm2<f32>;
    cublasDasum_v2 = level1::asum<f64>;
    cublasDnrm2_v2 = level1::nrm2<f64>;
    cublasScasum_v2 = level1::asum<Complex<f32>>;
    cublasScnrm2_v2 = level1::nrm2<Complex<f32>>;
    cublasDzasum_v2 = level1::asum<Complex<f64>>;
    cublasDznrm2_v2 = level1::nrm2<Complex<f64>>;
    cublasIsamax_v2 = level1::amax<f32>;
    cublasIsamin_v2 = level1::amin<f32>;
    cublasIdamax_v2 = level1::amax<f64>;
    cublasIdamin_v2 = level1::amin<f64>;
    cublasIcamax_v2 = level1::amax<Complex<f32>>;
    cublasIcamin_v2 = level1::amin<Complex<f32>>;
    cublasIzamax_v2 = level1::amax<Complex<f64>>;
    cublasIzamin_v2 = level1::amin<Complex<f64>>;
    cublasSrot_v2 = level1::rot<f32, f32>;
    cublasDrot_v2 = level1::rot<f64, f64>;
    cublasCrot_v2 = level1::rot<Complex<f32>, Complex<f32>>;
    cublasZrot_v2 = level1::rot<Complex<f64>, Complex<f64>>;
    cublasCsrot_v2 = level1::rot<Complex<f32>, f32>;
    cublasZdrot_v2 = level1::rot<Complex<f64>, f64>;
    cublasSrotm_v2 = level1::rotm<f32>;
    cublasDrotm_v2 = level1::rotm<f64>;
    cublasSgemvBatched = level2::gemv_batched<f32, f32, f32>;
    cublasDgemvBatched = level2::gemv_batched<f64, f64, f64>;
    cublasCgemvBatched = level2::gemv_batched<Complex<f32>, Complex<f32>, Complex<f32>>;
    cublasZgemvBatched = level2::gemv_batched<Complex<f64>, Complex<f64>, Complex<f64>>;
    cublasHSHgemvBatched = level2::gemv_batched<f16, f16, f32>;
    cublasHSSgemvBatched = level2::gemv_batched<f16, f32, f32>;
    cublasTSTgemvBatched = level2::gemv_batched<bf16, bf16, f32>;
    cublasTSSgemvBatched = level2::gemv_batched<bf16, f32, f32>;
    cublasSetVector = transfer::vector;
    cublasSetVectorAsync = transfer::vector_async;
    cublasGetVector = transfer::vector;
    cublasGetVectorAsync = transfer::vector_async;
    cublasSetMatrix = transfer::matrix;
    cublasSetMatrixAsync = transfer::matrix_async;
    cublasGetMatrix = transfer::matrix;
    cublasGetMatrixAsync = transfer::matrix_async;
    cublasAxpyEx = mixed::axpy;
    cublasScalEx = mixed::scal;
    cublasDotEx = mixed::dot<;false>;
    cublasDotcEx = mixed::dot<;true>;
    cublasNrm2Ex = mixed::nrm2;
    cublasSgemv_v2 = level2::gemv<f32>;
    cublasDgemv_v2 = level2::gemv<f64>;
    cublasCgemv_v2 = level2::gemv<Complex<f32>>;
    cublasZgemv_v2 = level2::gemv<Complex<f64>>;
    cublasSgbmv_v2 = level2::gbmv<f32>;
    cublasDgbmv_v2 = level2::gbmv<f64>;
    cublasCgbmv_v2 = level2::gbmv<Complex<f32>>;
    cublasZgbmv_v2 = level2::gbmv<Complex<f64>>;
    cublasSsymv_v2 = level2::symv<f32; false>;
    cublasDsymv_v2 = level2::symv<f64; false>;
    cublasSsbmv_v2 = level2::sbmv<f32; false>;
    cublasDsbmv_v2 = level2::sbmv<f64; false>;
    cublasSspmv_v2 = level2::spmv<f32; false>;
    cublasDspmv_v2 = level2::spmv<f64; false>;
    cublasCsymv_v2 = level2::symv<Complex<f32>; false>;
    cublasZsymv_v2 = level2::symv<Complex<f64>; false>;
    cublasChemv_v2 = level2::symv<Complex<f32>; true>;
    cublasZhemv_v2 = level2::symv<Complex<f64>; true>;
    cublasChbmv_v2 = level2::sbmv<Complex<f32>; true>;
    cublasZhbmv_v2 = level2::sbmv<Complex<f64>; true>;
    cublasChpmv_v2 = level2::spmv<Complex<f32>; true>;
    cublasZhpmv_v2 = level2::spmv<Complex<f64>; true>;
    cublasStrmv_v2 = level2::trmv<f32>;
    cublasDtrmv_v2 = level2::trmv<f64>;
    cublasCtrmv_v2 = level2::trmv<Complex<f32>>;
    cublasZtrmv_v2 = level2::trmv<Complex<f64>>;
    cublasStbmv_v2 = level2::tbmv<f32>;
    cublasDtbmv_v2 = level2::tbmv<f64>;
    cublasCtbmv_v2 = level2::tbmv<Complex<f32>>;
    cublasZtbmv_v2 = level2::tbmv<Complex<f64>>;
    cublasStpmv_v2 = level2::tpmv<f32>;
    cublasDtpmv_v2 = level2::tpmv<f64>;
    cublasCtpmv_v2 = level2::tpmv<Complex<f32>>;
    cublasZtpmv_v2 = level2::tpmv<Complex<f64>>;
    cublasStrsv_v2 = level2::trsv<f32>;
    cublasDtrsv_v2 = level2::trsv<f64>;
    cublasCtrsv_v2 = level2::trsv<Complex<f32>>;
    cublasZtrsv_v2 = level2::trsv<Complex<f64>>;
    cublasStbsv_v2 = level2::tbsv<f32>;
    cublasDtbsv_v2 = level2::tbsv<f64>;
    cublasCtbsv_v2 = level2::tbsv<Complex<f32>>;
    cublasZtbsv_v2 = level2::tbsv<Complex<f64>>;
    cublasStpsv_v2 = level2::tpsv<f32>;
    cublasDtpsv_v2 = level2::tpsv<f64>;
    cublasCtpsv_v2 = level2::tpsv<Complex<f32>>;
    cublasZtpsv_v2 = level2::tpsv<Complex<f64>>;
    cublasSger_v2 = level2::ger<f32; false>;
    cublasDger_v2 = level2::ger<f64; false>;
    cublasCgeru_v2 = level2::ger<Complex<f32>; false>;
    cublasCgerc_v2 = level2::ger<Complex<f32>; true>;
    cublasZgeru_v2 = level2::ger<Complex<f64>; false>;
    cublasZgerc_v2 = level2::ger<Complex<f64>; true>;
    cublasSsyr_v2 = level2::syr<f32; false>;
    cublasDsyr_v2 = level2::syr<f64; false>;
    cublasCsyr_v2 = level2::syr<Complex<f32>; false>;
    cublasZsyr_v2 = level2::syr<Complex<f64>; false>;
    cublasSsyr2_v2 = level2::syr2<f32; false>;
    cublasDsyr2_v2 = level2::syr2<f64; false>;
    cublasCsyr2_v2 = level2::syr2<Complex<f32>; false>;
    cublasZsyr2_v2 = level2::syr2<Complex<f64>; false>;
    cublasSspr_v2 = level2::spr<f32; false>;
    cublasDspr_v2 = level2::spr<f64; false>;
    cublasSspr2_v2 = level2::spr2<f32; false>;
    cublasDspr2_v2 = level2::spr2<f64; false>;
    cublasCher_v2 = level2::syr<Complex<f32>; true>;
    cublasZher_v2 = level2::syr<Complex<f64>; true>;
    cublasCher2_v2 = level2::syr2<Complex<f32>; true>;
    cublasZher2_v2 = level2::syr2<Complex<f64>; true>;
    cublasChpr_v2 = level2::spr<Complex<f32>; true>;
    cublasZhpr_v2 = level2::spr<Complex<f64>; true>;
    cublasChpr2_v2 = level2::spr2<Complex<f32>; true>;
    cublasZhpr2_v2 = level2::spr2<Complex<f64>; true>;
    cublasSgemvStridedBatched = level2::gemv_strided<f32, f32, f32>;
    cublasDgemvStridedBatched = level2::gemv_strided<f64, f64, f64>;
    cublasCgemvStridedBatched = level2::gemv_strided<Complex<f32>, Complex<f32>, Complex<f32>>;
    cublasZgemvStridedBatched = level2::gemv_strided<Complex<f64>, Complex<f64>, Complex<f64>>;
    cublasHSHgemvStridedBatched = level2::gemv_strided<f16, f16, f32>;
    cublasHSSgemvStridedBatched = level2::gemv_strided<f16, f32, f32>;
    cublasTSTgemvStridedBatched = level2::gemv_strided<bf16, bf16, f32>;
    cublasTSSgemvStridedBatched = level2::gemv_strided<bf16, f32, f32>;
    cublasSsymm_v2 = level3::symm<f32; false>;
    cublasDsymm_v2 = level3::symm<f64; false>;
    cublasCsymm_v2 = level3::symm<Complex<f32>; false>;
    cublasZsymm_v2 = level3::symm<Complex<f64>; false>;
    cublasSsyrk_v2 = level3::syrk<f32; false>;
    cublasDsyrk_v2 = level3::syrk<f64; false>;
    cublasCsyrk_v2 = level3::syrk<Complex<f32>; false>;
    cublasZsyrk_v2 = level3::syrk<Complex<f64>; false>;
    cublasSsyr2k_v2 = level3::syr2k<f32; false>;
    cublasDsyr2k_v2 = level3::syr2k<f64; false>;
    cublasCsyr2k_v2 = level3::syr2k<Complex<f32>; false>;
    cublasZsyr2k_v2 = level3::syr2k<Complex<f64>; false>;
    cublasSsyrkx = level3::syrkx<f32; false>;
    cublasDsyrkx = level3::syrkx<f64; false>;
    cublasCsyrkx = level3::syrkx<Complex<f32>; false>;
    cublasZsyrkx = level3::syrkx<Complex<f64>; false>;
    cublasChemm_v2 = level3::symm<Complex<f32>; true>;
    cublasZhemm_v2 = level3::symm<Complex<f64>; true>;
    cublasCherk_v2 = level3::syrk<Complex<f32>; true>;
    cublasZherk_v2 = level3::syrk<Complex<f64>; true>;
    cublasCher2k_v2 = level3::syr2k<Complex<f32>; true>;
    cublasZher2k_v2 = level3::syr2k<Complex<f64>; true>;
    cublasCherkx = level3::syrkx<Complex<f32>; true>;
    cublasZherkx = level3::syrkx<Complex<f64>; true>;
    cublasStrmm_v2 = level3::trmm<f32>;
    cublasDtrmm_v2 = level3::trmm<f64>;
    cublasCtrmm_v2 = level3::trmm<Complex<f32>>;
    cublasZtrmm_v2 = level3::trmm<Complex<f64>>;
    cublasSgeam = level3::geam<f32>;
    cublasSdgmm = level3::dgmm<f32>;
    cublasStrsm_v2 = solve::trsm<f32>;
    cublasStrsmBatched = solve::trsm_batched<f32>;
    cublasDgeam = level3::geam<f64>;
    cublasDdgmm = level3::dgmm<f64>;
    cublasDtrsm_v2 = solve::trsm<f64>;
    cublasDtrsmBatched = solve::trsm_batched<f64>;
    cublasCgeam = level3::geam<Complex<f32>>;
    cublasCdgmm = level3::dgmm<Complex<f32>>;
    cublasCtrsm_v2 = solve::trsm<Complex<f32>>;
    cublasCtrsmBatched = solve::trsm_batched<Complex<f32>>;
    cublasZgeam = level3::geam<Complex<f64>>;
    cublasZdgmm = level3::dgmm<Complex<f64>>;
    cublasZtrsm_v2 = solve::trsm<Complex<f64>>;
    cublasZtrsmBatched = solve::trsm_batched<Complex<f64>>;
}

export! { "libcublas" [11 12 13]:
    cublasSgetrfBatched = solve::getrf::<f32>;
    cublasSgetrsBatched = solve::getrs::<f32>;
    cublasSgetriBatched = solve::getri::<f32>;
    cublasStpttr = level3::tpttr::<f32>;
    cublasStrttp = level3::trttp::<f32>;
    cublasDgetrfBatched = solve::getrf::<f64>;
    cublasDgetrsBatched = solve::getrs::<f64>;
    cublasDgetriBatched = solve::getri::<f64>;
    cublasDtpttr = level3::tpttr::<f64>;
    cublasDtrttp = level3::trttp::<f64>;
    cublasCgetrfBatched = solve::getrf::<Complex<f32>>;
    cublasCgetrsBatched = solve::getrs::<Complex<f32>>;
    cublasCgetriBatched = solve::getri::<Complex<f32>>;
    cublasCtpttr = level3::tpttr::<Complex<f32>>;
    cublasCtrttp = level3::trttp::<Complex<f32>>;
    cublasZgetrfBatched = solve::getrf::<Complex<f64>>;
    cublasZgetrsBatched = solve::getrs::<Complex<f64>>;
    cublasZgetriBatched = solve::getri::<Complex<f64>>;
    cublasZtpttr = level3::tpttr::<Complex<f64>>;
    cublasZtrttp = level3::trttp::<Complex<f64>>;
    cublasSrotg_v2 = level1::rotg::<f32>;
    cublasDrotg_v2 = level1::rotg::<f64>;
}

export! { "libcublasLt" [11 12 13]:
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

export_by_version! { "libcublasLt" [11 12 13]:
    cublasLtGetVersion = handle::number_of_version;
    cublasLtGetProperty = handle::get_property;
    cublasLtGetCudartVersion = handle::runtime_version;
}
