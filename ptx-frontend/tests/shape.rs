//! Typed form of each construct of PTX.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that meets an error has failed")]

mod common;

use common::{kernel, kernel_with, module};
use ptx_frontend::Module;
use ptx_frontend::ir::{
    AddressBase, ExternalId, Function, Initial, InstructionIndex, Linkage, Operand, RegisterId, Space,
    VariableId,
};
use ptx_frontend::isa::{ScalarType, SpecialRegister};

/// Returns operand `n` of the first instruction of a body.
fn operand(body: &str, n: usize) -> Operand {
    kernel(body).instructions[0].operands[n].clone()
}

fn variable_of(globals: &str) -> ptx_frontend::ir::Variable {
    let module = module(globals, "ret;");
    assert_eq!(module.problems(), [], "{globals}");
    module.variables()[0].clone()
}

fn bytes(globals: &str) -> Vec<u8> {
    let variable = variable_of(globals);
    let mut content = vec![0; usize::try_from(variable.size).unwrap()];
    for initial in &variable.initial {
        if let Initial::Bytes { offset, bytes } = initial {
            let offset = usize::try_from(*offset).unwrap();
            content[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
    }
    content
}

#[test]
fn constants_are_the_bits_of_the_operands_type() {
    let table = [
        ("mov.u32 %r1, 0x1F;", 0x1F),
        ("mov.s32 %r1, -1;", u64::MAX),
        ("mov.b32 %r1, -1;", 0xFFFF_FFFF),
        ("mov.b32 %r1, (1 << 4) + WARP_SZ*2 | 1;", 81),
        ("mov.b32 %r1, 7 & ~(2);", 5),
        ("mov.b32 %r1, 3 > 2 ? 10 : 20;", 10),
        ("mov.b32 %r1, !0 + (.s64) 2U;", 3),
        ("mov.u32 %r1, 4294967295U;", 0xFFFF_FFFF),
        ("mov.f32 %f1, 0f3F800000;", 0x3F80_0000),
        ("mov.f32 %f1, -0f3F800000;", 0xBF80_0000),
        ("mov.f32 %f1, 1.5;", 0x3FC0_0000),
        ("mov.f64 %fd1, 0d3FF0000000000000;", 0x3FF0_0000_0000_0000),
        ("mov.f64 %fd1, 1e1;", 0x4024_0000_0000_0000),
        ("mov.b32 %r1, 0f3F800000;", 0x3F80_0000),
        ("mov.pred %p1, -1;", 1),
    ];
    for (body, bits) in table {
        assert_eq!(operand(body, 1), Operand::Immediate(bits), "{body}");
    }
}

#[test]
fn addresses_have_register_variable_parameter_or_zero_bases() {
    let register = AddressBase::Register(RegisterId(1));
    assert_eq!(operand("ld.global.u32 %r1, [%rd1+-4];", 1), Operand::Address { base: register, offset: -4 });
    assert_eq!(
        operand("ld.param.u32 %r1, [p2+4+4];", 1),
        Operand::Address { base: AddressBase::Parameter(2), offset: 8 }
    );
    assert_eq!(
        operand("ld.shared.u32 %r1, [16];", 1),
        Operand::Address { base: AddressBase::Absolute, offset: 16 }
    );
    assert_eq!(
        operand(".shared .b32 s[4]; ld.shared.u32 %r1, s[3];", 1),
        Operand::Address { base: AddressBase::Variable(VariableId(0)), offset: 12 }
    );
}

#[test]
fn names_of_the_module_are_externals_of_the_function() {
    let globals = ".global .b32 table[4]; .func f();";
    let function =
        kernel_with(globals, "mov.u64 %rd1, table+8; mov.u64 %rd2, f; ld.global.u32 %r1, [table];");
    let names: Vec<_> = function.externals.iter().map(|external| external.name.as_str()).collect();
    assert_eq!(names, ["table", "f"]);
    let base = AddressBase::External(ExternalId(0));
    assert_eq!(function.instructions[0].operands[1], Operand::Address { base, offset: 8 });
    assert_eq!(function.instructions[1].operands[1], Operand::Function(ExternalId(1)));
}

#[test]
fn special_registers_are_read_by_name() {
    assert_eq!(operand("mov.u32 %r1, %ctaid.y;", 1), Operand::Special(SpecialRegister::CtaidY));
    assert_eq!(operand("mov.u64 %rd1, %globaltimer;", 1), Operand::Special(SpecialRegister::Globaltimer));
}

#[test]
fn vector_elements_keep_their_order() {
    let blank = operand("ld.global.v2.b32 {_, %r2}, [%rd1];", 0);
    assert_eq!(blank, Operand::Vector(vec![Operand::Discard, Operand::Register(RegisterId(0))]));
    let constants = operand("st.global.v2.b32 [%rd1], {1, -2};", 1);
    assert_eq!(constants, Operand::Vector(vec![Operand::Immediate(1), Operand::Immediate(0xFFFF_FFFE)]));
    let packed = operand("mov.b64 %rd1, {%r1, 5};", 1);
    assert_eq!(packed, Operand::Vector(vec![Operand::Register(RegisterId(1)), Operand::Immediate(5)]));
}

#[test]
fn a_vector_register_is_its_elements() {
    let function = kernel(".reg .v4 .f32 v; ld.global.v4.f32 v, [%rd1]; mov.f32 %f1, v.z;");
    assert_eq!(function.register_names[..4], ["v.x", "v.y", "v.z", "v.w"]);
    let elements = (0..4).map(|n| Operand::Register(RegisterId(n))).collect();
    assert_eq!(function.instructions[0].operands[0], Operand::Vector(elements));
    assert_eq!(function.instructions[1].operands[1], Operand::Register(RegisterId(2)));
}

#[test]
fn vector_moves_take_vectors_of_special_registers_too() {
    let function = kernel(".reg .v4 .u32 t; .reg .v2 .b64 a; mov.v4.u32 t, %ntid; mov.v2.b64 a, {1, 2};");
    let Operand::Vector(elements) = &function.instructions[0].operands[1] else { panic!("no vector") };
    assert_eq!(elements[1], Operand::Special(SpecialRegister::NtidY));
    assert_eq!(elements[3], Operand::Immediate(0));
    let constants = Operand::Vector(vec![Operand::Immediate(1), Operand::Immediate(2)]);
    assert_eq!(function.instructions[1].operands[1], constants);
}

#[test]
fn second_results_and_omitted_operands_keep_positions() {
    let both = kernel("setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;");
    let operands = &both.instructions[0].operands;
    assert!(matches!(operands[1], Operand::Register(_)));
    assert!(matches!(operands[4], Operand::NegatedPredicate(_)));
    let one = kernel("setp.lt.s32 %p1, %r1, %r2;");
    let operands = &one.instructions[0].operands;
    assert_eq!((&operands[1], &operands[4]), (&Operand::Absent, &Operand::Absent));
    let barrier = kernel("bar.red.popc.u32 %r1, 0, %p1;");
    assert_eq!(barrier.instructions[0].operands[2], Operand::Absent);
}

#[test]
fn scopes_hide_names_and_end_with_their_brace() {
    let function = kernel(
        "mov.b32 %r1, 1;
         { .reg .b32 %r<4>; .reg .b32 t; mov.b32 %r1, 2; mov.b32 t, %r1; L: bra L; }
         { .reg .b64 t; mov.b64 t, 3; L: bra L; }
         mov.b32 %r1, 4;",
    );
    let written = |n: usize| function.instructions[n].operands[0].clone();
    assert_eq!(written(0), written(6));
    assert_ne!(written(0), written(1));
    assert_eq!(written(3), Operand::Label(InstructionIndex(3)));
    assert_eq!(written(5), Operand::Label(InstructionIndex(5)));
}

#[test]
fn call_scopes_declare_separate_parameter_variables() {
    let globals = ".func (.param .b32 r) f(.param .b64 a) { st.param.b32 [r], 1; ret; }";
    let call = "{ .param .b64 param0; st.param.b64 [param0+0], %rd1; .param .b32 retval0;
                  call.uni (retval0), f, (param0); ld.param.b32 %r1, [retval0+0]; }";
    let function = kernel_with(globals, &format!("{call}{call}"));
    let names: Vec<_> = function.variables.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["param0", "retval0", "param0$1", "retval0$1"]);
    assert!(function.variables.iter().all(|variable| variable.space == Space::Param));
    let whole = |id| Operand::Address { base: AddressBase::Variable(VariableId(id)), offset: 0 };
    let operands = &function.instructions[1].operands;
    assert_eq!(operands[0], Operand::Parameters(vec![whole(1)]));
    assert_eq!(operands[1], Operand::Function(ExternalId(0)));
    assert_eq!(operands[2], Operand::Parameters(vec![whole(0)]));
}

