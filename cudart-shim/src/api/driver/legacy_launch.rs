//! Launches as before CUDA 4: block shape, shared memory and parameters are properties of the
//! function.

use crate::abi::error::{Error, Result};
use crate::abi::launch_sizes::Sizes;
use crate::abi::{DefaultStream, FunctionHandle, In, StreamHandle};
use crate::api::entry::api;
use crate::objects::legacy_launch::{MAX_PARAMETERS, Setting};
use crate::root::{process, simulator};
use crate::work::kernel_launch::Arguments;
use std::ffi::{c_int, c_uint};
use warp_stream::LaunchShape;

fn set(function: FunctionHandle, change: impl FnOnce(&mut Setting) -> Result<()>) -> Result<()> {
    simulator()?.kernel(function)?;
    change(process().legacy_launches.lock().entry(function).or_default())
}

fn set_parameter(function: FunctionHandle, offset: c_int, bytes: &[u8]) -> Result<()> {
    let offset = usize::try_from(offset).map_err(|_| Error::InvalidValue)?;
    set(function, |setting| setting.set_parameter(offset, bytes))
}

fn launch(function: FunctionHandle, width: c_int, height: c_int, stream: StreamHandle) -> Result<()> {
    let simulator = simulator()?;
    let kernel = simulator.kernel(function)?;
    let setting = process().legacy_launches.lock().get(&function).cloned();
    let Setting { block, shared, parameters } = setting.ok_or(Error::InvalidValue)?;
    let size = |number: c_int| u32::try_from(number).map_err(|_| Error::InvalidValue);
    let shape = LaunchShape::new([size(width)?, size(height)?, 1], block);
    let sizes = Sizes::plain(shape, shared as usize);
    let arguments = Arguments::Block { start: parameters.as_ptr(), length: parameters.len() };
    let stream = simulator.stream(stream, DefaultStream::Legacy)?;
    simulator.launch(function.0, kernel, sizes, arguments, stream)
}

api! { Driver;
    /// Threads of a CTA.
    fn cuFuncSetBlockShape(hfunc: FunctionHandle, x: c_int, y: c_int, z: c_int) {
        let [x, y, z] = [x, y, z].map(|size| u32::try_from(size).unwrap_or(0));
        if x == 0 || y == 0 || z == 0 {
            return Err(Error::InvalidValue);
        }
        set(hfunc, |setting| {
            setting.block = [x, y, z];
            Ok(())
        })
    }

    /// Dynamic shared memory of a CTA.
    fn cuFuncSetSharedSize(hfunc: FunctionHandle, bytes: c_uint) {
        set(hfunc, |setting| {
            setting.shared = bytes;
            Ok(())
        })
    }

    /// Bytes of all parameters.
    fn cuParamSetSize(hfunc: FunctionHandle, numbytes: c_uint) {
        if numbytes as usize > MAX_PARAMETERS {
            return Err(Error::InvalidValue);
        }
        set(hfunc, |setting| {
            setting.parameters.resize(numbytes as usize, 0);
            Ok(())
        })
    }

    /// A parameter of 32 bits.
    fn cuParamSeti(hfunc: FunctionHandle, offset: c_int, value: c_uint) {
        set_parameter(hfunc, offset, &value.to_ne_bytes())
    }

    /// A float parameter.
    fn cuParamSetf(hfunc: FunctionHandle, offset: c_int, value: f32) {
        set_parameter(hfunc, offset, &value.to_ne_bytes())
    }

    /// Any parameter.
    fn cuParamSetv(hfunc: FunctionHandle, offset: c_int, ptr: In<u8>, numbytes: c_uint) {
        set_parameter(hfunc, offset, &ptr.list(numbytes as usize)?)
    }

    /// Launches one CTA.
    fn cuLaunch(f: FunctionHandle) { launch(f, 1, 1, StreamHandle(0)) }

    /// Launches a grid of two dimensions.
    fn cuLaunchGrid(f: FunctionHandle, grid_width: c_int, grid_height: c_int) {
        launch(f, grid_width, grid_height, StreamHandle(0))
    }

    /// Launches a grid of two dimensions in a stream.
    fn cuLaunchGridAsync(f: FunctionHandle, grid_width: c_int, grid_height: c_int, stream: StreamHandle) {
        launch(f, grid_width, grid_height, stream)
    }
}
