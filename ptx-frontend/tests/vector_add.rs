//! A vector addition compiled by nvcc, from text to typed form.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

use ptx_frontend::Module;
use ptx_frontend::ir::{AddressBase, InstructionIndex, Operand, RegisterId};
use ptx_frontend::isa::{Integer, Op, ScalarType, SpecialRegister};

const VECTOR_ADD: &str = "
.version 9.5
.target sm_75
.address_size 64
	// .globl	_Z9vectorAddPKfS0_Pfi
.visible .entry _Z9vectorAddPKfS0_Pfi(
	.param .u64 _Z9vectorAddPKfS0_Pfi_param_0,
	.param .u64 _Z9vectorAddPKfS0_Pfi_param_1,
	.param .u64 _Z9vectorAddPKfS0_Pfi_param_2,
	.param .u32 _Z9vectorAddPKfS0_Pfi_param_3
)
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<4>;
	.reg .b32 	%r<6>;
	.reg .b64 	%rd<11>;

	ld.param.u64 	%rd1, [_Z9vectorAddPKfS0_Pfi_param_0];
	ld.param.u64 	%rd2, [_Z9vectorAddPKfS0_Pfi_param_1];
	ld.param.u64 	%rd3, [_Z9vectorAddPKfS0_Pfi_param_2];
	ld.param.u32 	%r2, [_Z9vectorAddPKfS0_Pfi_param_3];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.s32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB0_2;

	cvta.to.global.u64 	%rd4, %rd1;
	mul.wide.s32 	%rd5, %r1, 4;
	add.s64 	%rd6, %rd4, %rd5;
	cvta.to.global.u64 	%rd7, %rd2;
	add.s64 	%rd8, %rd7, %rd5;
	ld.global.f32 	%f1, [%rd8];
	ld.global.f32 	%f2, [%rd6];
	add.f32 	%f3, %f2, %f1;
	cvta.to.global.u64 	%rd9, %rd3;
	add.s64 	%rd10, %rd9, %rd5;
	st.global.f32 	[%rd10], %f3;

$L__BB0_2:
	ret;

}
";

fn module() -> Module {
    Module::parse(VECTOR_ADD, "vectorAdd.ptx").unwrap()
}

#[test]
fn the_module_lists_its_kernel() {
    let module = module();
    assert_eq!(module.kernels().collect::<Vec<_>>(), ["_Z9vectorAddPKfS0_Pfi"]);
    assert_eq!(module.outline().version, Some((9, 5)));
}

#[test]
fn parameter_layout_follows_c_structs() {
    let kernel = module().function("_Z9vectorAddPKfS0_Pfi").unwrap();
    let offsets: Vec<_> = kernel.parameters.iter().map(|p| (p.offset, p.size)).collect();
    assert_eq!(offsets, [(0, 8), (8, 8), (16, 8), (24, 4)]);
    assert_eq!(kernel.parameter_bytes, 28);
}

#[test]
fn instructions_have_form_operands_and_position() {
    let kernel = module().function("_Z9vectorAddPKfS0_Pfi").unwrap();
    assert_eq!(kernel.instructions.len(), 22);
    let load = &kernel.instructions[0];
    assert_eq!(load.operands[1], Operand::Address { base: AddressBase::Parameter(0), offset: 0 });
    assert_eq!((load.place.line, load.place.column), (18, 2));
    assert_eq!(kernel.instructions[6].operands[1], Operand::Special(SpecialRegister::TidX));
    let wide = &kernel.instructions[11];
    assert_eq!(wide.op, Op::Integer(Integer::mul_wide));
    assert_eq!(wide.operands[2], Operand::Immediate(4));
}

#[test]
fn branches_target_the_instruction_after_the_label() {
    let kernel = module().function("_Z9vectorAddPKfS0_Pfi").unwrap();
    let branch = &kernel.instructions[9];
    let guard = branch.guard.unwrap();
    assert_eq!(kernel.registers[guard.register.0 as usize], ScalarType::Pred);
    assert_eq!(branch.operands, [Operand::Label(InstructionIndex(21))]);
}

#[test]
fn registers_are_numbered_by_first_use() {
    let kernel = module().function("_Z9vectorAddPKfS0_Pfi").unwrap();
    assert_eq!(kernel.register_names[0], "%rd1");
    assert_eq!(kernel.instructions[0].operands[0], Operand::Register(RegisterId(0)));
    assert_eq!(kernel.registers.len(), 10 + 5 + 3 + 1);
}
