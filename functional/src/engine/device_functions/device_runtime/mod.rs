//! Device runtime for kernels (CUDA programming guide, "CUDA Dynamic Parallelism"): `__cudaCDP2…` since
//! CUDA 12, `cuda…` in older PTX. Requests are executed later, see [`crate::dynamic_parallelism`].

mod transfers;

use std::sync::Arc;

use super::{allocate, answer, argument, argument_bytes, release, write};
use crate::dynamic_parallelism::{
    ChildOperation, ChildRequest, Children, DeviceRuntime, MOST_NESTED, Parameters,
};
use crate::engine::address_translation::lanes_of;
use crate::engine::op::{Flow, Op, Run};
use crate::engine::program::Program;
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;
use crate::launch::{LaunchConfig, LaunchError, check};
use crate::memory::{ALLOCATION_ALIGNMENT, AllocationKind};
use transfers::{memcpy, memcpy_2d, memcpy_3d, memset, memset_2d, memset_3d};
use warp_stream::LaunchShape;

/// Prefix of the names since CUDA 12.
pub(super) const PREFIX: &str = "__cudaCDP2";

/// Function called `name`.
pub(super) fn function(name: &str) -> Option<Run> {
    let (name, is_old) = match name.strip_prefix(PREFIX) {
        Some(name) => (name, false),
        None => (name.strip_prefix("cuda")?, true),
    };
    Some(match name.strip_suffix("_ptsz").unwrap_or(name) {
        "GetParameterBuffer" => get_parameter_buffer,
        "GetParameterBufferV2" => get_parameter_buffer_v2,
        "LaunchDevice" => launch_device,
        "LaunchDeviceV2" => launch_device_v2,
        "DeviceSynchronize" if is_old => device_synchronize,
        "StreamCreateWithFlags" => stream_create,
        "StreamDestroy" | "EventDestroy" => destroy,
        "StreamWaitEvent" => stream_wait_event,
        "EventCreateWithFlags" => event_create,
        "EventRecord" | "EventRecordWithFlags" => event_record,
        "MemcpyAsync" => memcpy,
        "Memcpy2DAsync" => memcpy_2d,
        "Memcpy3DAsync" => memcpy_3d,
        "MemsetAsync" => memset,
        "Memset2DAsync" => memset_2d,
        "Memset3DAsync" => memset_3d,
        "Malloc" => malloc,
        "Free" => free,
        "GetLastError" => get_last_error,
        "PeekAtLastError" => peek_at_last_error,
        "GetErrorString" => get_error_string,
        "GetErrorName" => get_error_name,
        "GetDevice" => get_device,
        "GetDeviceCount" => get_device_count,
        "DeviceGetAttribute" => device_get_attribute,
        "DeviceGetLimit" => device_get_limit,
        "DeviceGetCacheConfig" | "DeviceGetSharedMemConfig" => get_preference,
        "FuncGetAttributes" if is_old => func_get_attributes_v11,
        "FuncGetAttributes" => func_get_attributes,
        "OccupancyMaxActiveBlocksPerMultiprocessor"
        | "OccupancyMaxActiveBlocksPerMultiprocessorWithFlags" => occupancy,
        _ => return None,
    })
}

/// Values of `cudaError_t`.
mod error {
    pub(super) const INVALID_VALUE: i32 = 1;
    pub(super) const MEMORY_ALLOCATION: i32 = 2;
    pub(super) const INVALID_CONFIGURATION: i32 = 9;
    pub(super) const INVALID_MEMCPY_DIRECTION: i32 = 21;
    pub(super) const LAUNCH_MAX_DEPTH_EXCEEDED: i32 = 65;
    pub(super) const INVALID_DEVICE_FUNCTION: i32 = 98;
    pub(super) const INVALID_DEVICE: i32 = 101;
    pub(super) const INVALID_PTX: i32 = 218;
    pub(super) const INVALID_RESOURCE_HANDLE: i32 = 400;
    pub(super) const NOT_SUPPORTED: i32 = 801;
}

/// Failure of one lane's call.
enum Failure {
    /// Error code that the call returns.
    Error(i32),
    /// Fault of the lane.
    Fault(FaultKind),
}

