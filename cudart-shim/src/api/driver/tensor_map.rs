//! Tensor maps.

use crate::abi::error::{Error, Result};
use crate::abi::{In, Out};
use crate::api::entry::api;
use crate::objects::tensor_map::{Column, Description, check_address, check_place};
use crate::profile::Attribute;
use crate::root::simulator;
use functional::tensor::{BYTES, MAXIMUM_RANK, TensorMap};
use std::ffi::{c_int, c_uint};

/// `CUtensorMap`.
type Opaque = [u8; BYTES];

/// Checks that the device supports tensor maps and that `map` is not null; returns the rank.
fn rank(map: Out<Opaque>, rank: c_uint) -> Result<usize> {
    if simulator()?.profile.attribute(Attribute::TensorMapAccessSupported) == 0 {
        return Err(Error::NotSupported);
    }
    check_place(map.pointer() as usize)?;
    let rank = rank as usize;
    if (1..=MAXIMUM_RANK).contains(&rank) { Ok(rank) } else { Err(Error::InvalidValue) }
}

/// Common inputs of both kinds of maps: sizes, strides and steps; codes of interleave, swizzle,
/// promotion and fill.
fn description(
    rank: usize,
    element: c_int,
    address: u64,
    (sizes, strides, steps): (In<u64>, In<u64>, In<c_uint>),
    [interleave, swizzle, promotion, fill]: [c_int; 4],
) -> Result<Description> {
    let (sizes, strides, steps) = (sizes.list(rank)?, strides.list(rank - 1)?, steps.list(rank)?);
    Ok(Description { element, address, sizes, strides, steps, interleave, swizzle, promotion, fill })
}

api! { Driver;
    /// Makes a map of boxes.
    fn cuTensorMapEncodeTiled(
        tensorMap: Out<Opaque>, tensorDataType: c_int, tensorRank: c_uint, globalAddress: u64, globalDim: In<u64>,
        globalStrides: In<u64>, boxDim: In<c_uint>, elementStrides: In<c_uint>, interleave: c_int, swizzle: c_int,
        l2Promotion: c_int, oobFill: c_int,
    ) {
        let rank = rank(tensorMap, tensorRank)?;
        let lists = (globalDim, globalStrides, elementStrides);
        let codes = [interleave, swizzle, l2Promotion, oobFill];
        let description = description(rank, tensorDataType, globalAddress, lists, codes)?;
        tensorMap.set(description.tiled(&boxDim.list(rank)?)?.encode())
    }

    /// Makes a map of pixel columns. Corners are given along W, H, D in the order of sizes,
    /// innermost first.
    fn cuTensorMapEncodeIm2col(
        tensorMap: Out<Opaque>, tensorDataType: c_int, tensorRank: c_uint, globalAddress: u64, globalDim: In<u64>,
        globalStrides: In<u64>, pixelBoxLowerCorner: In<c_int>, pixelBoxUpperCorner: In<c_int>,
        channelsPerPixel: c_uint, pixelsPerColumn: c_uint, elementStrides: In<c_uint>, interleave: c_int,
        swizzle: c_int, l2Promotion: c_int, oobFill: c_int,
    ) {
        let rank = rank(tensorMap, tensorRank)?;
        let lists = (globalDim, globalStrides, elementStrides);
        let codes = [interleave, swizzle, l2Promotion, oobFill];
        let description = description(rank, tensorDataType, globalAddress, lists, codes)?;
        let spatial = rank.checked_sub(2).ok_or(Error::InvalidValue)?;
        let column = Column {
            lower: pixelBoxLowerCorner.list(spatial)?,
            upper: pixelBoxUpperCorner.list(spatial)?,
            channels: channelsPerPixel,
            pixels: pixelsPerColumn,
        };
        tensorMap.set(description.image(&column)?.encode())
    }

    /// Changes the tensor address of a map.
    fn cuTensorMapReplaceAddress(tensorMap: Out<Opaque>, globalAddress: u64) {
        check_place(tensorMap.pointer() as usize)?;
        // SAFETY: not null, so by the API's contract it points to a map.
        let bytes = unsafe { tensorMap.pointer().read() };
        let map = TensorMap::decode(&bytes).ok_or(Error::InvalidValue)?;
        let map = TensorMap { address: globalAddress, ..map };
        check_address(&map)?;
        tensorMap.set(map.encode())
    }

    /// Requests an allocation class; this device has only the small one.
    fn cuTensorMapSetAllocationClass(tensorMap: Out<Opaque>, allocClass: c_int, outAllocClass: Out<c_int>) {
        outAllocClass.set_if_wanted(SMALL_CLASS);
        check_place(tensorMap.pointer() as usize)?;
        if (0..=LAST_CLASS).contains(&allocClass) { Ok(()) } else { Err(Error::InvalidValue) }
    }
}

/// `CU_TENSOR_MAP_ALLOC_CLASS_SMALL`.
const SMALL_CLASS: c_int = 1;
/// `CU_TENSOR_MAP_ALLOC_CLASS_LARGE`, the last class.
const LAST_CLASS: c_int = 2;
