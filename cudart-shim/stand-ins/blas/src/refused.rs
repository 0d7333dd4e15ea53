//! Exported functions without a body. Each returns `CUBLAS_STATUS_NOT_SUPPORTED`, and its first call says
//! so.

use standin_driver::refuse_all;

use crate::status;

refuse_all! { "libcublas" [11 12 13] by status::refused:
    cublasAsumEx cublasAsumEx_64 cublasCbdmm cublasCgelsBatched cublasCgemm3mEx
    cublasCgemm3mEx_64 cublasCgeqrfBatched cublasCherk3mEx cublasCherk3mEx_64 cublasCherkEx
    cublasCherkEx_64 cublasCmatinvBatched cublasCopyEx cublasCopyEx_64 cublasCrotg_v2
    cublasCsyrk3mEx cublasCsyrk3mEx_64 cublasCsyrkEx cublasCsyrkEx_64 cublasDbdmm
    cublasDgelsBatched cublasDgemmGroupedBatched cublasDgemmGroupedBatched_64
    cublasDgeqrfBatched cublasDmatinvBatched cublasDrotmg_v2 cublasGetLoggerCallback
    cublasIamaxEx cublasIamaxEx_64 cublasIaminEx cublasIaminEx_64 cublasRotEx cublasRotEx_64
    cublasRotgEx cublasRotmEx cublasRotmEx_64 cublasRotmgEx cublasSbdmm cublasSgelsBatched
    cublasSgemmGroupedBatched cublasSgemmGroupedBatched_64 cublasSgeqrfBatched
    cublasSmatinvBatched cublasSrotmg_v2 cublasSwapEx cublasSwapEx_64 cublasXtCgemm
    cublasXtChemm cublasXtCher2k cublasXtCherk cublasXtCherkx cublasXtCreate cublasXtCspmm
    cublasXtCsymm cublasXtCsyr2k cublasXtCsyrk cublasXtCsyrkx cublasXtCtrmm cublasXtCtrsm
    cublasXtDestroy cublasXtDeviceSelect cublasXtDgemm cublasXtDspmm cublasXtDsymm
    cublasXtDsyr2k cublasXtDsyrk cublasXtDsyrkx cublasXtDtrmm cublasXtDtrsm cublasXtGetBlockDim
    cublasXtGetNumBoards cublasXtGetPinningMemMode cublasXtMaxBoards cublasXtSetBlockDim
    cublasXtSetCpuRatio cublasXtSetCpuRoutine cublasXtSetPinningMemMode cublasXtSgemm
    cublasXtSspmm cublasXtSsymm cublasXtSsyr2k cublasXtSsyrk cublasXtSsyrkx cublasXtStrmm
    cublasXtStrsm cublasXtZgemm cublasXtZhemm cublasXtZher2k cublasXtZherk cublasXtZherkx
    cublasXtZspmm cublasXtZsymm cublasXtZsyr2k cublasXtZsyrk cublasXtZsyrkx cublasXtZtrmm
    cublasXtZtrsm cublasZbdmm cublasZgelsBatched cublasZgeqrfBatched cublasZmatinvBatched
    cublasZrotg_v2
}

refuse_all! { "libcublasLt" [11 12 13] by status::refused:
    cublasLtMatrixTransform cublasLtMatmulAlgoConfigGetAttributeRange
}
