//! Contraction: a product and the sum that uses it become one `fma`, rounded once, as in the vendor's
//! assembler by default (`ptxas --fmad`).
//!
//! The rules are those of ptxas 12.9 (sm_70, sm_75) and 13.5 (sm_75 to sm_100), inferred from the machine
//! code of small kernels. Files `tests/ptx/float/contract_*.ptx` test them one by one:
//!
//! * Neither the `mul` nor the `add` or `sub` names a rounding; type and `.ftz` are equal. The sum may have
//!   `.sat`.
//! * The `mul` has no guard; the sum may have one.
//! * Every use of the product is such a sum in its basic block; then all become `fma` and the `mul`
//!   disappears. A single other use keeps the `mul` and all its sums. Uses in another block, or as more
//!   than one summand, are other uses.
//! * `mov` and `neg` between them are followed.
//! * Of two products in one sum, the one with fewer uses is contracted, else the first. The other stays.
//!
//! Unlike ptxas, contraction is omitted when a factor is overwritten between the `mul` and the sum.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::analyse::{BlockId, ControlFlow, Liveness, reads, writes};
use crate::ir::{Function, Instruction, Operand, RegisterId};
use crate::isa::{Float, Logic, Memory, Modifier, Op, ScalarType, Token};

/// Replacements of instructions by position: none for a product; for a sum its `fma`, possibly preceded by
/// negations.
pub type Replacements = BTreeMap<usize, Vec<Instruction>>;

/// A sum that uses a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Use {
    /// Position of the sum.
    sum: usize,
    /// Operand of the sum that is the product, 1 or 2.
    operand: usize,
    /// True if the product was negated in between.
    negated: bool,
}

/// A product whose uses can all be contracted.
#[derive(Debug, Clone, Default)]
struct Product {
    uses: Vec<Use>,
    /// Copies and negations of the product, which become unnecessary.
    between: Vec<usize>,
}

/// For each register, the instructions of a block that read or write it, in code order.
struct Touches(FxHashMap<RegisterId, Vec<usize>>);

impl Touches {
    fn of(function: &Function, block: Range<usize>) -> Touches {
        let mut touches: FxHashMap<RegisterId, Vec<usize>> = FxHashMap::default();
        for position in block {
            let Some(i) = function.instructions.get(position) else { continue };
            for register in reads(i).into_iter().chain(writes(i)) {
                let positions = touches.entry(register).or_default();
                if positions.last() != Some(&position) {
                    positions.push(position);
                }
            }
        }
        Touches(touches)
    }

    /// Positions after `position` that touch the register.
    fn behind(&self, register: RegisterId, position: usize) -> impl Iterator<Item = usize> + '_ {
        let all = self.0.get(&register).map_or(&[][..], Vec::as_slice);
        let first = all.partition_point(|at| *at <= position);
        all.get(first..).unwrap_or_default().iter().copied()
    }
}

/// Contracts products in `source`. Sums become `fma`; the list of registers may grow.
pub fn contract(source: &mut Arc<Function>, flow: &ControlFlow) -> Replacements {
    let is_candidate = |i: &Instruction| is_product(i) && i.guard.is_none();
    if !source.instructions.iter().any(is_candidate) {
        return Replacements::new();
    }
    let liveness = Liveness::of(source, flow);
    let function = Arc::make_mut(source);
    let mut replacements = Replacements::new();
    for (number, block) in flow.blocks().iter().enumerate() {
        let range = block.start.0 as usize..block.end.0 as usize;
        if !range.clone().any(|position| is_candidate(&function.instructions[position])) {
            continue;
        }
        let live_out = liveness.live_out(BlockId(number as u32)).collect();
        let touches = Touches::of(function, range.clone());
        let mut products = BTreeMap::new();
        for position in range.clone() {
            if is_candidate(&function.instructions[position])
                && let Some(product) = product_at(function, position, &touches, &live_out)
            {
                products.insert(position, product);
            }
        }
        drop_one_of_two(&mut products);
        for (position, product) in products {
            replace(function, position, &product, &mut replacements);
        }
    }
    replacements
}

