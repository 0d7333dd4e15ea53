//! Expansion of PTX instructions into Volta's machine instructions, as far as it is independent of operands.
//! [`super::target`] has the forms that other GPUs expand differently.
//!
//! Numbers and classes are those of ptxas 12.9 for `sm_70`, counted in the machine code of kernels with a
//! single instruction. If the machine code has a fast and a slow path, the fast path counts. Forms that
//! `sm_70` lacks use the expansion of later GPUs.

use warp_stream::OperationClass;
use warp_stream::OperationClass::*;

use super::target::Machine;
use crate::ir::Instruction;
use crate::isa::{
    Atomic as AtomicForm, Compare, Control, Convert, Float, Integer as IntegerForm, Logic, Matrix,
    Memory as MemoryForm, Modifier, Op, Parallel, ScalarType, Texture as TextureForm, Video,
};

/// Expansion of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expansion {
    /// One machine instruction.
    One(OperationClass),
    /// One for each 32-bit half of the result.
    Halves(OperationClass),
    /// One for each half, with a carry from the lower to the upper half.
    Carried(OperationClass),
    /// A chain of machine instructions of these classes and numbers. Each uses the result of the previous
    /// one, and the last gives the result.
    Chain(&'static [(OperationClass, u8)]),
    /// A copy, possibly of a part, that an assembler avoids where possible.
    Same,
}

use Expansion::{Carried, Chain, Halves, One, Same};

/// 32-bit division: absolute values if signed, the reciprocal, two products, and two corrections by a
/// comparison and a guarded sum. A possibly zero divisor is tested at the end.
macro_rules! division_32 {
    ($absolutes:literal, $corrections:literal) => {
        Chain(&[
            (IntegerExtremum, $absolutes),
            (Conversion, 1),
            (SpecialFunction, 1),
            (Integer, 1),
            (Conversion, 1),
            (IntegerMultiply, 4),
            (Integer, $corrections),
        ])
    };
}
const DIVISION_64: &[(OperationClass, u8)] = &[
    (Branch, 1),
    (WideConversion, 1),
    (SpecialFunction, 1),
    (Integer, 1),
    (WideConversion, 1),
    (IntegerMultiply, 24),
    (Integer, 37),
    (Branch, 1),
    (Integer, 1),
];
/// Scaling before and after, for a single-precision result that may be subnormal.
const SCALED: &[(OperationClass, u8)] = &[(Fp32Compare, 1), (Fp32, 1), (SpecialFunction, 1), (Fp32, 1)];

/// 64-bit product: a wide product of the lower halves that absorbs a summand, and two products of a lower
/// and an upper half.
const PRODUCT_64: &[(OperationClass, u8)] = &[(IntegerMultiply, 3), (Integer, 1)];
/// 64-bit product with a 32-bit factor.
const PRODUCT_64_BY_32: &[(OperationClass, u8)] = &[(IntegerMultiply, 2), (Integer, 1)];

/// Expansion for a known second source.
pub(super) fn expansion_with_constant(i: &Instruction, constant: u64, machine: &Machine) -> Expansion {
    (machine.expansion)(i, Some(constant)).or_else(|| of_constant(i, constant)).unwrap_or_else(|| of_volta(i))
}

/// Expansion of an instruction.
pub(super) fn expansion(i: &Instruction, machine: &Machine) -> Expansion {
    (machine.expansion)(i, None).unwrap_or_else(|| of_volta(i))
}

fn of_constant(i: &Instruction, constant: u64) -> Option<Expansion> {
    let ty = i.last_type()?;
    let is_short = i32::try_from(constant as i64).is_ok();
    match (i.op, ty.bits() == 64, ty.is_signed()) {
        (Op::Integer(IntegerForm::mul_lo | IntegerForm::mad_lo), true, _) => {
            is_short.then_some(Chain(PRODUCT_64_BY_32))
        }
        (Op::Integer(IntegerForm::div), false, true) => Some(division_32!(1, 10)),
        (Op::Integer(IntegerForm::rem), false, true) => Some(division_32!(1, 8)),
        (Op::Integer(IntegerForm::div), false, false) => Some(division_32!(0, 6)),
        (Op::Integer(IntegerForm::rem), false, false) => Some(division_32!(0, 5)),
        _ => None,
    }
}

