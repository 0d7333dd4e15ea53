//! Fences (PTX manual 9.7.13.4): one fence strong enough for every order, scope and proxy. The starting
//! thread completes asynchronous copies itself, so proxies need nothing more.

use ptx_frontend::ir::Instruction;

use crate::bind::Binder;
use crate::engine::op::{Flow, Op};
use crate::engine::warp_context::WarpContext;
use crate::ops::Bound;

fn full_fence(_: &mut WarpContext<'_>, _: &Op) -> Flow {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    Flow::Next
}

macro_rules! fences {
    ($($form:ident)*) => {
        $(
            #[doc = concat!("Binds `", stringify!($form), "`.")]
            pub fn $form(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
                let op = b.op(full_fence);
                b.push(op);
                Ok(())
            }
        )*
    };
}

fences! {
    membar fence fence_restricted fence_mbarrier_init fence_proxy_alias fence_proxy_async
    fence_proxy_tensormap_release fence_proxy_tensormap_acquire fence_proxy_async_restricted
    membar_proxy_alias membar_proxy_async
}