#[test]
fn parameterised_names_declare_only_used_variables() {
    let globals = ".func f(.param .b64 a, .param .b64 b) { ret; }";
    let call =
        "{ .param .u64 %P<3>; st.param.u64 [%P0], %rd1; st.param.u64 [%P2], %rd2; call f, (%P0, %P2); }";
    let function = kernel_with(globals, &format!("{call}{call}"));
    let names: Vec<_> = function.variables.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["%P0", "%P2", "%P0$1", "%P2$1"]);
    assert!(function.variables.iter().all(|variable| variable.space == Space::Param && variable.size == 8));
    let beyond = module("", "{ .param .u64 %P<3>; st.param.u64 [%P3], %rd1; }").function("k").unwrap_err();
    assert!(beyond.to_string().contains("`%P3` is not declared"), "{beyond}");
}

#[test]
fn calls_take_registers_constants_and_no_lists() {
    let globals =
        ".func (.reg .b32 r) f(.reg .b32 a, .reg .f32 b) { add.s32 r, a, 1; ret; } .func g() { ret; }";
    let module = module(globals, "call (%r1), f, (%r2, 0f3F800000); call g;");
    let kernel = module.function("k").unwrap();
    let operands = &kernel.instructions[0].operands;
    assert!(matches!(&operands[2], Operand::Parameters(list) if list[1] == Operand::Immediate(0x3F80_0000)));
    assert_eq!(kernel.instructions[1].operands[0], Operand::Absent);
    let function = module.function("f").unwrap();
    assert_eq!(function.parameters[0].register, Some(RegisterId(0)));
    assert_eq!(function.returns[0].register, Some(RegisterId(2)));
}