fn of_volta(i: &Instruction) -> Expansion {
    let wide = i.last_type().is_some_and(|ty| ty.bits() == 64);
    match i.op {
        Op::Integer(form) => integer(form, i, wide),
        Op::Float(form) => float(form, i),
        Op::Compare(form) => compare(form, i, wide),
        Op::Logic(form) => logic(form, wide),
        Op::Memory(form) => memory(form),
        Op::Convert(form) => convert(form, i),
        Op::Control(form) => control(form),
        Op::Parallel(form) => parallel(form, i),
        Op::Atomic(form) => atomic(form, i),
        Op::Video(form) => match form {
            Video::vabsdiff4 | Video::vabsdiff2 => One(IntegerExtremum),
            _ => Chain(&[(Integer, 4)]),
        },
        Op::Matrix(form) => matrix(form, i),
        Op::Texture(form) => match form {
            TextureForm::suld_b | TextureForm::sust_b | TextureForm::sust_p => One(Surface),
            TextureForm::sured_b | TextureForm::sured_p => One(Surface),
            TextureForm::istypep => One(Integer),
            _ => One(Texture),
        },
    }
}

fn integer(form: IntegerForm, i: &Instruction, wide: bool) -> Expansion {
    use IntegerForm as F;
    let signed = i.last_type().is_some_and(ScalarType::is_signed);
    match form {
        F::add | F::sub | F::neg | F::add_cc | F::addc | F::sub_cc | F::subc => match wide {
            true => Carried(Integer),
            false => One(Integer),
        },
        F::clmad => One(IntegerMultiply),
        F::mul_lo | F::mad_lo => match wide {
            true => Chain(PRODUCT_64),
            false => One(IntegerMultiply),
        },
        F::mul_hi | F::mad_hi => match (wide, signed) {
            (false, _) => One(IntegerMultiply),
            (true, false) => Chain(&[(IntegerMultiply, 3), (Integer, 2), (IntegerMultiply, 1)]),
            (true, true) => Chain(&[(IntegerMultiply, 3), (Integer, 9), (IntegerMultiply, 1)]),
        },
        F::mul_wide | F::mad_wide => match i.last_type().is_some_and(|ty| ty.bits() == 16) {
            true => Chain(&[(Integer, 2), (IntegerMultiply, 1)]),
            false => One(IntegerMultiply),
        },
        F::mad_cc | F::madc => match wide {
            true => Chain(&[(IntegerMultiply, 4), (Integer, 2)]),
            false => One(IntegerMultiply),
        },
        F::mad_hi_saturating | F::mad24_hi_saturating => Chain(&[(IntegerMultiply, 1), (Integer, 5)]),
        F::add_saturating | F::sub_saturating => Chain(&[(Integer, 5)]),
        F::mul24_lo | F::mad24_lo => Chain(&[(Integer, 2), (IntegerMultiply, 1)]),
        F::mul24_hi | F::mad24_hi => Chain(&[(Integer, 2), (IntegerMultiply, 1), (Integer, 2)]),
        F::sad => match wide {
            true => Chain(&[(Integer, 6)]),
            false => One(IntegerExtremum),
        },
        F::div | F::rem if wide => Chain(DIVISION_64),
        F::div if signed => division_32!(3, 13),
        F::rem if signed => division_32!(3, 11),
        F::div => division_32!(0, 11),
        F::rem => division_32!(0, 9),
        F::abs => match wide {
            true => Chain(&[(Integer, 5)]),
            false => One(IntegerExtremum),
        },
        // Volta has no instruction for it and uses ISETP and SEL.
        F::min | F::max => match wide {
            true => Chain(&[(Integer, 4)]),
            false => Chain(&[(Integer, 2)]),
        },
        F::min_relu | F::max_relu => Chain(&[(IntegerExtremum, 2)]),
        F::add_packed | F::min_packed | F::min_packed_signed | F::max_packed | F::max_packed_signed => {
            One(IntegerExtremum)
        }
        F::popc => match wide {
            true => Chain(&[(PopulationCount, 2), (Integer, 1)]),
            false => One(PopulationCount),
        },
        F::clz => match wide {
            true => Chain(&[(Integer, 2), (BitSearch, 1), (Integer, 3)]),
            false => Chain(&[(BitSearch, 1), (Integer, 1)]),
        },
        F::bfind | F::bfind_shiftamt => match wide {
            true => Chain(&[(BitSearch, 2), (Integer, 2)]),
            false => One(BitSearch),
        },
        F::brev => match wide {
            true => Halves(BitSearch),
            false => One(BitSearch),
        },
        F::bfe => match wide {
            true => Chain(&[(Integer, 8)]),
            false => Chain(&[(Integer, 2)]),
        },
        F::bfi => match wide {
            true => Chain(&[(Integer, 10)]),
            false => Chain(&[(Integer, 3)]),
        },
        F::fns => Chain(&[(Integer, 40)]),
        F::szext | F::bmsk => One(Integer),
        F::dp4a | F::dp2a => One(DotProduct),
    }
}