/// Fused form of a product's form.
fn fused(op: Op) -> Option<Op> {
    Some(Op::Float(match op {
        Op::Float(Float::mul) => Float::fma,
        Op::Float(Float::mul_double) => Float::fma_double,
        Op::Float(Float::mul_half) => Float::fma_half,
        Op::Float(Float::mul_pair) => Float::fma_pair,
        _ => return None,
    }))
}

fn names_rounding(i: &Instruction) -> bool {
    i.modifiers().any(|m| matches!(m, Modifier::Rn | Modifier::Rz | Modifier::Rm | Modifier::Rp))
}

fn is_product(i: &Instruction) -> bool {
    fused(i.op).is_some() && !names_rounding(i) && !i.has(Modifier::Sat)
}

/// True for a sum or difference that can fuse with this product.
fn is_sum_for(i: &Instruction, product: &Instruction) -> bool {
    let same_kind = matches!(
        (product.op, i.op),
        (Op::Float(Float::mul), Op::Float(Float::add | Float::sub))
            | (Op::Float(Float::mul_double), Op::Float(Float::add_double | Float::sub_double))
            | (Op::Float(Float::mul_half), Op::Float(Float::add_half | Float::sub_half))
            | (Op::Float(Float::mul_pair), Op::Float(Float::add_pair | Float::sub_pair))
    );
    same_kind
        && i.last_type() == product.last_type()
        && i.has(Modifier::Ftz) == product.has(Modifier::Ftz)
        && !names_rounding(i)
}

/// True for a negation of its operand, false for a copy, `None` otherwise.
fn hands_on(i: &Instruction, product: &Instruction) -> Option<bool> {
    let negation = match i.op {
        Op::Memory(Memory::mov) => false,
        Op::Float(Float::neg | Float::neg_double | Float::neg_half) => true,
        _ => return None,
    };
    let fits = !negation || i.last_type() == product.last_type();
    let flushes = i.has(Modifier::Ftz) && !product.has(Modifier::Ftz);
    (i.guard.is_none() && fits && !flushes).then_some(negation)
}

fn product_at(
    function: &Function,
    position: usize,
    touches: &Touches,
    live_out: &BTreeSet<RegisterId>,
) -> Option<Product> {
    let mut product = Product::default();
    let mul = function.instructions.get(position)?;
    collect(function, mul, position, false, touches, live_out, &mut product)?;
    let last = product.uses.iter().map(|of_product| of_product.sum).max()?;
    let factors: Vec<RegisterId> = reads(mul);
    let overwrites = |at: usize, factor: &RegisterId| {
        function.instructions.get(at).is_none_or(|i| writes(i).contains(factor))
    };
    let is_overwritten = |factor: &RegisterId| {
        overwrites(position, factor)
            || touches.behind(*factor, position).take_while(|at| *at < last).any(|at| overwrites(at, factor))
    };
    (!factors.iter().any(is_overwritten)).then_some(product)
}

/// Collects the uses of the register that the instruction at `position` writes; `None` if a use is no sum.
fn collect(
    function: &Function,
    mul: &Instruction,
    position: usize,
    negated: bool,
    touches: &Touches,
    live_out: &BTreeSet<RegisterId>,
    product: &mut Product,
) -> Option<()> {
    let Some(Operand::Register(register)) = function.instructions.get(position)?.operands.first() else {
        return None;
    };
    let whole = Operand::Register(*register);
    for next in touches.behind(*register, position) {
        let i = function.instructions.get(next)?;
        if reads(i).contains(register) {
            let places: Vec<usize> = (1..i.operands.len()).filter(|n| i.operands[*n] == whole).collect();
            // The product must occur as exactly one operand.
            let [operand] = places[..] else { return None };
            if reads(i).iter().filter(|read| *read == register).count() != 1 {
                return None;
            }
            if is_sum_for(i, mul) {
                product.uses.push(Use { sum: next, operand, negated });
            } else {
                let changes_sign = hands_on(i, mul)?;
                product.between.push(next);
                collect(function, mul, next, negated != changes_sign, touches, live_out, product)?;
            }
        }
        if writes(i).contains(register) {
            // After a guarded write, the product may still be live.
            return i.guard.is_none().then_some(());
        }
    }
    (!live_out.contains(register)).then_some(())
}

