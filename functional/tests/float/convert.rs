//! `cvt` between all types, in registers as wide as the types and wider.

use rustc_apfloat::ieee::{BFloat, Double, Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::machine::{Register, run};
use crate::oracle::{canonical_nan, flush, rectify, saturate};
use crate::values::{BF16, F16, F32, F64, Format, Random, columns};

/// A type that `cvt` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Integer { signed: bool, bits: u32 },
    Float(Format),
}

const INTEGERS: [Type; 8] = {
    const fn integer(signed: bool, bits: u32) -> Type {
        Type::Integer { signed, bits }
    }
    [
        integer(false, 8),
        integer(false, 16),
        integer(false, 32),
        integer(false, 64),
        integer(true, 8),
        integer(true, 16),
        integer(true, 32),
        integer(true, 64),
    ]
};

const FLOATS: [Type; 4] = [Type::Float(F16), Type::Float(BF16), Type::Float(F32), Type::Float(F64)];

const TO_FLOAT: [(&str, Round); 4] = [
    (".rn", Round::NearestTiesToEven),
    (".rz", Round::TowardZero),
    (".rm", Round::TowardNegative),
    (".rp", Round::TowardPositive),
];

const TO_INTEGRAL: [(&str, Round); 4] = [
    (".rni", Round::NearestTiesToEven),
    (".rzi", Round::TowardZero),
    (".rmi", Round::TowardNegative),
    (".rpi", Round::TowardPositive),
];

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

impl Type {
    fn bits(self) -> u32 {
        match self {
            Type::Integer { bits, .. } => bits,
            Type::Float(format) => format.bits(),
        }
    }

    fn name(self) -> String {
        match self {
            Type::Integer { signed, bits } => format!("{}{bits}", if signed { 's' } else { 'u' }),
            Type::Float(BF16) => "bf16".to_owned(),
            Type::Float(format) => format!("f{}", format.bits()),
        }
    }

    fn format(self) -> Option<Format> {
        match self {
            Type::Float(format) => Some(format),
            Type::Integer { .. } => None,
        }
    }

    /// Operands: everything for 16 bits or fewer, else edges and random numbers of all magnitudes.
    fn values(self, seed: u64) -> Vec<u64> {
        if self.bits() <= 16 {
            return (0..=mask(self.bits())).collect();
        }
        let mut random = Random::new(seed);
        match self {
            Type::Float(format) => {
                let mut values = columns(format, 1, 10_000, seed).remove(0);
                // Around the bounds of the integer types, and around halves between integers.
                for bits in [7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 62, 63, 64] {
                    for offset in [-1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5] {
                        let value = (bits as f64).exp2() + offset;
                        for value in [value, -value, offset] {
                            let near = if format == F32 {
                                u64::from((value as f32).to_bits())
                            } else {
                                value.to_bits()
                            };
                            values.extend(
                                [near.wrapping_sub(1), near, near + 1].map(|x| x & mask(format.bits())),
                            );
                        }
                    }
                }
                for _ in 0..10_000 {
                    let value = (random.next() as i64 >> random.below(64)) as f64 / 4.0;
                    values.push(if format == F32 {
                        u64::from((value as f32).to_bits())
                    } else {
                        value.to_bits()
                    });
                }
                values
            }
            Type::Integer { bits, .. } => {
                let mut values = vec![];
                for power in 0..64 {
                    for near in [-2i64, -1, 0, 1, 2] {
                        let value = (1u64 << power).wrapping_add(near as u64);
                        values.extend([value & mask(bits), value.wrapping_neg() & mask(bits)]);
                    }
                }
                for _ in 0..10_000 {
                    let value = random.next() as i64 >> random.below(64);
                    values
                        .extend([value as u64 & mask(bits), random.next() >> random.below(64) & mask(bits)]);
                }
                values
            }
        }
    }
}

/// One `cvt`.
#[derive(Debug, Clone, Copy)]
struct Form {
    to: Type,
    from: Type,
    round: Round,
    integral: bool,
    ftz: bool,
    sat: bool,
    relu: bool,
    modifier: &'static str,
    source: u32,
    result: u32,
}

impl Form {
    fn new(to: Type, from: Type) -> Form {
        Form {
            to,
            from,
            round: Round::NearestTiesToEven,
            integral: false,
            ftz: false,
            sat: false,
            relu: false,
            modifier: "",
            source: from.bits().max(16),
            result: to.bits().max(16),
        }
    }

