//! The exported functions, under the version nodes of CUDA 10 and 11, 12 and 13.

use std::ffi::c_int;

use standin_driver::{export, export_by_version, refuse_all};

use crate::{execute, make, plan, status};

export! { "libcufft" [10 11 12]:
    cufftCreate = plan::create;
    cufftDestroy = plan::destroy;
    cufftSetStream = plan::set_stream;
    cufftSetAutoAllocation = plan::set_auto_allocation;
    cufftSetWorkArea = plan::set_work_area;
    cufftGetSize = plan::get_size;
    cufftPlan1d = make::plan_1d;
    cufftPlan2d = make::plan_2d;
    cufftPlan3d = make::plan_3d;
    cufftPlanMany = make::plan_many;
    cufftMakePlan1d = make::make_1d;
    cufftMakePlan2d = make::make_2d;
    cufftMakePlan3d = make::make_3d;
    cufftMakePlanMany = make::make_many::<c_int>;
    cufftMakePlanMany64 = make::make_many::<i64>;
    cufftXtMakePlanMany = make::make_typed;
    cufftEstimate1d = make::estimate_1d;
    cufftEstimate2d = make::estimate_2d;
    cufftEstimate3d = make::estimate_3d;
    cufftEstimateMany = make::estimate_many;
    cufftGetSize1d = make::size_1d;
    cufftGetSize2d = make::size_2d;
    cufftGetSize3d = make::size_3d;
    cufftGetSizeMany = make::size_many::<c_int>;
    cufftGetSizeMany64 = make::size_many::<i64>;
    cufftXtGetSizeMany = make::size_typed;
    cufftExecC2C = execute::complex::<0x29>;
    cufftExecR2C = execute::real::<0x2a>;
    cufftExecC2R = execute::real::<0x2c>;
    cufftExecZ2Z = execute::complex::<0x69>;
    cufftExecD2Z = execute::real::<0x6a>;
    cufftExecZ2D = execute::real::<0x6c>;
    cufftXtExec = execute::any;
}

export_by_version! { "libcufft" [10 11 12]:
    cufftGetVersion = plan::get_version;
    cufftGetProperty = plan::get_property;
}

refuse_all! { "libcufft" [10 11 12] by status::refused:
    cufftSetCompatibilityMode cufftSetPlanPropertyInt64 cufftGetPlanPropertyInt64
    cufftResetPlanProperty cufftXtSetGPUs cufftXtMalloc cufftXtFree cufftXtMemcpy
    cufftXtExecDescriptor cufftXtExecDescriptorC2C cufftXtExecDescriptorR2C
    cufftXtExecDescriptorC2R cufftXtExecDescriptorZ2Z cufftXtExecDescriptorD2Z
    cufftXtExecDescriptorZ2D cufftXtQueryPlan cufftXtSetWorkArea cufftXtSetWorkAreaPolicy
    cufftXtSetCallback cufftXtSetCallbackSharedSize cufftXtClearCallback cufftXtSetJITCallback
    cufftXtSetDistribution cufftXtSetSubformatDefault cufftMpAttachComm cufftMpCreateReshape
}