fn float(form: Float, i: &Instruction) -> Expansion {
    use Float as F;
    let flushes = i.has(Modifier::Ftz);
    match form {
        F::add | F::sub | F::mul | F::fma | F::mad | F::abs | F::neg => One(Fp32),
        F::add_double | F::sub_double | F::mul_double | F::fma_double | F::mad_double => One(Fp64),
        F::abs_double | F::neg_double => One(Fp64),
        F::add_half | F::sub_half | F::mul_half | F::fma_half | F::fma_oob | F::abs_half | F::neg_half => {
            One(Half)
        }
        F::add_pair | F::sub_pair | F::mul_pair | F::fma_pair => Halves(Fp32),
        F::add_mixed | F::sub_mixed | F::fma_mixed => Chain(&[(Half, 1), (Fp32, 1)]),
        F::min | F::max => One(Fp32Compare),
        F::min_three | F::max_three => Chain(&[(Fp32Compare, 2)]),
        F::min_half | F::max_half => One(Half),
        F::min_double | F::max_double => Chain(&[(Fp64Compare, 1), (Fp32Compare, 1), (Integer, 2)]),
        F::div => Chain(&[(SpecialFunction, 1), (Fp32Compare, 1), (Fp32, 4), (Branch, 1), (Fp32, 1)]),
        F::div_approx => match (i.has(Modifier::Full), flushes) {
            (true, _) => Chain(&[(Fp32Compare, 2), (Fp32, 4), (SpecialFunction, 1), (Fp32, 1)]),
            (false, false) => Chain(&[(Fp32Compare, 1), (Fp32, 2), (SpecialFunction, 1), (Fp32, 1)]),
            (false, true) => Chain(&[(SpecialFunction, 1), (Fp32, 1)]),
        },
        F::div_double => Chain(&[
            (SpecialFunction, 1),
            (Fp32Compare, 1),
            (Fp64, 7),
            (Fp32, 1),
            (Fp32Compare, 1),
            (Branch, 1),
            (Fp64, 1),
        ]),
        F::rcp => Chain(&[(Integer, 3), (Branch, 1), (SpecialFunction, 1), (Fp32, 3)]),
        F::rcp_approx => match flushes {
            true => One(SpecialFunction),
            false => Chain(&[(Fp32Compare, 4), (Fp32, 1), (SpecialFunction, 1), (Fp32, 1)]),
        },
        F::rcp_double => {
            Chain(&[(SpecialFunction, 1), (Integer, 1), (Fp32Compare, 1), (Fp64, 4), (Branch, 1), (Fp64, 1)])
        }
        F::sqrt => Chain(&[(SpecialFunction, 1), (Integer, 2), (Branch, 1), (Fp32, 4)]),
        F::sqrt_double => Chain(&[
            (SpecialFunction, 1),
            (Integer, 2),
            (Fp64, 6),
            (Integer, 1),
            (Fp64, 1),
            (Branch, 1),
            (Fp64, 1),
        ]),
        F::sqrt_approx | F::rsqrt_approx | F::lg2_approx | F::ex2_approx => match flushes {
            true => One(SpecialFunction),
            false => Chain(SCALED),
        },
        F::rsqrt_approx_double => {
            Chain(&[(SpecialFunction, 1), (Integer, 2), (Fp64, 4), (Branch, 1), (Fp64, 1)])
        }
        F::rcp_approx_double | F::rsqrt_approx_ftz_double => Chain(&[(SpecialFunction, 1), (Move, 1)]),
        F::sin_approx | F::cos_approx => Chain(&[(Fp32, 1), (SpecialFunction, 1)]),
        F::tanh_approx | F::tanh_approx_half | F::ex2_approx_half | F::ex2_approx_bfloat => {
            One(SpecialFunction)
        }
        F::testp => Chain(&[(Integer, 2)]),
        F::copysign => One(Integer),
    }
}