impl From<i32> for Failure {
    fn from(code: i32) -> Failure {
        Failure::Error(code)
    }
}

impl From<FaultKind> for Failure {
    fn from(fault: FaultKind) -> Failure {
        Failure::Fault(fault)
    }
}

type Outcome<T = ()> = Result<T, Failure>;

/// Call of one lane.
struct Call<'r, 'a> {
    w: &'r mut WarpContext<'a>,
    op: &'r Op,
    lane: usize,
}

impl<'a> Call<'_, 'a> {
    fn argument(&self, n: usize) -> u64 {
        argument(self.w, self.op, n, self.lane)
    }

    fn integer(&self, n: usize) -> i32 {
        self.argument(n) as i32
    }

    fn bytes<const N: usize>(&self, n: usize) -> [u8; N] {
        argument_bytes(self.w, self.op, n, self.lane)
    }

    /// Argument `n` as a `dim3`.
    fn size(&self, n: usize) -> [u32; 3] {
        let words = words::<12, 4>(&self.bytes(n));
        [0, 1, 2].map(|axis| u32::from_le_bytes(words[axis]))
    }

    fn children(&self) -> &'a Children {
        let grid = self.w.grid;
        &grid.children
    }

    fn runtime(&self) -> Outcome<&'a Arc<dyn DeviceRuntime>> {
        self.children().runtime.as_ref().ok_or(error::NOT_SUPPORTED.into())
    }

    /// Kernel whose address is argument `n`.
    fn kernel(&self, n: usize) -> Outcome<Arc<Program>> {
        let kernel = self.runtime()?.kernel_at(self.argument(n)).ok_or(error::INVALID_DEVICE_FUNCTION)?;
        kernel.map_err(|_| error::INVALID_PTX.into())
    }

    /// Stores a result at the address in argument `n`.
    fn store(&mut self, n: usize, bytes: &[u8]) -> Outcome {
        let address = self.argument(n);
        if address == 0 {
            return Err(error::INVALID_VALUE.into());
        }
        Ok(write(self.w, self.lane, address, bytes)?)
    }

    /// Calling CTA and thread.
    fn thread(&self) -> (u64, u32) {
        (self.w.cta.index, self.w.warp * 32 + self.lane as u32)
    }

    /// Creates a handle for a stream or event.
    fn make_handle(&self) -> u64 {
        const HANDLES: u64 = 0x5180_0000_0000_0000;
        let mut requests = self.children().requests.lock();
        requests.made += 1;
        let handle = HANDLES | requests.made << 4;
        requests.handles.insert(handle);
        handle
    }

    /// Rejects a handle that this grid did not create.
    fn check_handle(&self, n: usize) -> Outcome {
        let known = self.children().requests.lock().handles.contains(&self.argument(n));
        if known { Ok(()) } else { Err(error::INVALID_RESOURCE_HANDLE.into()) }
    }

    /// Adds work to the stream in argument `n`.
    fn enqueue(&self, n: usize, work: ChildOperation) -> Outcome {
        let is_tail = self.is_tail(n)?;
        let mut requests = self.children().requests.lock();
        let wish = ChildRequest { cta: self.w.cta.index, work };
        if is_tail {
            requests.tail.push(wish)
        } else {
            requests.work.push(wish)
        }
        Ok(())
    }

    /// True for the stream of tail launches. All other streams execute in one order.
    fn is_tail(&self, n: usize) -> Outcome<bool> {
        const NULL: u64 = 0;
        const TAIL_LAUNCH: u64 = 3;
        const FIRE_AND_FORGET: u64 = 4;
        const GRAPH_STREAMS: [u64; 3] = [1 << 56, 2 << 56, 3 << 56];
        match self.argument(n) {
            TAIL_LAUNCH => Ok(true),
            NULL..=FIRE_AND_FORGET => Ok(false),
            stream if GRAPH_STREAMS.contains(&stream) => Err(error::NOT_SUPPORTED.into()),
            _ => self.check_handle(n).map(|()| false),
        }
    }
}

