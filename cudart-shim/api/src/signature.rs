//! C signatures, reduced to the calling convention: the class of each argument.

/// Class of a value in the System V calling convention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// No value (a `void` result).
    Nothing,
    /// 32-bit integer or enumeration.
    Int,
    /// 64-bit integer, pointer, handle.
    Word,
    /// 32-bit float.
    Float,
    /// 8- or 16-bit integer.
    Small,
    /// Structure by value, with its size in bytes.
    Struct(usize),
}

/// Classes of a function's result and arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The result.
    pub result: Class,
    /// The arguments in order.
    pub arguments: Vec<Class>,
}

/// Types that occupy a 64-bit word: pointers by another name, handles, callbacks, 64-bit integers.
const WORDS: &[&str] = &[
    "size_t",
    "unsigned long long",
    "cuuint64_t",
    "CUdeviceptr",
    "CUmemGenericAllocationHandle",
    "CUtexObject",
    "CUsurfObject",
    "CUgraphConditionalHandle",
    "cudaTextureObject_t",
    "cudaSurfaceObject_t",
    "cudaStream_t",
    "cudaEvent_t",
    "cudaGraph_t",
    "cudaGraphNode_t",
    "cudaGraphExec_t",
    "cudaArray_t",
    "cudaArray_const_t",
    "cudaMemPool_t",
    "cudaKernel_t",
    "cudaLibrary_t",
    "cudaUserObject_t",
    "cudaExecutionContext_t",
    "cudaGraphConditionalHandle",
    "cudaMipmappedArray_t",
    "cudaMipmappedArray_const_t",
    "cudaExternalMemory_t",
    "cudaExternalSemaphore_t",
    "cudaGraphicsResource_t",
    "cudaHostFn_t",
    "cudaStreamCallback_t",
    "CUstream",
    "CUevent",
    "CUgraph",
    "CUgraphNode",
    "CUgraphExec",
    "CUarray",
    "CUmipmappedArray",
    "CUcontext",
    "CUmodule",
    "CUlibrary",
    "CUkernel",
    "CUfunction",
    "CUtexref",
    "CUsurfref",
    "CUmemoryPool",
    "CUlinkState",
    "CUhostFn",
    "CUstreamCallback",
    "CUuserObject",
    "cudaLogsCallback_t",
    "cudaLogsCallbackHandle",
    "CUlogsCallback",
    "CUlogsCallbackHandle",
    "CUasyncCallback",
    "cudaAsyncCallback",
    "cudaAsyncCallbackHandle_t",
    "CUasyncCallbackHandle",
    "CUexternalMemory",
    "CUexternalSemaphore",
    "CUgraphicsResource",
    "CUoccupancyB2DSize",
    "CUgreenCtx",
    "CUasyncCallback",
    "CUasyncCallbackHandle",
    "CUlogsCallback",
    "CUlogsCallbackHandle",
    "cudaAsyncCallback",
    "cudaAsyncCallbackHandle_t",
    "cudaLogsCallback_t",
    "cudaLogsCallbackHandle",
    "CUdevResourceDesc",
    "nvJitLinkHandle",
    "nvmlDevice_t",
    "nvmlUnit_t",
    "nvmlEventSet_t",
    "nvmlGpuInstance_t",
    "nvmlComputeInstance_t",
    "nvmlGpmSample_t",
];

/// Structures passed by value, with their size in bytes.
const STRUCTURES: &[(&str, usize)] = &[
    ("dim3", 12),
    ("cudaExtent", 24),
    ("cudaPitchedPtr", 32),
    ("cudaMemLocation", 8),
    ("CUmemLocation", 8),
    ("cudaIpcMemHandle_t", 64),
    ("cudaIpcEventHandle_t", 64),
    ("CUipcMemHandle", 64),
    ("CUipcEventHandle", 64),
    ("cudaChannelFormatDesc", 20),
];

impl Signature {
    /// Parses `result (type name, type name)`; `None` for empty or malformed text.
    pub fn parse(text: &str) -> Option<Signature> {
        let (result, arguments) = text.strip_suffix(')')?.split_once('(')?;
        let arguments = split_arguments(arguments)
            .iter()
            .filter(|argument| **argument != "void")
            .map(|argument| class_of_argument(argument))
            .collect();
        Some(Signature { result: class_of_type(result.trim()), arguments })
    }
}

/// Splits at commas outside parentheses.
fn split_arguments(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|argument| !argument.is_empty())
    .collect()
}

fn class_of_argument(argument: &str) -> Class {
    if argument.contains('*') || argument.contains('[') {
        return Class::Word;
    }
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let without_name = argument.trim_end_matches(is_name).trim_end();
    class_of_type(if without_name.is_empty() { argument } else { without_name })
}

fn class_of_type(text: &str) -> Class {
    let name = text.trim_start_matches("const ").trim();
    if name.contains('*') || WORDS.contains(&name) {
        return Class::Word;
    }
    if let Some((_, size)) = STRUCTURES.iter().find(|(structure, _)| *structure == name) {
        return Class::Struct(*size);
    }
    match name {
        "void" => Class::Nothing,
        "float" => Class::Float,
        "char" | "unsigned char" | "unsigned short" => Class::Small,
        _ => Class::Int,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_and_callbacks_travel_as_words() {
        let signature = Signature::parse(
            "cudaError_t (cudaStream_t stream, void (*callback)(int, int), unsigned int flags, float ms, dim3 grid)",
        );
        let arguments = vec![Class::Word, Class::Word, Class::Int, Class::Float, Class::Struct(12)];
        assert_eq!(signature, Some(Signature { result: Class::Int, arguments }));
    }

    #[test]
    fn void_means_no_argument() {
        let signature = Signature::parse("const char* (void)");
        assert_eq!(signature, Some(Signature { result: Class::Word, arguments: vec![] }));
    }
}
