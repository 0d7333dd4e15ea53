//! Special registers (manual section 10).

use serde::{Deserialize, Serialize};

use super::requirement::Requirement;
use super::types::ScalarType;

macro_rules! special_registers {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $ty:ident, $ptx:literal, $target:literal;)*) => {
        /// A predefined read-only register.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum SpecialRegister { $($(#[$doc])* $name,)* }

        impl SpecialRegister {
            /// Every special register.
            pub const ALL: &'static [SpecialRegister] = &[$(SpecialRegister::$name,)*];

            /// Register with this name (including its `%`).
            pub fn from_name(name: &str) -> Option<SpecialRegister> {
                match name { $($text => Some(SpecialRegister::$name),)* _ => None }
            }

            /// Name, including the `%`.
            pub fn name(self) -> &'static str {
                match self { $(SpecialRegister::$name => $text,)* }
            }

            /// Type.
            pub fn ty(self) -> ScalarType {
                match self { $(SpecialRegister::$name => ScalarType::$ty,)* }
            }

            /// Requirement on a module to read the register.
            pub fn requirement(self) -> Requirement {
                match self {
                    $(SpecialRegister::$name => Requirement::written(stringify!($ptx), stringify!($target)),)*
                }
            }
        }
    };
}

special_registers! {
    /// Thread within the CTA.
    TidX = "%tid.x", U32, 1.0, 10;
    /// Thread within the CTA.
    TidY = "%tid.y", U32, 1.0, 10;
    /// Thread within the CTA.
    TidZ = "%tid.z", U32, 1.0, 10;
    /// Threads of a CTA.
    NtidX = "%ntid.x", U32, 1.0, 10;
    /// Threads of a CTA.
    NtidY = "%ntid.y", U32, 1.0, 10;
    /// Threads of a CTA.
    NtidZ = "%ntid.z", U32, 1.0, 10;
    /// CTA within the grid.
    CtaidX = "%ctaid.x", U32, 1.0, 10;
    /// CTA within the grid.
    CtaidY = "%ctaid.y", U32, 1.0, 10;
    /// CTA within the grid.
    CtaidZ = "%ctaid.z", U32, 1.0, 10;
    /// CTAs of the grid.
    NctaidX = "%nctaid.x", U32, 1.0, 10;
    /// CTAs of the grid.
    NctaidY = "%nctaid.y", U32, 1.0, 10;
    /// CTAs of the grid.
    NctaidZ = "%nctaid.z", U32, 1.0, 10;
    /// Lane within the warp.
    Laneid = "%laneid", U32, 1.3, 10;
    /// Warp within the CTA.
    Warpid = "%warpid", U32, 1.3, 10;
    /// Warps a CTA can have.
    Nwarpid = "%nwarpid", U32, 2.0, 20;
    /// SM the CTA runs on.
    Smid = "%smid", U32, 1.3, 10;
    /// SMs of the device.
    Nsmid = "%nsmid", U32, 2.0, 20;
    /// Number of the grid launched.
    Gridid = "%gridid", U64, 1.0, 10;
    /// This lane's bit.
    LanemaskEq = "%lanemask_eq", U32, 2.0, 20;
    /// Bits up to this lane.
    LanemaskLe = "%lanemask_le", U32, 2.0, 20;
    /// Bits below this lane.
    LanemaskLt = "%lanemask_lt", U32, 2.0, 20;
    /// Bits from this lane up.
    LanemaskGe = "%lanemask_ge", U32, 2.0, 20;
    /// Bits above this lane.
    LanemaskGt = "%lanemask_gt", U32, 2.0, 20;
    /// Low half of the SM's cycle counter.
    Clock = "%clock", U32, 1.0, 10;
    /// High half of the SM's cycle counter.
    ClockHi = "%clock_hi", U32, 5.0, 20;
    /// The SM's cycle counter.
    Clock64 = "%clock64", U64, 2.0, 20;
    /// Nanoseconds.
    Globaltimer = "%globaltimer", U64, 3.1, 30;
    /// Nanoseconds, low half.
    GlobaltimerLo = "%globaltimer_lo", U32, 3.1, 30;
    /// Nanoseconds, high half.
    GlobaltimerHi = "%globaltimer_hi", U32, 3.1, 30;
    /// Shared memory of the CTA, static and dynamic, bytes.
    TotalSmemSize = "%total_smem_size", U32, 4.1, 20;
    /// Shared memory of the CTA including the reserved part, bytes.
    AggrSmemSize = "%aggr_smem_size", U32, 8.1, 90;
    /// Dynamic shared memory of the CTA, bytes.
    DynamicSmemSize = "%dynamic_smem_size", U32, 4.1, 20;
    /// True if the launch sets a cluster size.
    IsExplicitCluster = "%is_explicit_cluster", Pred, 7.8, 90;
    /// Cluster within the grid.
    ClusteridX = "%clusterid.x", U32, 7.8, 90;
    /// Cluster within the grid.
    ClusteridY = "%clusterid.y", U32, 7.8, 90;
    /// Cluster within the grid.
    ClusteridZ = "%clusterid.z", U32, 7.8, 90;
    /// Clusters of the grid.
    NclusteridX = "%nclusterid.x", U32, 7.8, 90;
    /// Clusters of the grid.
    NclusteridY = "%nclusterid.y", U32, 7.8, 90;
    /// Clusters of the grid.
    NclusteridZ = "%nclusterid.z", U32, 7.8, 90;
    /// CTA within its cluster.
    ClusterCtaidX = "%cluster_ctaid.x", U32, 7.8, 90;
    /// CTA within its cluster.
    ClusterCtaidY = "%cluster_ctaid.y", U32, 7.8, 90;
    /// CTA within its cluster.
    ClusterCtaidZ = "%cluster_ctaid.z", U32, 7.8, 90;
    /// CTAs of a cluster.
    ClusterNctaidX = "%cluster_nctaid.x", U32, 7.8, 90;
    /// CTAs of a cluster.
    ClusterNctaidY = "%cluster_nctaid.y", U32, 7.8, 90;
    /// CTAs of a cluster.
    ClusterNctaidZ = "%cluster_nctaid.z", U32, 7.8, 90;
    /// Rank of the CTA in its cluster.
    ClusterCtarank = "%cluster_ctarank", U32, 7.8, 90;
    /// Total CTAs of a cluster.
    ClusterNctarank = "%cluster_nctarank", U32, 7.8, 90;
    /// Low word of the grid workspace pointer (cooperative groups).
    Envreg1 = "%envreg1", B32, 1.3, 10;
    /// High word of the grid workspace pointer (cooperative groups).
    Envreg2 = "%envreg2", B32, 1.3, 10;
    /// Performance counter, always 0.
    Pm0 = "%pm0", U32, 1.3, 10;
    /// Performance counter, always 0.
    Pm0Wide = "%pm0_64", U64, 4.0, 50;
    /// Performance counter, always 0.
    Pm1 = "%pm1", U32, 1.3, 10;
    /// Performance counter, always 0.
    Pm1Wide = "%pm1_64", U64, 4.0, 50;
    /// Performance counter, always 0.
    Pm2 = "%pm2", U32, 1.3, 10;
    /// Performance counter, always 0.
    Pm2Wide = "%pm2_64", U64, 4.0, 50;
    /// Performance counter, always 0.
    Pm3 = "%pm3", U32, 1.3, 10;
    /// Performance counter, always 0.
    Pm3Wide = "%pm3_64", U64, 4.0, 50;
    /// Performance counter, always 0.
    Pm4 = "%pm4", U32, 3.0, 20;
    /// Performance counter, always 0.
    Pm4Wide = "%pm4_64", U64, 4.0, 50;
    /// Performance counter, always 0.
    Pm5 = "%pm5", U32, 3.0, 20;
    /// Performance counter, always 0.
    Pm5Wide = "%pm5_64", U64, 4.0, 50;
    /// Performance counter, always 0.
    Pm6 = "%pm6", U32, 3.0, 20;
    /// Performance counter, always 0.
    Pm6Wide = "%pm6_64", U64, 4.0, 50;
    /// Performance counter, always 0.
    Pm7 = "%pm7", U32, 3.0, 20;
    /// Performance counter, always 0.
    Pm7Wide = "%pm7_64", U64, 4.0, 50;
    /// Unused word of the driver.
    Envreg0 = "%envreg0", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg3 = "%envreg3", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg4 = "%envreg4", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg5 = "%envreg5", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg6 = "%envreg6", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg7 = "%envreg7", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg8 = "%envreg8", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg9 = "%envreg9", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg10 = "%envreg10", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg11 = "%envreg11", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg12 = "%envreg12", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg13 = "%envreg13", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg14 = "%envreg14", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg15 = "%envreg15", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg16 = "%envreg16", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg17 = "%envreg17", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg18 = "%envreg18", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg19 = "%envreg19", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg20 = "%envreg20", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg21 = "%envreg21", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg22 = "%envreg22", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg23 = "%envreg23", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg24 = "%envreg24", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg25 = "%envreg25", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg26 = "%envreg26", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg27 = "%envreg27", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg28 = "%envreg28", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg29 = "%envreg29", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg30 = "%envreg30", B32, 1.3, 10;
    /// Unused word of the driver.
    Envreg31 = "%envreg31", B32, 1.3, 10;
    /// Executing graph, if the kernel belongs to one.
    CurrentGraphExec = "%current_graph_exec", U64, 8.0, 50;
    /// Start of the reserved part of the CTA's shared memory.
    ReservedSmemOffsetBegin = "%reserved_smem_offset_begin", B32, 7.6, 80;
    /// End of the reserved part of the CTA's shared memory.
    ReservedSmemOffsetEnd = "%reserved_smem_offset_end", B32, 7.6, 80;
    /// Bytes of the reserved part of the CTA's shared memory.
    ReservedSmemOffsetCap = "%reserved_smem_offset_cap", B32, 7.6, 80;
    /// Offset in the reserved part of the CTA's shared memory.
    ReservedSmemOffset0 = "%reserved_smem_offset_0", B32, 7.6, 80;
    /// Offset in the reserved part of the CTA's shared memory; large tiles of cooperative groups use 288
    /// bytes from here.
    ReservedSmemOffset1 = "%reserved_smem_offset_1", B32, 7.6, 80;
    /// Fourth element of the vector, always 0.
    TidW = "%tid.w", U32, 1.0, 10;
    /// Fourth element of the vector, always 0.
    NtidW = "%ntid.w", U32, 1.0, 10;
    /// Fourth element of the vector, always 0.
    CtaidW = "%ctaid.w", U32, 1.0, 10;
    /// Fourth element of the vector, always 0.
    NctaidW = "%nctaid.w", U32, 1.0, 10;
    /// Fourth element of the vector, always 0.
    ClusteridW = "%clusterid.w", U32, 7.8, 90;
    /// Fourth element of the vector, always 0.
    NclusteridW = "%nclusterid.w", U32, 7.8, 90;
    /// Fourth element of the vector, always 0.
    ClusterCtaidW = "%cluster_ctaid.w", U32, 7.8, 90;
    /// Fourth element of the vector, always 0.
    ClusterNctaidW = "%cluster_nctaid.w", U32, 7.8, 90;
}