/// Keeps one product of each sum of two products.
fn drop_one_of_two(products: &mut BTreeMap<usize, Product>) {
    let mut sums: BTreeMap<usize, Vec<(usize, usize, usize)>> = BTreeMap::new();
    for (position, product) in &*products {
        for Use { sum, operand, .. } in &product.uses {
            sums.entry(*sum).or_default().push((product.uses.len(), *operand, *position));
        }
    }
    for meeting in sums.values() {
        let mut present: Vec<_> =
            meeting.iter().filter(|(_, _, position)| products.contains_key(position)).collect();
        present.sort();
        for (_, _, position) in present.iter().skip(1) {
            products.remove(position);
        }
    }
}

/// Records the replacements of a product and its sums.
fn replace(function: &mut Function, position: usize, product: &Product, replacements: &mut Replacements) {
    let Some(mul) = function.instructions.get(position).cloned() else { return };
    let mut sums = Vec::with_capacity(product.uses.len());
    for of_product in &product.uses {
        let Some(sum) = function.instructions.get(of_product.sum).cloned() else { return };
        let Some(instructions) = fuse(function, &mul, &sum, *of_product) else { return };
        sums.push((of_product.sum, instructions));
    }
    for (sum, instructions) in sums {
        // Analyses of reads must see the operands of the `fma`.
        if let (Some(place), Some(fma)) = (function.instructions.get_mut(sum), instructions.last()) {
            *place = fma.clone();
        }
        replacements.insert(sum, instructions);
    }
    for gone in product.between.iter().chain([&position]) {
        replacements.insert(*gone, Vec::new());
    }
}

/// Instructions that replace `mul` and `sum`, at the position of the sum.
fn fuse(function: &mut Function, mul: &Instruction, sum: &Instruction, how: Use) -> Option<Vec<Instruction>> {
    let [a, b] = [mul.operands.get(1)?, mul.operands.get(2)?];
    let summand = sum.operands.get(3 - how.operand)?;
    let subtracts =
        matches!(sum.op, Op::Float(Float::sub | Float::sub_double | Float::sub_half | Float::sub_pair));
    let minus_product = how.negated != (subtracts && how.operand == 2);
    let minus_summand = subtracts && how.operand == 1;
    let mut instructions = Vec::new();
    let op = fused(mul.op)?;
    let ty = mul.last_type()?;
    let a = signed(function, ty, sum, a, minus_product, &mut instructions)?;
    let c = signed(function, ty, sum, summand, minus_summand, &mut instructions)?;
    let modifiers = [Some(Modifier::Rn), flag(sum, Modifier::Ftz), flag(sum, Modifier::Sat)];
    let tokens: Vec<Token> =
        modifiers.into_iter().flatten().map(Token::Modifier).chain([Token::Type(ty)]).collect();
    instructions.push(Instruction {
        op,
        tokens: op.line().parsed().fit(&tokens)?,
        operands: vec![sum.operands.first()?.clone(), a, b.clone(), c],
        ..sum.clone()
    });
    Some(instructions)
}

fn flag(i: &Instruction, modifier: Modifier) -> Option<Modifier> {
    i.has(modifier).then_some(modifier)
}

/// The operand, or a new register with each of its numbers negated.
fn signed(
    function: &mut Function,
    ty: ScalarType,
    sum: &Instruction,
    operand: &Operand,
    minus: bool,
    before: &mut Vec<Instruction>,
) -> Option<Operand> {
    if !minus {
        return Some(operand.clone());
    }
    let (bits, signs) = match (ty, ty.bits()) {
        (ScalarType::F32x2, _) => (ScalarType::B64, 1 << 63 | 1 << 31),
        (_, 64) => (ScalarType::B64, 1 << 63),
        (ScalarType::F32, _) => (ScalarType::B32, 1 << 31),
        (_, 32) => (ScalarType::B32, 1 << 31 | 1 << 15),
        _ => (ScalarType::B16, 1 << 15),
    };
    let d = Operand::Register(RegisterId(u32::try_from(function.registers.len()).ok()?));
    function.registers.push(bits);
    function.register_names.push("negative of an operand".to_owned());
    let op = Op::Logic(Logic::xor);
    before.push(Instruction {
        op,
        tokens: op.line().parsed().fit(&[Token::Type(bits)])?,
        operands: vec![d.clone(), operand.clone(), Operand::Immediate(signs)],
        ..sum.clone()
    });
    Some(d)
}
