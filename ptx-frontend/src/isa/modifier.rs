//! Dotted tokens of PTX that are not types: `.rn`, `.ftz`, `.global`, `.sync`, …

use serde::{Deserialize, Serialize};

macro_rules! modifiers {
    ($($name:ident = $text:literal,)*) => {
        /// A dotted modifier of an instruction. Variants are tokens in Rust's spelling.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum Modifier { $($name,)* }

        impl Modifier {
            /// Every modifier.
            pub const ALL: &'static [Modifier] = &[$(Modifier::$name,)*];

            /// Token without its leading dot.
            pub fn name(self) -> &'static str {
                match self { $(Modifier::$name => $text,)* }
            }

            /// Modifier with this token (no dot).
            pub fn from_name(name: &str) -> Option<Modifier> {
                match name { $($text => Some(Modifier::$name),)* _ => None }
            }
        }
    };
}

modifiers! {
    // Rounding (manual section 9.4.5 and `cvt`).
    Rn = "rn", Rz = "rz", Rm = "rm", Rp = "rp", Rna = "rna", Rs = "rs", ScaledByPowers = "scaled::n2::ue8m0",
    Rni = "rni", Rzi = "rzi", Rmi = "rmi", Rpi = "rpi",
    // Arithmetic.
    Ftz = "ftz", Sat = "sat", Satfinite = "satfinite", Relu = "relu", Nan = "NaN", Xorsign = "xorsign",
    AbsFlag = "abs", Approx = "approx", Full = "full", Noftz = "noftz", Oob = "oob",
    Lo = "lo", Hi = "hi", Wide = "wide", Cc = "cc", Shiftamt = "shiftamt", Clamp = "clamp", Wrap = "wrap",
    Left = "l", Right = "r", Po = "po", H0 = "h0", H1 = "h1",
    Shr7 = "shr7", Shr15 = "shr15",
    F4e = "f4e", B4e = "b4e", Rc8 = "rc8", Ecl = "ecl", Ecr = "ecr", Rc16 = "rc16",
    // Comparison and Boolean combination.
    Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge",
    Ls = "ls", Hs = "hs", Equ = "equ", Neu = "neu", Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu",
    Num = "num", IsNan = "nan",
    Mask = "mask",
    And = "and", Or = "or", Xor = "xor", Not = "not", Popc = "popc",
    Finite = "finite", Infinite = "infinite", Number = "number", Notanumber = "notanumber", Normal = "normal",
    Subnormal = "subnormal",
    // State spaces.
    Global = "global", Shared = "shared", SharedCta = "shared::cta", SharedCluster = "shared::cluster",
    Local = "local", Const = "const", Param = "param", ParamEntry = "param::entry", ParamFunc = "param::func",
    // Memory consistency.
    Weak = "weak", Relaxed = "relaxed", Acquire = "acquire", Release = "release", AcqRel = "acq_rel", Sc = "sc",
    Volatile = "volatile", Mmio = "mmio", Cta = "cta", Cluster = "cluster", Gpu = "gpu", Sys = "sys", Gl = "gl",
    Alias = "alias", Async = "async", Generic = "generic", Proxy = "proxy", MbarrierInit = "mbarrier_init",
    TensormapGeneric = "tensormap::generic", AsyncGeneric = "async::generic",
    RestrictCta = "sync_restrict::shared::cta", RestrictCluster = "sync_restrict::shared::cluster",
    RestrictClusterRead = "sync_restrict::shared::cluster::read", RestrictRead = "sync_restrict::read",
    RestrictProxyAsync = "sync_restrict::proxy::async",
    // Cache operators and hints.
    Ca = "ca", Cg = "cg", Cs = "cs", Lu = "lu", Cv = "cv", Wb = "wb", Wt = "wt", Nc = "nc",
    L2_64B = "L2::64B", L2_128B = "L2::128B", L2_256B = "L2::256B", L2CacheHint = "L2::cache_hint",
    L1EvictNormal = "L1::evict_normal", L1EvictUnchanged = "L1::evict_unchanged", L1EvictFirst = "L1::evict_first",
    L1EvictLast = "L1::evict_last", L1NoAllocate = "L1::no_allocate",
    L2EvictNormal = "L2::evict_normal", L2EvictFirst = "L2::evict_first", L2EvictLast = "L2::evict_last",
    L2EvictUnchanged = "L2::evict_unchanged", Range = "range", Fractional = "fractional", Cvt = "cvt",
    Tensormap = "tensormap", L1 = "L1", L2 = "L2", Unified = "unified",
    // Vectors.
    V2 = "v2", V4 = "v4", V8 = "v8",
    // Atomics.
    Exch = "exch", Cas = "cas", Add = "add", Inc = "inc", Dec = "dec", Min = "min", Max = "max",
    // Warp-wide operations.
    Sync = "sync", Aligned = "aligned", Up = "up", Down = "down", Bfly = "bfly", Idx = "idx",
    Any = "any", All = "all", Uni = "uni", Ballot = "ballot",
    // Barriers.
    Arrive = "arrive", Red = "red", Warp = "warp", Barrier = "barrier", WaitAll = "wait_all", Wait = "wait",
    // Matrices.
    Load = "load", Store = "store", Mma = "mma", A = "a", B = "b", C = "c", D = "d", Row = "row", Col = "col",
    Sp = "sp", SpOrdered = "sp::ordered_metadata",
    M8n8 = "m8n8", M16n16 = "m16n16", M8n16 = "m8n16", M16n8 = "m16n8",
    KindF8f6f4 = "kind::f8f6f4", KindMxf8f6f4 = "kind::mxf8f6f4", KindMxf4 = "kind::mxf4",
    KindMxf4nvf4 = "kind::mxf4nvf4", BlockScale = "block_scale", ScaleVec1 = "scale_vec::1X",
    ScaleVec2 = "scale_vec::2X", ScaleVec4 = "scale_vec::4X", B8x16 = "b8x16",
    B6x16P32 = "b6x16_p32", B4x16P64 = "b4x16_p64", X1 = "x1", X2 = "x2", X4 = "x4", Trans = "trans",
    M16n16k16 = "m16n16k16", M8n32k16 = "m8n32k16", M32n8k16 = "m32n8k16", M16n16k8 = "m16n16k8",
    M8n8k4 = "m8n8k4", M8n8k16 = "m8n8k16", M8n8k32 = "m8n8k32", M8n8k128 = "m8n8k128",
    M16n8k4 = "m16n8k4", M16n8k8 = "m16n8k8", M16n8k16 = "m16n8k16", M16n8k32 = "m16n8k32", M16n8k64 = "m16n8k64",
    M16n8k128 = "m16n8k128", M16n8k256 = "m16n8k256",
    // Matrices of a warpgroup.
    MmaAsync = "mma_async", Fence = "fence",
    M64n8k8 = "m64n8k8", M64n16k8 = "m64n16k8", M64n24k8 = "m64n24k8", M64n32k8 = "m64n32k8", M64n40k8 = "m64n40k8",
    M64n48k8 = "m64n48k8", M64n56k8 = "m64n56k8", M64n64k8 = "m64n64k8", M64n72k8 = "m64n72k8",
    M64n80k8 = "m64n80k8", M64n88k8 = "m64n88k8", M64n96k8 = "m64n96k8", M64n104k8 = "m64n104k8",
    M64n112k8 = "m64n112k8", M64n120k8 = "m64n120k8", M64n128k8 = "m64n128k8", M64n136k8 = "m64n136k8",
    M64n144k8 = "m64n144k8", M64n152k8 = "m64n152k8", M64n160k8 = "m64n160k8", M64n168k8 = "m64n168k8",
    M64n176k8 = "m64n176k8", M64n184k8 = "m64n184k8", M64n192k8 = "m64n192k8", M64n200k8 = "m64n200k8",
    M64n208k8 = "m64n208k8", M64n216k8 = "m64n216k8", M64n224k8 = "m64n224k8", M64n232k8 = "m64n232k8",
    M64n240k8 = "m64n240k8", M64n248k8 = "m64n248k8", M64n256k8 = "m64n256k8",
    M64n8k16 = "m64n8k16", M64n16k16 = "m64n16k16", M64n24k16 = "m64n24k16", M64n32k16 = "m64n32k16",
    M64n40k16 = "m64n40k16", M64n48k16 = "m64n48k16", M64n56k16 = "m64n56k16", M64n64k16 = "m64n64k16",
    M64n72k16 = "m64n72k16", M64n80k16 = "m64n80k16", M64n88k16 = "m64n88k16", M64n96k16 = "m64n96k16",
    M64n104k16 = "m64n104k16", M64n112k16 = "m64n112k16", M64n120k16 = "m64n120k16", M64n128k16 = "m64n128k16",
    M64n136k16 = "m64n136k16", M64n144k16 = "m64n144k16", M64n152k16 = "m64n152k16", M64n160k16 = "m64n160k16",
    M64n168k16 = "m64n168k16", M64n176k16 = "m64n176k16", M64n184k16 = "m64n184k16", M64n192k16 = "m64n192k16",
    M64n200k16 = "m64n200k16", M64n208k16 = "m64n208k16", M64n216k16 = "m64n216k16", M64n224k16 = "m64n224k16",
    M64n232k16 = "m64n232k16", M64n240k16 = "m64n240k16", M64n248k16 = "m64n248k16", M64n256k16 = "m64n256k16",
    M64n8k32 = "m64n8k32", M64n16k32 = "m64n16k32", M64n24k32 = "m64n24k32", M64n32k32 = "m64n32k32",
    M64n40k32 = "m64n40k32", M64n48k32 = "m64n48k32", M64n56k32 = "m64n56k32", M64n64k32 = "m64n64k32",
    M64n72k32 = "m64n72k32", M64n80k32 = "m64n80k32", M64n88k32 = "m64n88k32", M64n96k32 = "m64n96k32",
    M64n104k32 = "m64n104k32", M64n112k32 = "m64n112k32", M64n120k32 = "m64n120k32", M64n128k32 = "m64n128k32",
    M64n136k32 = "m64n136k32", M64n144k32 = "m64n144k32", M64n152k32 = "m64n152k32", M64n160k32 = "m64n160k32",
    M64n168k32 = "m64n168k32", M64n176k32 = "m64n176k32", M64n184k32 = "m64n184k32", M64n192k32 = "m64n192k32",
    M64n200k32 = "m64n200k32", M64n208k32 = "m64n208k32", M64n216k32 = "m64n216k32", M64n224k32 = "m64n224k32",
    M64n232k32 = "m64n232k32", M64n240k32 = "m64n240k32", M64n248k32 = "m64n248k32", M64n256k32 = "m64n256k32",
    M64n8k64 = "m64n8k64", M64n16k64 = "m64n16k64", M64n24k64 = "m64n24k64", M64n32k64 = "m64n32k64",
    M64n40k64 = "m64n40k64", M64n48k64 = "m64n48k64", M64n56k64 = "m64n56k64", M64n64k64 = "m64n64k64",
    M64n72k64 = "m64n72k64", M64n80k64 = "m64n80k64", M64n88k64 = "m64n88k64", M64n96k64 = "m64n96k64",
    M64n104k64 = "m64n104k64", M64n112k64 = "m64n112k64", M64n120k64 = "m64n120k64", M64n128k64 = "m64n128k64",
    M64n136k64 = "m64n136k64", M64n144k64 = "m64n144k64", M64n152k64 = "m64n152k64", M64n160k64 = "m64n160k64",
    M64n168k64 = "m64n168k64", M64n176k64 = "m64n176k64", M64n184k64 = "m64n184k64", M64n192k64 = "m64n192k64",
    M64n200k64 = "m64n200k64", M64n208k64 = "m64n208k64", M64n216k64 = "m64n216k64", M64n224k64 = "m64n224k64",
    M64n232k64 = "m64n232k64", M64n240k64 = "m64n240k64", M64n248k64 = "m64n248k64", M64n256k64 = "m64n256k64",
    M64n8k256 = "m64n8k256", M64n16k256 = "m64n16k256", M64n24k256 = "m64n24k256", M64n32k256 = "m64n32k256",
    M64n40k256 = "m64n40k256", M64n48k256 = "m64n48k256", M64n56k256 = "m64n56k256", M64n64k256 = "m64n64k256",
    M64n72k256 = "m64n72k256", M64n80k256 = "m64n80k256", M64n88k256 = "m64n88k256", M64n96k256 = "m64n96k256",
    M64n104k256 = "m64n104k256", M64n112k256 = "m64n112k256", M64n120k256 = "m64n120k256",
    M64n128k256 = "m64n128k256", M64n136k256 = "m64n136k256", M64n144k256 = "m64n144k256",
    M64n152k256 = "m64n152k256", M64n160k256 = "m64n160k256", M64n168k256 = "m64n168k256",
    M64n176k256 = "m64n176k256", M64n184k256 = "m64n184k256", M64n192k256 = "m64n192k256",
    M64n200k256 = "m64n200k256", M64n208k256 = "m64n208k256", M64n216k256 = "m64n216k256",
    M64n224k256 = "m64n224k256", M64n232k256 = "m64n232k256", M64n240k256 = "m64n240k256",
    M64n248k256 = "m64n248k256", M64n256k256 = "m64n256k256",
    // Address conversion and queries.
    To = "to", Pack = "pack",
    // Asynchronous copies.
    CommitGroup = "commit_group", WaitGroup = "wait_group", Mbarrier = "mbarrier", Noinc = "noinc",
    LaunchDependents = "launch_dependents", CompleteTxBytes = "mbarrier::complete_tx::bytes",
    Bulk = "bulk", BulkGroup = "bulk_group", Multicast = "multicast::cluster", Read = "read", Prefetch = "prefetch",
    Reduce = "reduce", IgnoreOob = "ignore_oob",
    ProxyReadonly = "proxy::readonly", L1_32B = "L1::32B", ValidAddr = "valid_addr", CpMask = "cp_mask",
    // Memory of several devices.
    LdReduce = "ld_reduce", St = "st", Cp = "cp", AccF32 = "acc::f32", AccF16 = "acc::f16",
    // Copies by tensor maps.
    Tensor = "tensor", Tile = "tile", Gather4 = "tile::gather4", Scatter4 = "tile::scatter4", Im2col = "im2col",
    Im2colNoOffs = "im2col_no_offs", CtaGroup1 = "cta_group::1", CtaGroup2 = "cta_group::2", Replace = "replace",
    CpFenceproxy = "cp_fenceproxy", B1024 = "b1024", GlobalAddress = "global_address", Rank = "rank",
    BoxDim = "box_dim", GlobalDim = "global_dim", GlobalStride = "global_stride", ElementStride = "element_stride",
    Elemtype = "elemtype", InterleaveLayout = "interleave_layout", SwizzleMode = "swizzle_mode",
    FillMode = "fill_mode", SwizzleAtomicity = "swizzle_atomicity",
    // Barriers in shared memory.
    Init = "init", Inval = "inval", ExpectTx = "expect_tx", CompleteTx = "complete_tx", ArriveDrop = "arrive_drop",
    NoComplete = "noComplete", TestWait = "test_wait", TryWait = "try_wait", Parity = "parity",
    PendingCount = "pending_count", CheckLayout = "check_layout", LayoutV0 = "layout::v0", LayoutV1 = "layout::v1",
    PhasePrimary = "phase_type::primary", PhaseConditional = "phase_type::conditional",
    // Geometries of textures and surfaces.
    Geometry1d = "1d", Geometry2d = "2d", Geometry3d = "3d", GeometryA1d = "a1d", GeometryA2d = "a2d",
    Geometry4d = "4d", Geometry5d = "5d",
    GeometryCube = "cube", GeometryAcube = "acube", Geometry2dms = "2dms", GeometryA2dms = "a2dms",
    // Levels and components of textures.
    Base = "base", Level = "level", Grad = "grad", Green = "g",
    // Accesses of surfaces.
    Formatted = "p", Trap = "trap", Zero = "zero",
    // Queries.
    Width = "width", Height = "height", Depth = "depth", ChannelDataType = "channel_data_type",
    ChannelOrder = "channel_order", NormalizedCoords = "normalized_coords", ArraySize = "array_size",
    NumMipmapLevels = "num_mipmap_levels", NumSamples = "num_samples",
    ForceUnnormalizedCoords = "force_unnormalized_coords", FilterMode = "filter_mode",
    AddrMode0 = "addr_mode_0", AddrMode1 = "addr_mode_1", AddrMode2 = "addr_mode_2",
    MemoryLayout = "memory_layout",
}