#[test]
fn indirect_calls_name_a_prototype_or_a_list_of_targets() {
    let globals =
        ".func (.param .b32 r) f(.param .b32 a) { ret; } .func (.param .b32 r) g(.param .b32 a) { ret; }";
    let function = kernel_with(
        globals,
        ".param .b32 a; .param .b32 r;
         P: .callprototype (.param .b32 _) _ (.param .b32 _) .noreturn;
         T: .calltargets f, g;
         call (r), %rd1, (a), P;
         call (r), %rd1, (a), T;",
    );
    assert_eq!(function.instructions[0].operands[3], Operand::Prototype(0));
    assert_eq!(function.prototypes[0].parameters[0].ty, ScalarType::B32);
    assert_eq!(
        function.instructions[1].operands[3],
        Operand::CallTargets(vec![ExternalId(0), ExternalId(1)])
    );
}

#[test]
fn indexed_branches_keep_label_order() {
    let function = kernel("brx.idx %r1, T; T: .branchtargets A, B; A: mov.b32 %r1, 1; B: ret;");
    let targets = vec![InstructionIndex(1), InstructionIndex(2)];
    assert_eq!(function.instructions[0].operands[1], Operand::BranchTargets(targets));
}

#[test]
fn code_that_runs_off_its_end_returns() {
    let mnemonic = |body| {
        let function = kernel(body);
        (function.instructions.len(), function.instructions.last().unwrap().op.line().name)
    };
    assert_eq!(mnemonic(""), (1, "ret"));
    assert_eq!(mnemonic("mov.b32 %r1, 1;"), (2, "ret"));
    assert_eq!(mnemonic("L: bra L;"), (1, "bra"));
    assert_eq!(mnemonic("@%p1 bra END; bra END; END:"), (3, "ret"));
    assert_eq!(mnemonic("@%p1 exit;"), (2, "ret"));
}