fn compare(form: Compare, i: &Instruction, wide: bool) -> Expansion {
    use Compare as F;
    let is_double = i.last_type() == Some(ScalarType::F64);
    match form {
        F::setp_integer => match wide {
            true => Chain(&[(Integer, 2)]),
            false => One(Integer),
        },
        F::setp_float => One(Fp32Compare),
        F::setp_double => One(Fp64Compare),
        F::setp_half | F::setp_half_pair | F::set_half | F::set_half_pair => One(Half),
        F::set_integer => Chain(&[(Integer, 2)]),
        F::set_float => match is_double {
            true => Chain(&[(Fp64Compare, 1), (Integer, 1)]),
            false => One(Fp32Compare),
        },
        F::selp => match (wide, i.last_type()) {
            (true, Some(ScalarType::F64)) => Halves(Fp32Compare),
            (true, _) => Halves(Integer),
            (false, Some(ScalarType::F32)) => One(Fp32Compare),
            (false, _) => One(Integer),
        },
        F::slct => Chain(&[(Integer, 2)]),
    }
}

fn logic(form: Logic, wide: bool) -> Expansion {
    use Logic as F;
    match form {
        F::and | F::or | F::xor | F::not | F::shl | F::shr if wide => Halves(Integer),
        F::cnot if wide => Chain(&[(Integer, 4)]),
        F::cnot => Chain(&[(Integer, 2)]),
        F::and
        | F::or
        | F::xor
        | F::not
        | F::shl
        | F::shr
        | F::and_predicate
        | F::or_predicate
        | F::xor_predicate
        | F::not_predicate
        | F::lop3
        | F::lop3_predicate
        | F::shf
        | F::prmt => One(Integer),
    }
}

fn memory(form: MemoryForm) -> Expansion {
    use MemoryForm as F;
    match form {
        F::mov | F::mov_vector | F::cvta_to => Same,
        F::mov_predicate => One(Integer),
        F::ld | F::ld_nc | F::ldu | F::multimem_ld_reduce | F::multimem_ld_reduce_float => One(Load),
        F::st | F::st_async | F::st_async_release | F::st_bulk | F::multimem_st => One(Store),
        F::prefetch
        | F::prefetch_evict
        | F::prefetchu
        | F::prefetch_tensormap
        | F::applypriority
        | F::discard => One(Nothing),
        F::createpolicy_fractional | F::createpolicy_range | F::createpolicy_cvt => One(Move),
        F::mapa | F::getctarank => One(Integer),
        F::cp_async | F::cp_async_hint | F::cp_async_ignore | F::cp_async_ignore_hint => One(Load),
        F::cp_async_bulk_load
        | F::cp_async_bulk_load_inside
        | F::cp_async_bulk_multicast
        | F::cp_async_bulk_tensor
        | F::cp_async_bulk_tensor_multicast
        | F::cp_async_bulk_tensor_image
        | F::cp_async_bulk_tensor_image_multicast => One(Load),
        F::cp_async_bulk_shared
        | F::cp_async_bulk_store
        | F::cp_async_bulk_store_masked
        | F::cp_async_bulk_store_masked_hint
        | F::multimem_cp_async_bulk
        | F::multimem_cp_async_bulk_masked
        | F::cp_async_bulk_tensor_store
        | F::tensormap_cp_fenceproxy
        | F::tensormap_replace_address
        | F::tensormap_replace_stride
        | F::tensormap_replace_dimension
        | F::tensormap_replace_property => One(Store),
        F::cp_reduce_async_bulk
        | F::cp_reduce_async_bulk_shared
        | F::cp_reduce_async_bulk_tensor
        | F::multimem_red
        | F::multimem_red_float
        | F::multimem_cp_reduce_async_bulk => One(Reduction),
        F::cp_async_bulk_prefetch
        | F::cp_async_bulk_prefetch_tensor
        | F::cp_async_bulk_prefetch_tensor_image => One(Nothing),
        F::cp_async_commit_group | F::cp_async_bulk_commit_group => One(Nothing),
        F::cp_async_wait_group | F::cp_async_wait_all | F::cp_async_bulk_wait_group => One(Fence),
        F::isspacep => Chain(&[(SpecialRegister, 1), (Integer, 1)]),
        F::cvta => Chain(&[(SpecialRegister, 1), (Integer, 2)]),
        F::alloca | F::stackrestore => One(Integer),
        F::stacksave => One(Move),
    }
}

