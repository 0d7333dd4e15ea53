//! Launches of kernels with their arguments, checked at the call.

use crate::abi::error::{Error, Result};
use crate::abi::launch_sizes::{Sizes, product};
use crate::objects::device::DeviceObjects;
use crate::objects::module::Kernel;
use crate::objects::sass_only;
use functional::engine::program::Program;
use functional::texture::Table;
use ptx_frontend::analyse::ParametersRead;
use std::ffi::c_void;
use std::sync::Arc;

/// Tags of `extra`, an array of tag and value pairs terminated by `END`.
const END: usize = 0;
const BUFFER_POINTER: usize = 1;
const BUFFER_SIZE: usize = 2;
/// Most entries of `extra`.
const MAX_EXTRA: usize = 64;

/// A pointer to an array of pointers: kernel arguments, or tags and values.
pub(crate) type Pointers = *const *const c_void;

/// Location of a launch's arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arguments {
    /// An array of pointers to the arguments.
    Pointers(*const *const c_void),
    /// A parameter block.
    Block { start: *const u8, length: usize },
}

impl Arguments {
    /// From `kernelParams`, or from the parameter block in `extra`.
    pub(crate) fn new(kernel_params: Pointers, extra: Pointers) -> Result<Self> {
        match (kernel_params.is_null(), extra.is_null()) {
            (false, false) => Err(Error::InvalidValue),
            (_, true) => Ok(Self::Pointers(kernel_params)),
            (true, false) => described(extra),
        }
    }
}

fn described(extra: Pointers) -> Result<Arguments> {
    let (mut start, mut size) = (std::ptr::null::<u8>(), std::ptr::null::<usize>());
    for index in (0..MAX_EXTRA).step_by(2) {
        // SAFETY: by the API's contract the list ends with the end tag, and a value follows every
        // other tag.
        let tag = unsafe { extra.add(index).read_unaligned() } as usize;
        if tag == END {
            let length = if size.is_null() {
                0
            } else {
                // SAFETY: by the API's contract the value of this tag points to a size.
                unsafe { size.read_unaligned() }
            };
            return Ok(Arguments::Block { start, length });
        }
        // SAFETY: as above.
        let value = unsafe { extra.add(index + 1).read_unaligned() };
        match tag {
            BUFFER_POINTER => start = value.cast(),
            BUFFER_SIZE => size = value.cast(),
            _ => return Err(Error::InvalidValue),
        }
    }
    Err(Error::InvalidValue)
}

/// Arguments laid out as the kernel declares them.
#[derive(Debug)]
pub(crate) struct ParameterBlock {
    bytes: Box<[u8]>,
    /// Addresses of the arguments in the block.
    pointers: Box<[usize]>,
}

impl ParameterBlock {
    fn new(program: &Program, arguments: Arguments) -> Result<Self> {
        let bytes = parameter_block(program, arguments)?.into_boxed_slice();
        let address = |offset: u32| bytes.as_ptr().wrapping_add(offset as usize) as usize;
        let parameters = &program.kernel().source.parameters;
        let pointers = parameters.iter().map(|parameter| address(parameter.offset)).collect();
        Ok(Self { bytes, pointers })
    }

    /// An array of pointers to the arguments, valid for the life of the block.
    pub(crate) fn pointers(&self) -> *const *const c_void {
        self.pointers.as_ptr().cast()
    }
}

/// A checked launch with its arguments.
#[derive(Debug)]
pub(crate) struct KernelLaunch {
    /// The program's name for the kernel: stub address or handle.
    pub(crate) function: usize,
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) sizes: Sizes,
    pub(crate) parameters: Arc<ParameterBlock>,
    pub(crate) program: Arc<Program>,
    pub(crate) cluster: Option<[u32; 3]>,
    /// Dynamic shared memory in bytes.
    pub(crate) shared: u32,
    /// Reference bindings at the API call. The program may rebind references before the launch
    /// runs.
    pub(crate) textures: Arc<Table>,
}

impl KernelLaunch {
    /// Tells whether the grid is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.sizes.shape.is_empty()
    }

    /// The parameter block.
    pub(crate) fn parameters(&self) -> &[u8] {
        &self.parameters.bytes
    }

    /// The parameter bytes that the kernel reads according to its code.
    pub(crate) fn parameters_read(&self) -> &ParametersRead {
        self.kernel.parameters_read(&self.program)
    }
}