#[test]
fn source_lines_follow_the_loc_directives() {
    let function = kernel(
        ".loc 1 12 5
         mov.b32 %r1, 1;
         .loc 2 7 1, function_name $L__info_string0, inlined_at 1 12 5
         mov.b32 %r1, 2;
         .loc 2 8 1, function_name $L__info_string0+16, inlined_at 1 12 5
         mov.b32 %r1, 2;",
    );
    let lines: Vec<_> = function.instructions.iter().map(|i| (i.location.file, i.location.line)).collect();
    assert_eq!(lines, [(1, 12), (2, 7), (2, 8), (2, 8)]);
}

#[test]
fn spaces_and_comments_may_separate_any_tokens() {
    let function = kernel("ld .param\n.u32 // type\n %r1 , /*, ;*/ [ p1 ] ; .pragma \"nounroll\"; ;");
    assert_eq!(function.instructions.len(), 2);
}

#[test]
fn unused_registers_cost_nothing() {
    let function = kernel(".reg .b32 %huge<4294967295>; mov.b32 %huge4294967294, 1;");
    assert_eq!(function.registers.len(), 1);
}

#[test]
fn headers_give_parameter_layout_and_launch_bounds() {
    let text = ".version 8.0 .target sm_90 .address_size 64
        .visible .entry k(.param .u8 a, .param .align 16 .b8 b[20], .param .u64 .ptr .global .align 4 c,
                          .param .f64 d, .param .u16 e)
        .maxntid 256, 2 .minnctapersm 3 .maxnreg 64 .pragma \"x\"; .explicitcluster .reqnctapercluster 2, 1, 1
        { ret; }
        .func f() .noreturn { ret; }
        .weak .func .attribute(.unified(1, 2)) (.param .align 8 .b8 r[16]) g(.param .b32 a) .noreturn { ret; }";
    let module = Module::parse(text, "m").unwrap();
    let kernel = module.function("k").unwrap();
    let layout: Vec<_> = kernel.parameters.iter().map(|p| (p.offset, p.size, p.align)).collect();
    assert_eq!(layout, [(0, 1, 1), (16, 20, 16), (40, 8, 8), (48, 8, 8), (56, 2, 2)]);
    assert_eq!(kernel.parameter_bytes, 58);
    assert_eq!(kernel.bounds.maximum_threads, Some([256, 2, 1]));
    assert_eq!(kernel.bounds.minimum_ctas_per_sm, Some(3));
    assert_eq!(kernel.bounds.maximum_registers, Some(64));
    let g = module.function("g").unwrap();
    assert!(g.no_return && !g.is_kernel);
    assert_eq!((g.parameters[0].offset, g.returns[0].offset, g.parameter_bytes), (0, 8, 24));
    assert_eq!(module.function_item("g").map(|item| item.linkage), Some(Linkage::Weak));
    assert!(module.function("f").unwrap().no_return);
}

#[test]
fn initialisers_nest_as_the_dimensions_do() {
    assert_eq!(bytes(".global .u8 a[4] = {1, 2, 0xFF};"), [1, 2, 255, 0]);
    assert_eq!(bytes(".global .u8 a[] = {1, 2, 3};"), [1, 2, 3]);
    assert_eq!(bytes(".global .s8 a[][2] = {{-1, 0}, {5}, {6, 7}};"), [255, 0, 5, 0, 6, 7]);
    assert_eq!(bytes(".global .u8 a[2][2] = {1, 2, 3, 4};"), [1, 2, 3, 4]);
    assert_eq!(bytes(".global .u8 a[2][2][2] = {{{1}, {2}}, {{3, 4}}};"), [1, 0, 2, 0, 3, 4, 0, 0]);
    assert_eq!(bytes(".const .f32 a = 1.0;"), [0, 0, 0x80, 0x3F]);
    assert_eq!(bytes(".global .v2 .u16 a[2] = {{1, 2}, {3, 4}};"), [1, 0, 2, 0, 3, 0, 4, 0]);
    assert_eq!(bytes(".global .u16 a = 1 + 2 * (3), b = 4;"), [7, 0]);
}

