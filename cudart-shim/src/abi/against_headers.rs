//! Compares Voltsim's structures with the vendor's headers, if `cargo xtask test` has installed
//! them.
//!
//! Sizes and offsets become static assertions in C, compiled by the host's compiler with the real
//! headers. Without headers the tests report that and pass.

use super::texture::{
    ArrayDescription, ArrayDescription3d, ChannelFormat, DriverResource, DriverTexture, ResourceDescription,
    ResourceDescription13, TextureDescription, TextureDescription11, TextureReference, ViewDescription,
    ViewDescription13,
};
use crate::abi::function_attributes::FunctionAttributes12;
use crate::abi::launch_attribute::LaunchAttribute;
use crate::api::driver::{
    Copy2d, CreateParameters, DeviceLaunch, DriverCopy3d, DriverLaunchConfiguration, LegacyProperties,
};
use crate::api::graph::structures::{
    AllocationParameters, ConditionalParameters, FillParameters, HostParameters, InstantiateParameters,
    KernelParameters, KernelParameters1, MemoryOperationParameters, NodeParameters, UpdateResultInfo,
};
use crate::api::runtime::{AccessDescription, Copy3d, LaunchConfiguration, PeerCopy3d, PointerAttributes13};
use crate::graph::Edge;
use crate::objects::external_memory::HandleDescription;
use crate::objects::interprocess::Handle;
use crate::objects::virtual_memory::AllocationProperties;
use crate::profile::Profile;
use crate::profile::device_properties::{Layout, device_properties, offsets};
use crate::session::batch::{BatchOperation, CopyAttributes};
use crate::session::stream_attribute::Value;
use crate::work::memory_operation::Parameters;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Header folder of CUDA 12 or 13.
fn headers(folder: &str) -> Option<PathBuf> {
    headers_in("packages", folder)
}

fn headers_in(packages: &str, folder: &str) -> Option<PathBuf> {
    let toolchain = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/toolchain");
    let path = toolchain.join(packages).join("nvidia").join(folder);
    let found = path.join("include/cuda_runtime_api.h").exists();
    if !found {
        eprintln!("no headers in {}; nothing to compare with", path.display());
    }
    found.then(|| path.join("include"))
}