fn convert(form: Convert, i: &Instruction) -> Expansion {
    use Convert as F;
    let (to, from) = (i.ty(0), i.ty(1));
    let bits = |ty: Option<ScalarType>| ty.map_or(32, ScalarType::bits);
    let conversion = match bits(to) == 64 || bits(from) == 64 {
        true => WideConversion,
        false => Conversion,
    };
    match form {
        F::integer_to_integer if i.has(Modifier::Sat) => Chain(&[(Integer, 4)]),
        F::integer_to_integer => {
            let signed = from.is_some_and(ScalarType::is_signed);
            match (bits(to), bits(from)) {
                (to, from) if to == from && to >= 16 => Same,
                (64, 8 | 16) => Chain(&[(Integer, 2)]),
                (64, _) => Same,
                (8, _) | (_, 8) => One(Integer),
                (32, 16) if signed => One(Integer),
                _ => Same,
            }
        }
        F::float_to_integer | F::integer_to_float => One(conversion),
        F::float_to_float => match (to, from) {
            (Some(ScalarType::F32), Some(ScalarType::F16)) => One(Half),
            (Some(ScalarType::F32), Some(ScalarType::F32)) if i.has(Modifier::Sat) => One(Fp32),
            _ => One(conversion),
        },
        F::pack | F::pack_more | F::pack_small => One(Integer),
        F::stochastic_narrow => Chain(&[(Conversion, 2)]),
        F::pack_halves
        | F::half_finite
        | F::tf32_away
        | F::tf32
        | F::tf32_finite
        | F::singles_to_fp8
        | F::halves_to_fp8
        | F::fp8_to_halves
        | F::singles_to_fp6
        | F::halves_to_fp6
        | F::fp6_to_halves
        | F::bfloats_to_narrow
        | F::singles_to_power
        | F::bfloats_to_power
        | F::power_to_bfloats
        | F::narrow_to_bfloats
        | F::singles_to_fixed
        | F::singles_to_fixed_scaled
        | F::bfloats_to_fixed
        | F::bfloats_to_fixed_scaled
        | F::fixed_to_bfloats
        | F::fixed_to_bfloats_scaled
        | F::stochastic_halves => One(Conversion),
    }
}

fn control(form: Control) -> Expansion {
    use Control as F;
    match form {
        F::bra | F::call | F::ret => One(Branch),
        F::brx_idx => Chain(&[(Integer, 1), (LoadConstant, 1), (Branch, 1)]),
        F::exit | F::trap | F::brkpt => One(Exit),
        F::nanosleep => One(WarpBarrier),
        F::pmevent | F::pmevent_mask | F::griddepcontrol | F::setmaxnreg => One(Nothing),
    }
}