/// Makes the call for each executing lane and returns the error code.
fn each(w: &mut WarpContext<'_>, op: &Op, call: impl for<'r, 'a> Fn(&mut Call<'r, 'a>) -> Outcome) -> Flow {
    for lane in lanes_of(w.mask) {
        let mut one = Call { w: &mut *w, op, lane };
        let code = match call(&mut one) {
            Ok(()) => 0,
            Err(Failure::Error(code)) => {
                let thread = one.thread();
                one.children().requests.lock().errors.insert(thread, code);
                code
            }
            Err(Failure::Fault(fault)) => return w.fault(fault),
        };
        answer(w, op, lane, code as u64);
    }
    Flow::Next
}

/// Makes the call for each executing lane and returns its value, or 0 after an error.
fn each_value(
    w: &mut WarpContext<'_>,
    op: &Op,
    call: impl for<'r, 'a> Fn(&mut Call<'r, 'a>) -> Outcome<u64>,
) -> Flow {
    for lane in lanes_of(w.mask) {
        let mut one = Call { w: &mut *w, op, lane };
        let value = match call(&mut one) {
            Ok(value) => value,
            Err(Failure::Error(code)) => {
                let thread = one.thread();
                one.children().requests.lock().errors.insert(thread, code);
                0
            }
            Err(Failure::Fault(fault)) => return w.fault(fault),
        };
        answer(w, op, lane, value);
    }
    Flow::Next
}

/// Splits `N` bytes into words of `W` bytes.
fn words<const N: usize, const W: usize>(bytes: &[u8; N]) -> Vec<[u8; W]> {
    bytes.chunks_exact(W).map(|word| std::array::from_fn(|index| word[index])).collect()
}

/// Splits `N` bytes into 64-bit numbers.
fn numbers<const N: usize>(bytes: &[u8; N]) -> Vec<u64> {
    words::<N, 8>(bytes).into_iter().map(u64::from_le_bytes).collect()
}

/// Launch of a kernel with these sizes and zero parameters.
fn prepare(
    call: &Call<'_, '_>,
    kernel: Arc<Program>,
    shape: LaunchShape,
    shared: u32,
) -> Outcome<Parameters> {
    let children = call.children();
    if children.depth >= MOST_NESTED {
        return Err(error::LAUNCH_MAX_DEPTH_EXCEEDED.into());
    }
    let config = LaunchConfig {
        shape,
        dynamic_shared: shared,
        parameters: vec![0; kernel.parameter_bytes as usize],
        textures: Arc::clone(&call.w.grid.textures),
        runtime: children.runtime.clone(),
        depth: children.depth,
        deadline: call.w.grid.deadline,
        simt_stack: call.w.grid.simt_stack,
        origin: call.w.grid.origin.clone(),
        ..LaunchConfig::default()
    };
    check(call.w.grid.owner, &kernel, &config).map_err(|_| error::INVALID_CONFIGURATION)?;
    Ok(Parameters { kernel: Some(kernel), config })
}

/// Allocates a parameter block of `bytes` bytes.
fn parameter_block(call: &Call<'_, '_>, bytes: u64, parameters: Parameters) -> Outcome<u64> {
    let memory = &call.w.grid.owner.memory;
    let sm = call.w.cta.sm();
    let address = memory.allocate_on(sm, bytes.max(1), ALLOCATION_ALIGNMENT, AllocationKind::Parameters);
    let address = address.map_err(|_| error::MEMORY_ALLOCATION)?;
    if let Some(checks) = &call.w.grid.checks {
        checks.lock().forget(address, bytes);
    }
    call.children().requests.lock().blocks.insert(address, parameters);
    Ok(address)
}

/// `void *GetParameterBuffer(size_t alignment, size_t size)`.
fn get_parameter_buffer(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each_value(w, op, |call| parameter_block(call, call.argument(1), Parameters::default()))
}

/// `void *GetParameterBufferV2(void *func, dim3 grid, dim3 block, unsigned sharedMemSize)`.
fn get_parameter_buffer_v2(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each_value(w, op, |call| {
        let kernel = call.kernel(0)?;
        let bytes = kernel.parameter_bytes.into();
        let parameters =
            prepare(call, kernel, LaunchShape::new(call.size(1), call.size(2)), call.integer(3) as u32)?;
        parameter_block(call, bytes, parameters)
    })
}