/// Compiles the assertions with the headers in `include`; returns the compiler's output on failure.
fn compile(include: &Path, assertions: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("layout.c");
    let text = format!("#include <stddef.h>\n#include <cuda.h>\n#include <cuda_runtime_api.h>\n{assertions}");
    std::fs::write(&source, text).unwrap();
    // Headers that CUDA 12's include come from the compiler's package.
    let compiler_headers = include.join("../../cuda_nvcc/include");
    let output = Command::new("cc")
        .args(["-fsyntax-only", "-I"])
        .arg(include)
        .arg("-I")
        .arg(compiler_headers)
        .arg(&source)
        .output()
        .unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn same_size(text: &mut String, name: &str, bytes: usize) {
    let _ = writeln!(text, "_Static_assert(sizeof({name}) == {bytes}, \"{name}\");");
}

fn same_offset(text: &mut String, structure: &str, field: &str, bytes: usize) {
    let _ =
        writeln!(text, "_Static_assert(offsetof({structure}, {field}) == {bytes}, \"{structure}.{field}\");");
}

fn device_property_assertions(layout: Layout) -> String {
    let mut text = String::new();
    let structure = "struct cudaDeviceProp";
    same_size(&mut text, structure, device_properties(&Profile::load("titan-v").unwrap(), layout).len());
    for (field, offset) in offsets(layout) {
        same_offset(&mut text, structure, field, offset);
    }
    text
}

#[test]
fn device_properties_match_the_cuda_12_header() {
    if let Some(include) = headers("cuda_runtime") {
        compile(&include, &device_property_assertions(Layout::V12)).unwrap();
    }
}

#[test]
fn texture_structures_match_the_cuda_11_header() {
    let Some(include) = headers_in("packages11", "cuda_runtime") else { return };
    let mut text = String::new();
    same_size(&mut text, "struct cudaResourceDesc", size_of::<ResourceDescription>());
    same_size(&mut text, "struct cudaTextureDesc", size_of::<TextureDescription11>());
    same_size(&mut text, "struct cudaTextureDesc_v2", size_of::<TextureDescription>());
    same_size(&mut text, "struct cudaResourceViewDesc", size_of::<ViewDescription>());
    same_size(&mut text, "struct textureReference", size_of::<TextureReference>());
    compile(&include, &text).unwrap();
}

/// Graph node structures equal in all versions.
fn node_structures() -> Vec<(&'static str, usize)> {
    vec![
        ("struct cudaKernelNodeParams", size_of::<KernelParameters1>()),
        ("struct cudaMemsetParams", size_of::<FillParameters>()),
        ("struct cudaHostNodeParams", size_of::<HostParameters>()),
        ("struct cudaMemAllocNodeParams", size_of::<AllocationParameters>()),
        ("CUDA_KERNEL_NODE_PARAMS_v1", size_of::<KernelParameters1>()),
        ("CUDA_MEMSET_NODE_PARAMS", size_of::<FillParameters>()),
        ("CUDA_HOST_NODE_PARAMS", size_of::<HostParameters>()),
        ("CUDA_MEM_ALLOC_NODE_PARAMS", size_of::<AllocationParameters>()),
        ("CUDA_BATCH_MEM_OP_NODE_PARAMS", size_of::<MemoryOperationParameters>()),
    ]
}

/// Graph node structures of CUDA 12 and later.
fn node_structures_of_cuda_12() -> Vec<(&'static str, usize)> {
    let mut structures = node_structures();
    structures.extend([
        ("struct cudaGraphNodeParams", size_of::<NodeParameters>()),
        ("cudaGraphEdgeData", size_of::<Edge>()),
        ("cudaGraphInstantiateParams", size_of::<InstantiateParameters>()),
        ("cudaGraphExecUpdateResultInfo", size_of::<UpdateResultInfo>()),
        ("CUDA_KERNEL_NODE_PARAMS", size_of::<KernelParameters>()),
        ("CUgraphNodeParams", size_of::<NodeParameters>()),
        ("CUDA_CONDITIONAL_NODE_PARAMS", size_of::<ConditionalParameters>()),
        ("CUgraphEdgeData", size_of::<Edge>()),
        ("CUDA_GRAPH_INSTANTIATE_PARAMS", size_of::<InstantiateParameters>()),
        ("CUgraphExecUpdateResultInfo", size_of::<UpdateResultInfo>()),
    ]);
    structures
}

#[test]
fn graph_node_structures_match_each_versions_headers() {
    let mut of_cuda_13 = node_structures_of_cuda_12();
    // CUDA 12's structure lacks the context, its last word.
    of_cuda_13.push(("struct cudaConditionalNodeParams", size_of::<ConditionalParameters>()));
    for (packages, folder, structures) in [
        ("packages11", "cuda_runtime", node_structures()),
        ("packages", "cuda_runtime", node_structures_of_cuda_12()),
        ("packages", "cu13", of_cuda_13),
    ] {
        let Some(include) = headers_in(packages, folder) else { continue };
        let mut text = String::new();
        for (name, bytes) in structures {
            same_size(&mut text, name, bytes);
        }
        for (name, offset) in [("kernelParams", 40), ("sharedMemBytes", 32), ("extra", 48)] {
            same_offset(&mut text, "struct cudaKernelNodeParams", name, offset);
        }
        compile(&include, &text).unwrap();
    }
}

#[test]
fn texture_structures_match_the_cuda_12_header() {
    let Some(include) = headers("cuda_runtime") else { return };
    let mut text = String::new();
    same_size(&mut text, "struct cudaResourceDesc", size_of::<ResourceDescription>());
    same_size(&mut text, "struct cudaTextureDesc", size_of::<TextureDescription>());
    same_size(&mut text, "struct cudaResourceViewDesc", size_of::<ViewDescription>());
    compile(&include, &text).unwrap();
}

#[test]
fn structures_match_the_cuda_13_headers() {
    let Some(include) = headers("cu13") else { return };
    let mut text = device_property_assertions(Layout::V13);
    for (name, bytes) in [
        ("cudaMemcpy3DParms", size_of::<Copy3d>()),
        ("cudaMemcpy3DPeerParms", size_of::<PeerCopy3d>()),
        ("cudaPointerAttributes", size_of::<PointerAttributes13>()),
        ("cudaFuncAttributes", size_of::<FunctionAttributes12>()),
        ("cudaMemAccessDesc", size_of::<AccessDescription>()),
        ("cudaResourceDesc", size_of::<ResourceDescription13>()),
        ("cudaTextureDesc", size_of::<TextureDescription>()),
        ("cudaResourceViewDesc", size_of::<ViewDescription13>()),
        ("cudaChannelFormatDesc", size_of::<ChannelFormat>()),
    ] {
        same_size(&mut text, &format!("struct {name}"), bytes);
    }
    for (name, bytes) in [
        ("cudaLaunchConfig_t", size_of::<LaunchConfiguration>()),
        ("cudaLaunchAttribute", size_of::<LaunchAttribute>()),
        ("CUlaunchAttribute", size_of::<LaunchAttribute>()),
        ("CUlaunchConfig", size_of::<DriverLaunchConfiguration>()),
        ("CUctxCreateParams", size_of::<CreateParameters>()),
        ("CUDA_MEMCPY2D", size_of::<Copy2d>()),
        ("CUDA_MEMCPY3D", size_of::<DriverCopy3d>()),
        ("CUDA_MEMCPY3D_PEER", size_of::<DriverCopy3d>()),
        ("CUdevprop", size_of::<LegacyProperties>()),
        ("CUDA_RESOURCE_DESC", size_of::<DriverResource>()),
        ("CUDA_TEXTURE_DESC", size_of::<DriverTexture>()),
        ("CUDA_RESOURCE_VIEW_DESC", size_of::<ViewDescription13>()),
        ("CUDA_ARRAY_DESCRIPTOR", size_of::<ArrayDescription>()),
        ("CUDA_ARRAY3D_DESCRIPTOR", size_of::<ArrayDescription3d>()),
        ("CUmemAllocationProp", size_of::<AllocationProperties>()),
        ("CUmemcpyAttributes", size_of::<CopyAttributes>()),
        ("CUDA_MEMCPY3D_BATCH_OP", size_of::<BatchOperation>()),
        ("struct cudaMemcpyAttributes", size_of::<CopyAttributes>()),
        ("struct cudaMemcpy3DBatchOp", size_of::<BatchOperation>()),
        ("CUipcMemHandle", size_of::<Handle>()),
        ("CUmemPoolPtrExportData", size_of::<Handle>()),
        ("CUstreamBatchMemOpParams", size_of::<Parameters>()),
        ("CUstreamAttrValue", size_of::<Value>()),
        ("CUDA_LAUNCH_PARAMS", size_of::<DeviceLaunch>()),
    ] {
        same_size(&mut text, name, bytes);
    }
    same_offset(&mut text, "cudaLaunchAttribute", "val", LaunchAttribute::VALUE);
    same_offset(&mut text, "CUlaunchConfig", "hStream", DriverLaunchConfiguration::STREAM);
    let description = "CUDA_EXTERNAL_MEMORY_HANDLE_DESC";
    same_offset(&mut text, description, "handle.fd", HandleDescription::DESCRIPTOR);
    same_offset(&mut text, description, "size", HandleDescription::SIZE);
    same_offset(&mut text, description, "flags", HandleDescription::FLAGS);
    compile(&include, &text).unwrap();
}