#[test]
fn initialisers_hold_addresses_of_variables_and_functions() {
    let initial = variable_of(".global .u64 t[5] = {f, v+8, generic(v), generic(v)-4, 9};").initial;
    let expected = |offset, symbol: &str, addend, generic| Initial::Address {
        offset,
        symbol: symbol.to_owned(),
        addend,
        width: 8,
        shift: 0,
        generic,
    };
    assert_eq!(
        initial,
        [
            expected(0, "f", 0, false),
            expected(8, "v", 8, false),
            expected(16, "v", 0, true),
            expected(24, "v", -4, true),
            Initial::Bytes { offset: 32, bytes: vec![9, 0, 0, 0, 0, 0, 0, 0] },
        ]
    );
    let masked = variable_of(".global .u8 t[3] = {0xFF(v), 0xFF00(v), 0xFF0000(generic(v)+4)};").initial;
    let shifts: Vec<_> = masked
        .iter()
        .map(|initial| match initial {
            Initial::Address { shift, width, addend, generic, .. } => (*shift, *width, *addend, *generic),
            Initial::Bytes { .. } | Initial::Property { .. } => (99, 0, 0, false),
        })
        .collect();
    assert_eq!(shifts, [(0, 1, 0, false), (8, 1, 0, false), (16, 1, 4, true)]);
}

#[test]
fn variables_have_space_size_alignment_and_linkage() {
    let shape = |globals: &str| {
        let variable = variable_of(globals);
        (variable.space, variable.linkage, variable.size, variable.align)
    };
    assert_eq!(shape(".extern .shared .align 16 .b8 s[];"), (Space::Shared, Linkage::Extern, 0, 16));
    assert_eq!(shape(".visible .const .f64 c[3];"), (Space::Const, Linkage::Visible, 24, 8));
    assert_eq!(shape(".global .v4 .f32 v;"), (Space::Global, Linkage::Internal, 16, 16));
    assert_eq!(shape(".common .global .b32 w;"), (Space::Global, Linkage::Common, 4, 4));
    assert!(variable_of(".visible .global .attribute(.managed) .align 4 .u32 m = 5;").managed);
    assert_eq!(variable_of(".global .b8 x[99999999999];").size, 99_999_999_999);
}

#[test]
fn a_variable_of_a_function_keeps_its_initial_value() {
    let function: Function = kernel(".global .b32 t[2] = {1, 2}; .local .align 8 .b8 depot[32]; ret;");
    assert_eq!(
        function.variables[0].initial,
        [Initial::Bytes { offset: 0, bytes: vec![1, 0, 0, 0, 2, 0, 0, 0] }]
    );
    assert_eq!((function.variables[1].size, function.variables[1].align), (32, 8));
}

#[test]
fn an_alias_is_the_function_it_names() {
    let text = ".version 7.0 .target sm_70 .func real() { ret; } .func other(); .alias other, real;";
    let module = Module::parse(text, "m").unwrap();
    assert_eq!(module.function("other").unwrap().name, "real");
}

#[test]
fn debug_sections_and_old_unknown_directives_are_skipped() {
    let text = ".version 3.0 .target sm_20, debug .address_size 64
        .file 1 \"a.cu\", 1, 2
        .file 2 \"b {.cu\"
        .section .debug_str { info: .b8 1,2 }
        @@DWARF .section .debug_info { anything
        .pragma \"nounroll\";
        .entry k() { .loc 1 1 0 ret; }
        .section .debug_info { .b32 L1-L0 .b64 k }
        \0\0\0";
    let module = Module::parse(text, "m").unwrap();
    assert_eq!(module.kernels().collect::<Vec<_>>(), ["k"]);
    assert_eq!(module.outline().target.map(|target| target.of(text)), Some("sm_20, debug"));
    assert!(module.function("k").is_ok());
}

/// NVIDIA's assembler 13.5 accepts this file.
#[test]
fn every_directive_of_the_manual_is_read() {
    let module = Module::parse(include_str!("data/directives.ptx"), "directives.ptx").unwrap();
    assert_eq!(module.kernels().collect::<Vec<_>>(), ["k", "k2", "k3"]);
    for name in ["k", "k2", "k3", "good", "al", "uf"] {
        assert!(module.function(name).is_ok(), "{name}: {:?}", module.function(name).err());
    }
}
