//! Sparse arrays, arrays of several planes and arrays without memory of their own: there are none, so that no array has
//! what these calls ask for.

use crate::abi::{ArrayHandle, MipmappedArrayHandle, Out};
use crate::api::entry::shared;
use crate::session::context::check_device;
use std::ffi::{c_int, c_uint, c_void};

shared! {
    /// How much memory an array needs whose memory is mapped later: none is such an array.
    fn cudaArrayGetMemoryRequirements = cuArrayGetMemoryRequirements(memoryRequirements: Out<c_void>, array: ArrayHandle, device: c_int) {
        memoryRequirements.check()?;
        check_device(device)?;
        context()?.special_array(array)
    }

    /// As above.
    fn cudaMipmappedArrayGetMemoryRequirements = cuMipmappedArrayGetMemoryRequirements(
        memoryRequirements: Out<c_void>, mipmap: MipmappedArrayHandle, device: c_int,
    ) {
        memoryRequirements.check()?;
        check_device(device)?;
        context()?.special_mipmapped_array(mipmap)
    }

    /// The tiles of a sparse array: none is one.
    fn cudaArrayGetSparseProperties = cuArrayGetSparseProperties(sparseProperties: Out<c_void>, array: ArrayHandle) {
        sparseProperties.check()?;
        context()?.special_array(array)
    }

    /// As above.
    fn cudaMipmappedArrayGetSparseProperties = cuMipmappedArrayGetSparseProperties(sparseProperties: Out<c_void>, mipmap: MipmappedArrayHandle) {
        sparseProperties.check()?;
        context()?.special_mipmapped_array(mipmap)
    }

    /// A plane of an array of several planes: none is one.
    fn cudaArrayGetPlane = cuArrayGetPlane(pPlaneArray: Out<ArrayHandle>, hArray: ArrayHandle, _planeIdx: c_uint) {
        pPlaneArray.check()?;
        context()?.special_array(hArray)
    }
}
