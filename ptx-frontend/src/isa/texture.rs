//! Textures and surfaces: sampled reads, element reads and writes, queries.

/// Lines of this group: `texture_ops! { callback … }` expands to `callback! { … [ lines ] }`.
#[macro_export]
macro_rules! texture_ops {
    ($callback:ident $($before:tt)*) => {
        $callback! { $($before)* [
            /// d = texture at the coordinates, on its finest level; p = resident.
            tex: "tex{.base}<geometry>.v4(.u32|.s32|.f32)(.s32|.f32) d:results{|p:pred}, [a:texture]{, e:offsets}{, f:f32}", 1.0, 10, Texture, Load, "9.7.10.3";
            /// d = texture at the coordinates, on a given level.
            tex_level: "tex.level<geometry>.v4(.u32|.s32|.f32)(.s32|.f32) d:results{|p:pred}, [a:texture], l:T2{, e:offsets}{, f:f32}", 3.1, 20, Texture, Load, "9.7.10.3";
            /// d = texture at the coordinates, on the level for the coordinates' derivatives; the finest
            /// for integers.
            tex_grad: "tex.grad<geometry>.v4(.u32|.s32|.f32)(.s32|.f32) d:results{|p:pred}, [a:texture], x:gradient, y:gradient{, e:offsets}{, f:f32}", 3.1, 20, Texture, Load, "9.7.10.3";
            /// As tex, in half precision.
            tex_f16: "tex{.base}<geometry>.v4.f16(.s32|.f32) d:results{|p:pred}, [a:texture]{, e:offsets}{, f:f32}", 4.2, 53, Texture, Load, "9.7.10.3";
            /// As tex_level, in half precision.
            tex_level_f16: "tex.level<geometry>.v4.f16(.s32|.f32) d:results{|p:pred}, [a:texture], l:T2{, e:offsets}{, f:f32}", 4.2, 53, Texture, Load, "9.7.10.3";
            /// As tex_grad, in half precision.
            tex_grad_f16: "tex.grad<geometry>.v4.f16(.s32|.f32) d:results{|p:pred}, [a:texture], x:gradient, y:gradient{, e:offsets}{, f:f32}", 4.2, 53, Texture, Load, "9.7.10.3";
            /// As tex, in half precision, two components to a register.
            tex_f16x2: "tex{.base}<geometry>.v2.f16x2(.s32|.f32) d:results{|p:pred}, [a:texture]{, e:offsets}{, f:f32}", 4.2, 53, Texture, Load, "9.7.10.3";
            /// As tex_level, in half precision, two components to a register.
            tex_level_f16x2: "tex.level<geometry>.v2.f16x2(.s32|.f32) d:results{|p:pred}, [a:texture], l:T2{, e:offsets}{, f:f32}", 4.2, 53, Texture, Load, "9.7.10.3";
            /// As tex_grad, in half precision, two components to a register.
            tex_grad_f16x2: "tex.grad<geometry>.v2.f16x2(.s32|.f32) d:results{|p:pred}, [a:texture], x:gradient, y:gradient{, e:offsets}{, f:f32}", 4.2, 53, Texture, Load, "9.7.10.3";
            /// d = one component of the four texels around the coordinates.
            tld4: "tld4(.r|.g|.b|.a)(.2d|.a2d|.cube|.acube).v4(.u32|.s32|.f32).f32 d:results{|p:pred}, [a:texture]{, e:offsets}{, f:f32}", 2.2, 20, Texture, Load, "9.7.10.4";
            /// d = a property of a texture.
            txq: "txq(.width|.height|.depth|.channel_data_type|.channel_order|.normalized_coords|.array_size|.num_mipmap_levels|.num_samples).b32 d, [a]", 1.5, 10, Texture, Load, "9.7.10.5";
            /// d = a size of a texture's level.
            txq_level: "txq.level(.width|.height|.depth).b32 d, [a], l:b32", 4.3, 30, Texture, Load, "9.7.10.5";
            /// d = a property of a sampler.
            txq_sampler: "txq(.force_unnormalized_coords|.filter_mode|.addr_mode_0|.addr_mode_1|.addr_mode_2).b32 d, [a]", 1.5, 10, Texture, Load, "9.7.10.5";
            /// p = the handle is that of a texture, sampler or surface.
            istypep: "istypep(.texref|.samplerref|.surfref) p:pred, a:b64", 4.0, 30, Integer, Pure, "9.7.10.6";
            /// d = bytes of a surface.
            suld_b: "suld.b<surface_geometry>{.ca|.cg|.cs|.cv}{.v2|.v4}(.b8|.b16|.b32|.b64)<surface_clamp> d:vector, [a:surface]", 1.5, 11, Texture, Load, "9.7.11.1";
            /// Bytes of a surface = b.
            sust_b: "sust.b<surface_geometry>{.wb|.cg|.cs|.wt}{.v2|.v4}(.b8|.b16|.b32|.b64)<surface_clamp> [a:surface], b:vector", 1.5, 11, Texture, Store, "9.7.11.2";
            /// An element of a surface = b, converted to the surface's format.
            sust_p: "sust.p<surface_geometry>{.wb|.cg|.cs|.wt}{.v2|.v4}(.b32|.u32|.s32|.f32)<surface_clamp> [a:surface], b:vector", 2.0, 20, Texture, Store, "9.7.11.2";
            /// Atomic update of bytes of a surface.
            sured_b: "sured.b.add(.1d|.2d|.3d)(.u32|.u64|.s32)<surface_clamp> [a:surface], b", 3.0, 20
                / "sured.b(.min|.max)(.1d|.2d|.3d)(.u32|.s32|.u64@8.1:50|.s64@8.1:50)<surface_clamp>", 3.0, 20
                / "sured.b(.and|.or)(.1d|.2d|.3d).b32<surface_clamp>", 3.0, 20,
                Texture, Atomic, "9.7.11.3";
            /// Atomic update of an element of a surface.
            sured_p: "sured.p(.add|.and|.or)(.1d|.2d|.3d).b32<surface_clamp> [a:surface], b", 3.0, 20
                / "sured.p(.min|.max)(.1d|.2d|.3d)(.b32|.b64@8.1:50)<surface_clamp>", 3.0, 20,
                Texture, Atomic, "9.7.11.3";
            /// d = a property of a surface.
            suq: "suq(.width|.height|.depth|.channel_data_type|.channel_order|.array_size|.memory_layout).b32 d, [a]", 1.5, 11, Texture, Load, "9.7.11.4";
        ] }
    };
}
