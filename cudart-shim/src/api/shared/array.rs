//! Queries of sparse, multi-planar and deferred-mapping arrays. Voltsim has none, so every query
//! fails.

use crate::abi::{ArrayHandle, MipmappedArrayHandle, Out};
use crate::api::entry::shared;
use crate::session::context::check_device;
use std::ffi::{c_int, c_uint, c_void};

shared! {
    /// Memory requirements of a deferred-mapping array; always an error.
    fn cudaArrayGetMemoryRequirements = cuArrayGetMemoryRequirements(memoryRequirements: Out<c_void>, array: ArrayHandle, device: c_int) {
        memoryRequirements.check()?;
        check_device(device)?;
        context()?.special_array(array)
    }

    /// Memory requirements of a deferred-mapping mipmapped array; always an error.
    fn cudaMipmappedArrayGetMemoryRequirements = cuMipmappedArrayGetMemoryRequirements(
        memoryRequirements: Out<c_void>, mipmap: MipmappedArrayHandle, device: c_int,
    ) {
        memoryRequirements.check()?;
        check_device(device)?;
        context()?.special_mipmapped_array(mipmap)
    }

    /// Tiles of a sparse array; always an error.
    fn cudaArrayGetSparseProperties = cuArrayGetSparseProperties(sparseProperties: Out<c_void>, array: ArrayHandle) {
        sparseProperties.check()?;
        context()?.special_array(array)
    }

    /// Tiles of a sparse mipmapped array; always an error.
    fn cudaMipmappedArrayGetSparseProperties = cuMipmappedArrayGetSparseProperties(sparseProperties: Out<c_void>, mipmap: MipmappedArrayHandle) {
        sparseProperties.check()?;
        context()?.special_mipmapped_array(mipmap)
    }

    /// A plane of a multi-planar array; always an error.
    fn cudaArrayGetPlane = cuArrayGetPlane(pPlaneArray: Out<ArrayHandle>, hArray: ArrayHandle, _planeIdx: c_uint) {
        pPlaneArray.check()?;
        context()?.special_array(hArray)
    }
}