/// Copies the arguments into a parameter block with the kernel's layout.
fn parameter_block(program: &Program, arguments: Arguments) -> Result<Vec<u8>> {
    let mut block = vec![0_u8; program.parameter_bytes as usize];
    match arguments {
        Arguments::Pointers(pointers) => {
            for (index, parameter) in program.kernel().source.parameters.iter().enumerate() {
                if pointers.is_null() {
                    return Err(Error::InvalidValue);
                }
                // SAFETY: by the API's contract there is one pointer per kernel parameter.
                let argument = unsafe { pointers.add(index).read_unaligned() };
                let end = (parameter.offset as usize).saturating_add(parameter.size as usize);
                let Some(target) = block.get_mut(parameter.offset as usize..end) else { continue };
                if argument.is_null() {
                    return Err(Error::InvalidValue);
                }
                // SAFETY: by the API's contract the pointer targets a value of the parameter's
                // type.
                unsafe { std::ptr::copy_nonoverlapping(argument.cast(), target.as_mut_ptr(), target.len()) };
            }
        }
        Arguments::Block { start, length } => {
            let ends = program.kernel().source.parameters.iter();
            let ends =
                ends.map(|parameter| (parameter.offset as usize).saturating_add(parameter.size as usize));
            // The buffer may be longer than the parameters but not shorter.
            if length < ends.max().unwrap_or(0) || start.is_null() && length > 0 {
                return Err(Error::InvalidValue);
            }
            let count = length.min(block.len());
            // SAFETY: by the API's contract the buffer has `length` bytes, and `count` is not
            // larger.
            unsafe { std::ptr::copy_nonoverlapping(start, block.as_mut_ptr(), count) };
        }
    }
    Ok(block)
}

impl DeviceObjects {
    /// Checks a launch. `function` is the program's name for the kernel. An empty grid is an error
    /// only at the launch itself, since graph nodes may get their sizes later.
    pub(crate) fn kernel_launch(
        &self,
        function: usize,
        kernel: Arc<Kernel>,
        sizes: Sizes,
        arguments: Arguments,
    ) -> Result<KernelLaunch> {
        let program = kernel.program().inspect_err(|error| sass_only::note_launch_of(&kernel, *error))?;
        // Placement follows the order of calls, which a resumed run repeats.
        kernel.module.place_code(&program);
        let cluster = if sizes.shape.is_empty() {
            None
        } else {
            self.check_sizes(&kernel, &program, sizes)?;
            self.clusters(&kernel, &program.bounds, &sizes)?
        };
        let shared = u32::try_from(sizes.shared).map_err(|_| Error::InvalidValue)?;
        let parameters = Arc::new(ParameterBlock::new(&program, arguments)?);
        let textures = self.device.textures.snapshot();
        Ok(KernelLaunch { function, kernel, sizes, program, cluster, shared, parameters, textures })
    }

    /// The launch with other sizes, checked.
    pub(crate) fn resized_launch(&self, launch: &KernelLaunch, sizes: Sizes) -> Result<KernelLaunch> {
        let KernelLaunch { function, kernel, program, parameters, shared, textures, .. } = launch;
        self.check_sizes(kernel, program, sizes)?;
        let cluster = self.clusters(kernel, &program.bounds, &sizes)?;
        Ok(KernelLaunch {
            function: *function,
            kernel: Arc::clone(kernel),
            sizes,
            parameters: Arc::clone(parameters),
            program: Arc::clone(program),
            cluster,
            shared: *shared,
            textures: Arc::clone(textures),
        })
    }

    /// Checks the limits of the device and the kernel, with the runtime's error codes.
    fn check_sizes(&self, kernel: &Kernel, program: &Program, sizes: Sizes) -> Result<()> {
        let spec = &self.device.spec;
        let shape = &sizes.shape;
        shape.check(&spec.limits).map_err(|_| Error::InvalidConfiguration)?;
        let threads = u64::from(shape.threads_per_cta());
        let bounds = &program.bounds;
        let too_many = bounds.maximum_threads.is_some_and(|bound| threads > product(bound));
        if too_many || bounds.required_threads.is_some_and(|required| required != shape.block) {
            return Err(Error::InvalidValue);
        }
        if sizes.shared as u64 > self.max_dynamic_shared(kernel, program.static_shared) {
            return Err(Error::InvalidValue);
        }
        if sizes.attributes.cooperative {
            let ctas = shape.cta_count();
            let resident =
                u64::from(self.active_ctas(kernel, &*kernel.resources()?, threads as u32, sizes.shared));
            if ctas > resident.saturating_mul(spec.sms.into()) {
                return Err(Error::CooperativeLaunchTooLarge);
            }
        }
        Ok(())
    }
}
