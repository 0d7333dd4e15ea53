//! Cache hints, which change no value (PTX manual 9.7.9.15 to 9.7.9.18).

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::ScalarType;

use super::push_copy;
use crate::bind::Binder;
use crate::ops::address_operand::address_operand;
use crate::ops::control::bind_nothing;
use crate::ops::{Bound, forms};

macro_rules! hints {
    ($($form:ident)*) => {
        $(
            #[doc = concat!("Binds `", stringify!($form), "`: values do not depend on it.")]
            pub fn $form(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
                bind_nothing(b)
            }
        )*
    };
}

hints! {
    prefetch_tensormap applypriority discard cp_async_bulk_prefetch
    cp_async_bulk_prefetch_tensor cp_async_bulk_prefetch_tensor_image
}

/// Binds a prefetch, whose addresses a timing model receives.
fn bind_prefetch(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    if b.is_timed() {
        address_operand(b, i, &i.operands[0])?;
    }
    bind_nothing(b)
}

forms! {
    bind_prefetch: prefetch prefetch_evict prefetchu;
}

/// Binds an opaque cache policy as 0; no access uses it.
fn bind_policy(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let policy = b.constant(0, true);
    let d = b.result(&i.operands[0], ScalarType::B64)?;
    push_copy(b, d, policy, true);
    Ok(())
}

/// `createpolicy.fractional`.
pub fn createpolicy_fractional(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_policy(b, i)
}

/// `createpolicy.range`.
pub fn createpolicy_range(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_policy(b, i)
}

/// `createpolicy.cvt`.
pub fn createpolicy_cvt(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_policy(b, i)
}