fn parallel(form: Parallel, i: &Instruction) -> Expansion {
    use Parallel as F;
    match form {
        // On Volta a `NOP` precedes each of them.
        F::bar_sync | F::bar_arrive | F::barrier_sync | F::barrier_arrive => {
            Chain(&[(Nothing, 1), (Barrier, 1)])
        }
        F::bar_red_popc | F::barrier_red_popc | F::bar_red | F::barrier_red => {
            Chain(&[(Nothing, 1), (Barrier, 1), (SpecialRegister, 1)])
        }
        F::barrier_cluster_arrive | F::barrier_cluster_wait => One(Barrier),
        F::bar_warp_sync => One(WarpBarrier),
        F::membar | F::fence => match i.has(Modifier::Cta) {
            true => One(Fence),
            // `MEMBAR`, `ERRBAR` and `CCTL.IVALL`.
            false => Chain(&[(Fence, 2), (Nothing, 1)]),
        },
        F::fence_restricted
        | F::fence_mbarrier_init
        | F::fence_proxy_alias
        | F::fence_proxy_async
        | F::fence_proxy_tensormap_release
        | F::fence_proxy_tensormap_acquire
        | F::fence_proxy_async_restricted
        | F::membar_proxy_alias
        | F::membar_proxy_async => One(Fence),
        F::vote
        | F::vote_ballot
        | F::vote_unmasked
        | F::vote_ballot_unmasked
        | F::match_any
        | F::match_all
        | F::activemask
        | F::redux
        | F::redux_float
        | F::elect => One(Vote),
        F::shfl | F::shfl_unmasked => One(Shuffle),
        F::mbarrier_pending_count => One(Integer),
        F::mbarrier_init | F::mbarrier_inval => One(Store),
        F::mbarrier_expect_tx
        | F::mbarrier_complete_tx
        | F::mbarrier_arrive
        | F::mbarrier_arrive_count
        | F::mbarrier_arrive_no_complete
        | F::mbarrier_arrive_expect_tx
        | F::mbarrier_drop
        | F::mbarrier_drop_count
        | F::mbarrier_drop_no_complete
        | F::mbarrier_drop_expect_tx
        | F::mbarrier_check_layout
        | F::mbarrier_test_wait
        | F::mbarrier_test_wait_parity
        | F::mbarrier_try_wait
        | F::mbarrier_try_wait_parity
        | F::cp_async_mbarrier_arrive => One(Atomic),
    }
}

fn atomic(form: AtomicForm, i: &Instruction) -> Expansion {
    use AtomicForm as F;
    match form {
        // One iteration of a loop around a compare-and-swap.
        F::atom_float if i.has(Modifier::Shared) => {
            Chain(&[(Fp32, 1), (Atomic, 1), (Branch, 1), (Integer, 1)])
        }
        F::atom_bits
        | F::atom_cas
        | F::atom_exch_128
        | F::atom_cas_128
        | F::atom_integer
        | F::atom_count
        | F::atom_float
        | F::atom_singles
        | F::atom_halves
        | F::atom_pairs => One(Atomic),
        F::red_float if i.has(Modifier::Shared) => {
            Chain(&[(Fp32, 1), (Reduction, 1), (Branch, 1), (Integer, 1)])
        }
        F::red_bits
        | F::red_integer
        | F::red_count
        | F::red_float
        | F::red_singles
        | F::red_halves
        | F::red_pairs
        | F::red_async_bits
        | F::red_async_integer
        | F::red_async_wide
        | F::red_async_count
        | F::red_async_release_bits
        | F::red_async_release_integer
        | F::red_async_release_wide
        | F::red_async_release_count => One(Reduction),
    }
}

fn matrix(form: Matrix, i: &Instruction) -> Expansion {
    use Matrix as F;
    let accumulates_half = i.ty(0) == Some(ScalarType::F16);
    match form {
        F::wmma_mma if accumulates_half => Chain(&[(Tensor, 8)]),
        F::wmma_mma => Chain(&[(Tensor, 16)]),
        F::mma_quad_pair => Chain(&[(Tensor, 4)]),
        F::mma_quad_pair_f16 => Chain(&[(Tensor, 2)]),
        F::movmatrix => One(Integer),
        F::wgmma_fence | F::wgmma_commit_group | F::wgmma_wait_group => One(Fence),
        _ => match i.op.line().effect {
            crate::isa::Effect::Load => One(Load),
            crate::isa::Effect::Store => One(Store),
            _ if i.types().all(|ty| !ty.is_float() && ty.class() != crate::isa::TypeClass::Packed) => {
                One(TensorInteger)
            }
            _ => One(Tensor),
        },
    }
}
