//! Every dotted token of PTX that is not a type: `.rn`, `.ftz`, `.global`, `.sync`, …

use serde::{Deserialize, Serialize};

macro_rules! modifiers {
    ($($name:ident = $text:literal,)*) => {
        /// A dotted modifier of an instruction. The variant is the token in Rust's spelling.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum Modifier { $($name,)* }

        impl Modifier {
            /// Every modifier.
            pub const ALL: &'static [Modifier] = &[$(Modifier::$name,)*];

            /// The token without its leading dot.
            pub fn name(self) -> &'static str {
                match self { $(Modifier::$name => $text,)* }
            }

            /// The modifier with this token (no dot).
            pub fn from_name(name: &str) -> Option<Modifier> {
                match name { $($text => Some(Modifier::$name),)* _ => None }
            }
        }
    };
}

modifiers! {
    // Rounding (manual section 9.4.5 and `cvt`).
    Rn = "rn", Rz = "rz", Rm = "rm", Rp = "rp", Rna = "rna", Rs = "rs",
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
    M8n8 = "m8n8", X1 = "x1", X2 = "x2", X4 = "x4", Trans = "trans",
    M16n16k16 = "m16n16k16", M8n32k16 = "m8n32k16", M32n8k16 = "m32n8k16", M16n16k8 = "m16n16k8",
    M8n8k4 = "m8n8k4", M8n8k16 = "m8n8k16", M8n8k32 = "m8n8k32", M8n8k128 = "m8n8k128",
    M16n8k4 = "m16n8k4", M16n8k8 = "m16n8k8", M16n8k16 = "m16n8k16", M16n8k32 = "m16n8k32", M16n8k64 = "m16n8k64",
    M16n8k128 = "m16n8k128", M16n8k256 = "m16n8k256",
    // Address conversion and queries.
    To = "to", Pack = "pack",
    // Asynchronous copies.
    CommitGroup = "commit_group", WaitGroup = "wait_group", Mbarrier = "mbarrier", Noinc = "noinc",
    LaunchDependents = "launch_dependents", CompleteTxBytes = "mbarrier::complete_tx::bytes",
    // Barriers in shared memory.
    Init = "init", Inval = "inval", ExpectTx = "expect_tx", CompleteTx = "complete_tx", ArriveDrop = "arrive_drop",
    NoComplete = "noComplete", TestWait = "test_wait", TryWait = "try_wait", Parity = "parity",
    PendingCount = "pending_count",
    // Geometries of textures and surfaces.
    Geometry1d = "1d", Geometry2d = "2d", Geometry3d = "3d", GeometryA1d = "a1d", GeometryA2d = "a2d",
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