/// Launches the kernel of a parameter block in the stream in argument `stream`.
fn launch_block(
    call: &Call<'_, '_>,
    block: u64,
    stream: usize,
    known: impl FnOnce(Parameters) -> Outcome<Parameters>,
) -> Outcome {
    call.is_tail(stream)?;
    let memory = &call.w.grid.owner.memory;
    let prepared = call.children().requests.lock().blocks.remove(&block);
    let parameters = prepared.ok_or(error::INVALID_VALUE.into()).and_then(known)?;
    let Parameters { kernel: Some(kernel), mut config } = parameters else {
        return Err(error::INVALID_VALUE.into());
    };
    let copied = memory.read(block, &mut config.parameters).and_then(|()| memory.free(block));
    copied.map_err(|_| error::INVALID_VALUE)?;
    call.enqueue(stream, ChildOperation::Launch { kernel, config: Box::new(config) })
}

/// `cudaError_t LaunchDevice(void *func, void *block, dim3 grid, dim3 block, unsigned shared,
/// cudaStream_t)`.
fn launch_device(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| {
        let kernel = call.kernel(0)?;
        launch_block(call, call.argument(1), 5, |_| {
            prepare(call, kernel, LaunchShape::new(call.size(2), call.size(3)), call.integer(4) as u32)
        })
    })
}

/// `cudaError_t LaunchDeviceV2(void *parameterBuffer, cudaStream_t)`.
fn launch_device_v2(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| launch_block(call, call.argument(0), 1, Ok))
}

/// `cudaError_t DeviceSynchronize(void)`: executes the grid's launches so far at once.
fn device_synchronize(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let grid = w.grid;
    let code = match grid.children.run(grid.owner, 1) {
        Ok(()) => 0,
        Err(LaunchError::Fault(fault)) => return w.fault(fault.kind),
        Err(LaunchError::Overdue { seconds, .. }) => return w.fault(FaultKind::Timeout { seconds }),
        Err(_) => error::INVALID_CONFIGURATION,
    };
    w.view.clear();
    each(w, op, |_| if code == 0 { Ok(()) } else { Err(code.into()) })
}

/// `cudaError_t StreamCreateWithFlags(cudaStream_t *, unsigned flags)`.
fn stream_create(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    const NON_BLOCKING: i32 = 1;
    each(w, op, |call| make(call, NON_BLOCKING))
}

/// `cudaError_t EventCreateWithFlags(cudaEvent_t *, unsigned flags)`.
fn event_create(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    const DISABLE_TIMING: i32 = 2;
    each(w, op, |call| make(call, DISABLE_TIMING))
}

/// Creates a stream or event, with the only flags that kernels may use.
fn make(call: &mut Call<'_, '_>, flags: i32) -> Outcome {
    if call.integer(1) != flags {
        return Err(error::INVALID_VALUE.into());
    }
    let handle = call.make_handle();
    call.store(0, &handle.to_le_bytes())
}

/// `cudaError_t StreamDestroy(cudaStream_t)`, `cudaError_t EventDestroy(cudaEvent_t)`.
fn destroy(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| {
        call.check_handle(0)?;
        call.children().requests.lock().handles.remove(&call.argument(0));
        Ok(())
    })
}

/// `cudaError_t StreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned flags)`. All streams execute in one
/// order, so the work before the event is already done.
fn stream_wait_event(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| call.is_tail(0).and_then(|_| call.check_handle(1)))
}

/// `cudaError_t EventRecord(cudaEvent_t, cudaStream_t)`.
fn event_record(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| call.check_handle(0).and_then(|()| call.is_tail(1).map(|_| ())))
}

/// `cudaError_t Malloc(void **, size_t)`.
fn malloc(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| match allocate(call.w, call.argument(1), ALLOCATION_ALIGNMENT) {
        0 => Err(error::MEMORY_ALLOCATION.into()),
        address => call.store(0, &address.to_le_bytes()),
    })
}

