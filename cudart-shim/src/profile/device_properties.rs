//! `cudaDeviceProp`, whose layout differs between major versions of the runtime.
//!
//! A list of fields in order, each with its versions; offsets follow from C's alignment rules.
//! Almost every field is a device attribute.

use crate::profile::Attribute::*;
use crate::profile::{Attribute, Profile};

/// Version of the structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// CUDA 11, and `cudaGetDeviceProperties` of CUDA 12: 728 bytes.
    V11,
    /// `cudaGetDeviceProperties_v2` of CUDA 12: 1032 bytes.
    V12,
    /// CUDA 13: 1008 bytes.
    V13,
}

use Content::*;
use Layout::*;

const ALL: &[Layout] = &[V11, V12, V13];
const UNTIL_12: &[Layout] = &[V11, V12];
const FROM_12: &[Layout] = &[V12, V13];
const ONLY_12: &[Layout] = &[V12];
const ONLY_13: &[Layout] = &[V13];

/// Content of a field.
#[derive(Clone, Copy)]
enum Content {
    /// 256 bytes of name.
    Name,
    /// 16 bytes.
    Uuid,
    /// `size_t` bytes of device memory.
    TotalMemory,
    /// `int`s.
    Int(&'static [Attribute]),
    /// `size_t`s.
    Size(&'static [Attribute]),
    /// Zero bytes.
    Zeros(usize),
}

struct Field {
    name: &'static str,
    layouts: &'static [Layout],
    content: Content,
}

const fn field(name: &'static str, layouts: &'static [Layout], content: Content) -> Field {
    Field { name, layouts, content }
}

const FIELDS: &[Field] = &[
    field("name", ALL, Name),
    field("uuid", ALL, Uuid),
    field("luid", ALL, Zeros(8)),
    field("luidDeviceNodeMask", ALL, Zeros(4)),
    field("totalGlobalMem", ALL, TotalMemory),
    field("sharedMemPerBlock", ALL, Size(&[MaxSharedMemoryPerBlock])),
    field("regsPerBlock", ALL, Int(&[MaxRegistersPerBlock])),
    field("warpSize", ALL, Int(&[WarpSize])),
    field("memPitch", ALL, Size(&[MaxPitch])),
    field("maxThreadsPerBlock", ALL, Int(&[MaxThreadsPerBlock])),
    field("maxThreadsDim", ALL, Int(&[MaxBlockDimX, MaxBlockDimY, MaxBlockDimZ])),
    field("maxGridSize", ALL, Int(&[MaxGridDimX, MaxGridDimY, MaxGridDimZ])),
    field("clockRate", UNTIL_12, Int(&[ClockRate])),
    field("totalConstMem", ALL, Size(&[TotalConstantMemory])),
    field("major", ALL, Int(&[ComputeCapabilityMajor])),
    field("minor", ALL, Int(&[ComputeCapabilityMinor])),
    field("textureAlignment", ALL, Size(&[TextureAlignment])),
    field("texturePitchAlignment", ALL, Size(&[TexturePitchAlignment])),
    field("deviceOverlap", UNTIL_12, Int(&[GpuOverlap])),
    field("multiProcessorCount", ALL, Int(&[MultiprocessorCount])),
    field("kernelExecTimeoutEnabled", UNTIL_12, Int(&[KernelExecTimeout])),
    field("integrated", ALL, Int(&[Integrated])),
    field("canMapHostMemory", ALL, Int(&[CanMapHostMemory])),
    field("computeMode", UNTIL_12, Int(&[ComputeMode])),
    field("maxTexture1D", ALL, Int(&[MaxTexture1dWidth])),
    field("maxTexture1DMipmap", ALL, Int(&[MaxTexture1dMipmappedWidth])),
    field("maxTexture1DLinear", UNTIL_12, Int(&[MaxTexture1dLinearWidth])),
    field("maxTexture2D", ALL, Int(&[MaxTexture2dWidth, MaxTexture2dHeight])),
    field("maxTexture2DMipmap", ALL, Int(&[MaxTexture2dMipmappedWidth, MaxTexture2dMipmappedHeight])),
    field(
        "maxTexture2DLinear",
        ALL,
        Int(&[MaxTexture2dLinearWidth, MaxTexture2dLinearHeight, MaxTexture2dLinearPitch]),
    ),
    field("maxTexture2DGather", ALL, Int(&[MaxTexture2dGatherWidth, MaxTexture2dGatherHeight])),
    field("maxTexture3D", ALL, Int(&[MaxTexture3dWidth, MaxTexture3dHeight, MaxTexture3dDepth])),
    field(
        "maxTexture3DAlt",
        ALL,
        Int(&[MaxTexture3dWidthAlternate, MaxTexture3dHeightAlternate, MaxTexture3dDepthAlternate]),
    ),
    field("maxTextureCubemap", ALL, Int(&[MaxTexturecubemapWidth])),
    field("maxTexture1DLayered", ALL, Int(&[MaxTexture1dLayeredWidth, MaxTexture1dLayeredLayers])),
    field(
        "maxTexture2DLayered",
        ALL,
        Int(&[MaxTexture2dLayeredWidth, MaxTexture2dLayeredHeight, MaxTexture2dLayeredLayers]),
    ),
    field(
        "maxTextureCubemapLayered",
        ALL,
        Int(&[MaxTexturecubemapLayeredWidth, MaxTexturecubemapLayeredLayers]),
    ),
    field("maxSurface1D", ALL, Int(&[MaxSurface1dWidth])),
    field("maxSurface2D", ALL, Int(&[MaxSurface2dWidth, MaxSurface2dHeight])),
    field("maxSurface3D", ALL, Int(&[MaxSurface3dWidth, MaxSurface3dHeight, MaxSurface3dDepth])),
    field("maxSurface1DLayered", ALL, Int(&[MaxSurface1dLayeredWidth, MaxSurface1dLayeredLayers])),
    field(
        "maxSurface2DLayered",
        ALL,
        Int(&[MaxSurface2dLayeredWidth, MaxSurface2dLayeredHeight, MaxSurface2dLayeredLayers]),
    ),
    field("maxSurfaceCubemap", ALL, Int(&[MaxSurfacecubemapWidth])),
    field(
        "maxSurfaceCubemapLayered",
        ALL,
        Int(&[MaxSurfacecubemapLayeredWidth, MaxSurfacecubemapLayeredLayers]),
    ),
    field("surfaceAlignment", ALL, Size(&[SurfaceAlignment])),
    field("concurrentKernels", ALL, Int(&[ConcurrentKernels])),
    field("ECCEnabled", ALL, Int(&[EccEnabled])),
    field("pciBusID", ALL, Int(&[PciBusId])),
    field("pciDeviceID", ALL, Int(&[PciDeviceId])),
    field("pciDomainID", ALL, Int(&[PciDomainId])),
    field("tccDriver", ALL, Int(&[TccDriver])),
    field("asyncEngineCount", ALL, Int(&[AsyncEngineCount])),
    field("unifiedAddressing", ALL, Int(&[UnifiedAddressing])),
    field("memoryClockRate", UNTIL_12, Int(&[MemoryClockRate])),
    field("memoryBusWidth", ALL, Int(&[GlobalMemoryBusWidth])),
    field("l2CacheSize", ALL, Int(&[L2CacheSize])),
    field("persistingL2CacheMaxSize", ALL, Int(&[MaxPersistingL2CacheSize])),
    field("maxThreadsPerMultiProcessor", ALL, Int(&[MaxThreadsPerMultiprocessor])),
    field("streamPrioritiesSupported", ALL, Int(&[StreamPrioritiesSupported])),
    field("globalL1CacheSupported", ALL, Int(&[GlobalL1CacheSupported])),
    field("localL1CacheSupported", ALL, Int(&[LocalL1CacheSupported])),
    field("sharedMemPerMultiprocessor", ALL, Size(&[MaxSharedMemoryPerMultiprocessor])),
    field("regsPerMultiprocessor", ALL, Int(&[MaxRegistersPerMultiprocessor])),
    field("managedMemory", ALL, Int(&[ManagedMemory])),
    field("isMultiGpuBoard", ALL, Int(&[MultiGpuBoard])),
    field("multiGpuBoardGroupID", ALL, Int(&[MultiGpuBoardGroupId])),
    field("hostNativeAtomicSupported", ALL, Int(&[HostNativeAtomicSupported])),
    field("singleToDoublePrecisionPerfRatio", UNTIL_12, Int(&[SingleToDoublePrecisionPerfRatio])),
    field("pageableMemoryAccess", ALL, Int(&[PageableMemoryAccess])),
    field("concurrentManagedAccess", ALL, Int(&[ConcurrentManagedAccess])),
    field("computePreemptionSupported", ALL, Int(&[ComputePreemptionSupported])),
    field("canUseHostPointerForRegisteredMem", ALL, Int(&[CanUseHostPointerForRegisteredMem])),
    field("cooperativeLaunch", ALL, Int(&[CooperativeLaunch])),
    field("cooperativeMultiDeviceLaunch", UNTIL_12, Int(&[CooperativeMultiDeviceLaunch])),
    field("sharedMemPerBlockOptin", ALL, Size(&[MaxSharedMemoryPerBlockOptin])),
    field("pageableMemoryAccessUsesHostPageTables", ALL, Int(&[PageableMemoryAccessUsesHostPageTables])),
    field("directManagedMemAccessFromHost", ALL, Int(&[DirectManagedMemAccessFromHost])),
    field("maxBlocksPerMultiProcessor", ALL, Int(&[MaxBlocksPerMultiprocessor])),
    field("accessPolicyMaxWindowSize", ALL, Int(&[MaxAccessPolicyWindowSize])),
    field("reservedSharedMemPerBlock", ALL, Size(&[ReservedSharedMemoryPerBlock])),
    field("hostRegisterSupported", FROM_12, Int(&[HostRegisterSupported])),
    field("sparseCudaArraySupported", FROM_12, Int(&[SparseCudaArraySupported])),
    field("hostRegisterReadOnlySupported", FROM_12, Int(&[ReadOnlyHostRegisterSupported])),
    field("timelineSemaphoreInteropSupported", FROM_12, Int(&[TimelineSemaphoreInteropSupported])),
    field("memoryPoolsSupported", FROM_12, Int(&[MemoryPoolsSupported])),
    field("gpuDirectRDMASupported", FROM_12, Int(&[GpuDirectRdmaSupported])),
    field("gpuDirectRDMAFlushWritesOptions", FROM_12, Int(&[GpuDirectRdmaFlushWritesOptions])),
    field("gpuDirectRDMAWritesOrdering", FROM_12, Int(&[GpuDirectRdmaWritesOrdering])),
    field("memoryPoolSupportedHandleTypes", FROM_12, Int(&[MempoolSupportedHandleTypes])),
    field("deferredMappingCudaArraySupported", FROM_12, Int(&[DeferredMappingCudaArraySupported])),
    field("ipcEventSupported", FROM_12, Int(&[IpcEventSupported])),
    field("clusterLaunch", FROM_12, Int(&[ClusterLaunch])),
    field("unifiedFunctionPointers", FROM_12, Int(&[UnifiedFunctionPointers])),
    field("deviceNumaConfig", ONLY_13, Int(&[NumaConfig])),
    field("deviceNumaId", ONLY_13, Int(&[NumaId])),
    field("mpsEnabled", ONLY_13, Int(&[MpsEnabled])),
    field("hostNumaId", ONLY_13, Int(&[HostNumaId])),
    field("gpuPciDeviceID", ONLY_13, Int(&[GpuPciDeviceId])),
    field("gpuPciSubsystemID", ONLY_13, Int(&[GpuPciSubsystemId])),
    field("hostNumaMultinodeIpcSupported", ONLY_13, Int(&[HostNumaMultinodeIpcSupported])),
    field("reserved", ONLY_12, Zeros(252)),
    field("reserved", ONLY_13, Zeros(224)),
];

impl Content {
    fn alignment(self) -> usize {
        match self {
            Name | Uuid => 1,
            TotalMemory | Size(_) => 8,
            Int(_) => 4,
            // An 8-byte identifier, else `int`s.
            Zeros(bytes) => {
                if bytes == 8 {
                    1
                } else {
                    4
                }
            }
        }
    }

    fn write(self, profile: &Profile, bytes: &mut Vec<u8>) {
        match self {
            Name => {
                let mut name = profile.name.clone().into_bytes();
                name.resize(256, 0);
                bytes.extend(name);
            }
            Uuid => bytes.extend(profile.uuid()),
            TotalMemory => bytes.extend(profile.total_memory.to_le_bytes()),
            Int(attributes) => {
                bytes.extend(
                    attributes.iter().flat_map(|attribute| profile.attribute(*attribute).to_le_bytes()),
                );
            }
            Size(attributes) => bytes.extend(
                attributes.iter().flat_map(|attribute| u64::from(profile.amount(*attribute)).to_le_bytes()),
            ),
            Zeros(count) => bytes.resize(bytes.len() + count, 0),
        }
    }
}

/// The structure's bytes and each field's offset.
fn lay_out(profile: &Profile, layout: Layout) -> (Vec<u8>, Vec<(&'static str, usize)>) {
    let mut bytes = Vec::with_capacity(1032);
    let mut offsets = Vec::with_capacity(FIELDS.len());
    for field in FIELDS.iter().filter(|field| field.layouts.contains(&layout)) {
        bytes.resize(bytes.len().next_multiple_of(field.content.alignment()), 0);
        offsets.push((field.name, bytes.len()));
        field.content.write(profile, &mut bytes);
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    (bytes, offsets)
}

/// `cudaDeviceProp` of a profile.
pub(crate) fn device_properties(profile: &Profile, layout: Layout) -> Vec<u8> {
    lay_out(profile, layout).0
}

#[cfg(test)]
pub(crate) fn offsets(layout: Layout) -> Vec<(&'static str, usize)> {
    lay_out(&Profile::load("titan-v").unwrap(), layout).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layout_has_the_size_of_the_original() {
        let profile = Profile::load("titan-v").unwrap();
        let size = |layout| device_properties(&profile, layout).len();
        assert_eq!((size(V11), size(V12), size(V13)), (728, 1032, 1008));
    }

    #[test]
    fn compute_capability_lies_where_compiled_programs_read_it() {
        let at = |layout, name| offsets(layout).into_iter().find(|(field, _)| *field == name).unwrap().1;
        assert_eq!((at(V11, "major"), at(V13, "major")), (360, 360));
        assert_eq!((at(V11, "multiProcessorCount"), at(V13, "multiProcessorCount")), (388, 384));
    }
}