    fn rounded(self, (modifier, round): (&'static str, Round)) -> Form {
        Form { modifier, round, integral: modifier.ends_with('i'), ..self }
    }

    fn mnemonic(self) -> String {
        let flag = |on: bool, text| if on { text } else { "" };
        format!(
            "cvt{}{}{}{}.{}.{}",
            self.modifier,
            flag(self.ftz, ".ftz"),
            flag(self.relu, ".relu"),
            flag(self.sat, ".sat"),
            self.to.name(),
            self.from.name()
        )
    }

    /// The result's register, by quadruple precision, which has every value of every type.
    fn expected(self, register: u64) -> u64 {
        let bits = register & mask(self.from.bits());
        let bits = if self.ftz && self.from == Type::Float(F32) { flush(F32, bits) } else { bits };
        let value = self.value(bits);
        match self.to {
            Type::Float(to) => self.to_float(bits, value, to),
            Type::Integer { signed, bits: width } => {
                let integer = self.to_integer(bits, value, signed, width);
                let shift = 64 - width;
                let extended =
                    if signed { ((integer << shift) as i64 >> shift) as u64 } else { integer & mask(width) };
                extended & mask(self.result)
            }
        }
    }

    fn value(self, bits: u64) -> Quad {
        fn quad<F: FloatConvert<Quad>>(bits: u64) -> Quad {
            F::from_bits(u128::from(bits)).convert(&mut false).value
        }
        match self.from {
            Type::Integer { signed: true, bits: width } => {
                let shift = 64 - width;
                Quad::from_i128(i128::from((bits << shift) as i64 >> shift)).value
            }
            Type::Integer { .. } => Quad::from_u128(u128::from(bits)).value,
            Type::Float(F16) => quad::<Half>(bits),
            Type::Float(BF16) => quad::<BFloat>(bits),
            Type::Float(F32) => quad::<Single>(bits),
            Type::Float(_) => quad::<Double>(bits),
        }
    }

    fn to_integer(self, bits: u64, value: Quad, signed: bool, width: u32) -> u64 {
        if self.from.format().is_none() && !self.sat {
            return value.to_i128(128).value as u64;
        }
        if self.from.format().is_some_and(|format| format.is_nan(bits)) {
            return if self.from != Type::Float(F64) && width < 64 { 0 } else { 1 << (width - 1) };
        }
        if signed {
            value.to_i128_r(width as usize, self.round, &mut false).value as u64
        } else {
            value.to_u128_r(width as usize, self.round, &mut false).value as u64
        }
    }

    fn to_float(self, source: u64, value: Quad, to: Format) -> u64 {
        fn narrow<F: Float>(value: Quad, round: Round) -> u64
        where
            Quad: FloatConvert<F>,
        {
            let narrowed: F = value.convert_r(round, &mut false).value;
            narrowed.to_bits() as u64
        }
        if value.is_nan() {
            let fraction = self.from.format().map_or(0, |format| {
                (source & ((1 << format.fraction) - 1)) << (52 - format.fraction)
                    | (source & format.sign()) << (64 - format.bits())
            });
            return match to {
                _ if self.sat => 0,
                F64 => fraction | 0x7ff8 << 48,
                _ => canonical_nan(to),
            };
        }
        let value = if self.integral { value.round_to_integral(self.round).value } else { value };
        let bits = match to {
            F16 => narrow::<Half>(value, self.round),
            BF16 => narrow::<BFloat>(value, self.round),
            F32 => narrow::<Single>(value, self.round),
            _ => narrow::<Double>(value, self.round),
        };
        let bits = if self.ftz && to == F32 { flush(F32, bits) } else { bits };
        if self.sat {
            saturate(to, bits)
        } else if self.relu {
            rectify(to, bits)
        } else {
            bits
        }
    }

    fn check(self) {
        let mut values = self.from.values(u64::from(self.to.bits()));
        if self.source > self.from.bits() {
            // What lies above the operand's own bits must not count.
            let mut random = Random::new(1);
            for value in &mut values {
                *value |= random.next() & mask(self.source) & !mask(self.from.bits());
            }
        }
        let mnemonic = self.mnemonic();
        let operands = [(Register::of_bits(self.source), values)];
        let results = run(&mnemonic, Register::of_bits(self.result), &operands);
        for (a, result) in operands[0].1.iter().zip(results) {
            let wanted = self.expected(*a);
            assert!(
                result == wanted,
                "{mnemonic} of {a:#x} from {} to {} bits: {result:#x}, not {wanted:#x}",
                self.source,
                self.result
            );
        }
    }
}

#[test]
fn integers_are_extended_or_cut_to_the_result() {
    for from in INTEGERS {
        for to in INTEGERS {
            Form::new(to, from).check();
        }
    }
}

#[test]
fn integers_are_clamped_with_sat() {
    for from in INTEGERS {
        for to in INTEGERS {
            Form { sat: true, ..Form::new(to, from) }.check();
        }
    }
}

#[test]
fn floats_are_rounded_and_clamped_to_integers() {
    for from in FLOATS {
        for to in INTEGERS {
            for rounding in TO_INTEGRAL {
                let form = Form::new(to, from).rounded(rounding);
                form.check();
                Form { sat: true, ftz: from == Type::Float(F32), ..form }.check();
            }
        }
    }
}

#[test]
fn integers_are_rounded_to_floats() {
    for from in INTEGERS {
        for to in FLOATS {
            for rounding in TO_FLOAT {
                let form = Form::new(to, from).rounded(rounding);
                form.check();
                Form { sat: true, ..form }.check();
            }
        }
    }
}

#[test]
fn floats_are_rounded_to_narrower_ones_and_widened_exactly() {
    for from in FLOATS {
        for to in FLOATS {
            let single = [from, to].contains(&Type::Float(F32));
            for rounding in TO_FLOAT {
                let form = Form::new(to, from).rounded(rounding);
                for form in [form, Form { sat: true, ..form }, Form { relu: true, ..form }] {
                    form.check();
                    if single {
                        Form { ftz: true, ..form }.check();
                    }
                }
            }
            if to.bits() >= from.bits() {
                Form::new(to, from).check();
            }
        }
    }
}

#[test]
fn floats_are_rounded_to_integral_values() {
    for ty in FLOATS {
        for rounding in TO_INTEGRAL {
            let form = Form::new(ty, ty).rounded(rounding);
            for form in [form, Form { sat: true, ..form }] {
                form.check();
                if ty == Type::Float(F32) {
                    Form { ftz: true, ..form }.check();
                }
            }
        }
    }
}

#[test]
fn registers_may_be_wider_than_the_types() {
    let types = [INTEGERS.as_slice(), FLOATS.as_slice()].concat();
    for &from in &types {
        for &to in &types {
            let form = match (from, to) {
                (Type::Integer { .. }, Type::Integer { .. }) => Form::new(to, from),
                (_, Type::Integer { .. }) => Form::new(to, from).rounded(TO_INTEGRAL[1]),
                _ => Form::new(to, from).rounded(TO_FLOAT[0]),
            };
            for (source, result) in [(64, 64), (32, 32), (32, 64), (64, 32)] {
                if source >= from.bits() && result >= to.bits() {
                    Form { source, result, ..form }.check();
                }
            }
        }
    }
}

#[test]
fn two_singles_are_packed_with_the_first_above() {
    let columns = columns(F32, 2, 50_000, 5);
    let operands: Vec<_> = columns.iter().map(|column| (Register::B32, column.clone())).collect();
    for (format, name) in [(F16, "f16x2"), (BF16, "bf16x2")] {
        for rounding in &TO_FLOAT[..2] {
            for relu in [false, true] {
                for finite in [false, true] {
                    let form =
                        Form { relu, ..Form::new(Type::Float(format), Type::Float(F32)).rounded(*rounding) };
                    let mnemonic = format!(
                        "cvt{}{}{}.{name}.f32",
                        rounding.0,
                        if finite { ".satfinite" } else { "" },
                        if relu { ".relu" } else { "" }
                    );
                    let half = |x: u64| {
                        let bits = form.expected(x);
                        let infinite = bits & !format.sign() == format.infinity();
                        if finite && infinite { bits - 1 } else { bits }
                    };
                    let results = run(&mnemonic, Register::B32, &operands);
                    for (row, result) in results.into_iter().enumerate() {
                        let [a, b] = [columns[0][row], columns[1][row]];
                        assert_eq!(result, half(a) << 16 | half(b), "{mnemonic} of {a:#x}, {b:#x}");
                    }
                }
            }
        }
    }
}