/// `cudaError_t Free(void *)`.
fn free(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| {
        let address = call.argument(0);
        if address == 0 || release(call.w, address) { Ok(()) } else { Err(error::INVALID_VALUE.into()) }
    })
}

/// `cudaError_t GetLastError(void)`, of this thread.
fn get_last_error(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each_value(w, op, |call| {
        let thread = call.thread();
        Ok(call.children().requests.lock().errors.remove(&thread).unwrap_or(0) as u64)
    })
}

/// `cudaError_t PeekAtLastError(void)`, of this thread.
fn peek_at_last_error(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each_value(w, op, |call| {
        Ok(call.children().requests.lock().errors.get(&call.thread()).copied().unwrap_or(0) as u64)
    })
}

/// Address of a text in device memory.
fn place_text(call: &Call<'_, '_>, text: String) -> Outcome<u64> {
    if let Some(address) = call.children().requests.lock().texts.get(&text) {
        return Ok(*address);
    }
    let memory = &call.w.grid.owner.memory;
    let placed = memory.allocate(text.len() as u64 + 1, 1, AllocationKind::Parameters);
    let placed = placed.and_then(|address| memory.write(address, text.as_bytes()).map(|()| address));
    let address = placed.map_err(|_| error::MEMORY_ALLOCATION)?;
    call.children().requests.lock().texts.insert(text, address);
    Ok(address)
}

/// `const char *GetErrorString(cudaError_t)`.
fn get_error_string(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each_value(w, op, |call| place_text(call, call.runtime()?.error_texts(call.integer(0)).1))
}

/// `const char *GetErrorName(cudaError_t)`.
fn get_error_name(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each_value(w, op, |call| place_text(call, call.runtime()?.error_texts(call.integer(0)).0))
}

/// `cudaError_t GetDevice(int *)`.
fn get_device(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| {
        let (device, _) = call.runtime()?.device();
        call.store(0, &device.to_le_bytes())
    })
}

/// `cudaError_t GetDeviceCount(int *)`.
fn get_device_count(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| {
        let (_, count) = call.runtime()?.device();
        call.store(0, &count.to_le_bytes())
    })
}

/// `cudaError_t DeviceGetAttribute(int *, cudaDeviceAttr, int device)`.
fn device_get_attribute(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| {
        let runtime = call.runtime()?;
        if call.integer(2) != runtime.device().0 {
            return Err(error::INVALID_DEVICE.into());
        }
        let value = runtime.attribute(call.integer(1))?;
        call.store(0, &value.to_le_bytes())
    })
}

/// `cudaError_t DeviceGetLimit(size_t *, cudaLimit)`.
fn device_get_limit(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| {
        let value = call.runtime()?.limit(call.integer(1))?;
        call.store(0, &value.to_le_bytes())
    })
}

/// `cudaError_t DeviceGetCacheConfig(cudaFuncCache *)` and `cudaError_t
/// DeviceGetSharedMemConfig(…)`: no preference.
fn get_preference(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| call.store(0, &0_i32.to_le_bytes()))
}

/// `cudaError_t FuncGetAttributes(cudaFuncAttributes *, const void *func)`.
fn func_get_attributes(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| store_attributes(call, usize::MAX))
}

/// `FuncGetAttributes` with the structure of CUDA 11.
fn func_get_attributes_v11(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    const BYTES: usize = 56;
    each(w, op, |call| store_attributes(call, BYTES))
}

fn store_attributes(call: &mut Call<'_, '_>, most: usize) -> Outcome {
    let attributes = call.runtime()?.function_attributes(&call.kernel(1)?)?;
    call.store(0, &attributes[..attributes.len().min(most)])
}

/// `cudaError_t OccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *func, int threads,
/// size_t shared)`.
fn occupancy(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| {
        let threads = u32::try_from(call.integer(2)).map_err(|_| error::INVALID_VALUE)?;
        let ctas = call.runtime()?.resident_ctas(&call.kernel(1)?, threads, call.argument(3))?;
        call.store(0, &ctas.to_le_bytes())
    })
}
