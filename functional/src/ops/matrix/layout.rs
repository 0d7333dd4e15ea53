//! Layout of matrix elements in the registers of a warp.
//!
//! The manual's figures for `mma.sync` follow one rule, except for the oldest shape. A lane is number `t`
//! of group `g` (`lane = 4 g + t`). A register holds `e` adjacent elements (32 bits, or one double), and a
//! fragment consists of tiles, one per register:
//!
//! * A: 8 rows by `4 e` columns; the register holds row `g`, columns `e t` to `e t + e - 1`.
//! * B: `4 e` rows by 8 columns; the register holds column `g`, rows `e t` to `e t + e - 1`.
//! * C and D: 8 rows by 8 columns; two elements per lane, row `g`, columns `2 t` and `2 t + 1`.
//!
//! Tiles are numbered down the columns first, and for B thus along K first. The manual leaves the layout of
//! `wmma` open. Here `wmma` follows the same rule: its fragments are those of the `mma.sync` instructions
//! that make up the product. If A or B has more registers than tiles, the tiles repeat.
//!
//! `mma.m8n8k4` on binary16 numbers multiplies four pairs of matrices. Each pair lies in the registers of
//! the eight lanes `4 q` to `4 q + 3` and `4 q + 16` to `4 q + 19` (PTX manual 9.7.14.5.1).
//!
//! Two checks cover the layouts. File tests of each shape compare with the manual's formulas. The tests
//! below compare with CUTLASS's MMA traits (`mma_traits_sm70`, `sm75`, `sm80`, `sm90`), which describe a
//! layout as strides of lanes and values.

use ptx_frontend::isa::{MatrixRole, MatrixShape, ScalarType};

use crate::engine::lane::WARP;

/// Map from lane, register and element of the register to the element's index in a row-major matrix. The
/// index is the lane's term plus the term of register and element.
#[derive(Debug)]
pub(super) struct Layout {
    /// Term of each lane.
    pub(super) lanes: [u16; WARP],
    /// Term of each register and element.
    pub(super) elements: Vec<u16>,
    /// Elements per register.
    pub(super) per_register: usize,
}

/// Extent of a matrix: element width in bits (at most 64; 32-bit words for single bits), and role in the
/// product.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) role: MatrixRole,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) bits: u32,
}

impl Extent {
    /// Extent of the matrix with this role. Single bits are grouped into words of 32.
    pub(super) fn of(role: MatrixRole, shape: MatrixShape, element: ScalarType) -> Extent {
        let (m, n, k) = (shape.m as usize, shape.n as usize, shape.k as usize);
        let (k, bits) = match element {
            ScalarType::B1 => (k / 32, 32),
            _ => (k, element.bits()),
        };
        let (rows, columns) = match role {
            MatrixRole::A => (m, k),
            MatrixRole::B => (k, n),
            MatrixRole::Accumulator => (m, n),
        };
        Extent { role, rows, columns, bits }
    }

    /// Memory of the matrix as a matrix of words, for elements narrower than bytes, which are packed along K.
    pub(super) fn of_words(self) -> Extent {
        let per_word = (32 / self.bits.min(32)) as usize;
        match self.role {
            MatrixRole::A => Extent { columns: self.columns / per_word, bits: 32, ..self },
            _ => Extent { rows: self.rows / per_word, bits: 32, ..self },
        }
    }

    /// Number of elements.
    pub(super) fn len(self) -> usize {
        self.rows * self.columns
    }

    fn per_register(self) -> usize {
        (32 / self.bits.min(32)) as usize
    }
}

/// Tile layout of a fragment with `registers` registers per lane.
pub(super) fn tiles(extent: Extent, registers: usize) -> Layout {
    let Extent { role, rows, columns, .. } = extent;
    let per_register = extent.per_register();
    let place = |row: usize, column: usize| (row * columns + column) as u16;
    let lanes =
        |in_lane: &dyn Fn(usize, usize) -> u16| std::array::from_fn(|lane| in_lane(lane / 4, lane % 4));
    let lanes = match role {
        MatrixRole::A => lanes(&|g, t| place(g, per_register * t)),
        MatrixRole::B => lanes(&|g, t| place(per_register * t, g)),
        MatrixRole::Accumulator => lanes(&|g, t| place(g, 2 * t)),
    };
    let mut elements = Vec::with_capacity(registers * per_register);
    for register in 0..registers {
        for i in 0..per_register {
            elements.push(match role {
                MatrixRole::A => {
                    let (down, across) = (rows / 8, columns / (4 * per_register));
                    let tile = register % (down * across);
                    place(8 * (tile % down), 4 * per_register * (tile / down) + i)
                }
                MatrixRole::B => {
                    let (down, across) = (rows / (4 * per_register), columns / 8);
                    let tile = register % (down * across);
                    place(4 * per_register * (tile % down) + i, 8 * (tile / down))
                }
                MatrixRole::Accumulator => {
                    let (tile, x) = ((register * per_register + i) / 2, (register * per_register + i) % 2);
                    place(8 * (tile % (rows / 8)), 8 * (tile / (rows / 8)) + x)
                }
            });
        }
    }
    Layout { lanes, elements, per_register }
}

/// Layout of `mma.m8n8k4` on binary16 numbers: four matrices in sequence.
pub(super) fn quad_pairs(extent: Extent, registers: usize, stored_by_column: bool) -> Layout {
    let Extent { role, columns, .. } = extent;
    let per_register = extent.per_register();
    let single = per_register == 1;
    let place = |row: usize, column: usize| row * columns + column;
    let lanes = std::array::from_fn(|lane| {
        let (quad, t, upper) = (lane % 16 / 4, lane % 4, lane / 16);
        let within = match (role, stored_by_column) {
            (MatrixRole::A, false) => place(t + 4 * upper, 0),
            (MatrixRole::A, true) => place(4 * upper, t),
            (MatrixRole::B, false) => place(t, 4 * upper),
            (MatrixRole::B, true) => place(0, t + 4 * upper),
            (MatrixRole::Accumulator, _) if single => place((t & 1) + 4 * upper, t & 2),
            (MatrixRole::Accumulator, _) => place(t + 4 * upper, 0),
        };
        (quad * extent.len() + within) as u16
    });
    let element = |x: usize| match (role, stored_by_column) {
        (MatrixRole::A, false) | (MatrixRole::B, false) => place(0, x),
        (MatrixRole::A, true) | (MatrixRole::B, true) => place(x, 0),
        (MatrixRole::Accumulator, _) if single => place(x & 2, (x & 4) + (x & 1)),
        (MatrixRole::Accumulator, _) => place(0, x),
    };
    let elements = (0..registers * per_register).map(|x| element(x) as u16).collect();
    Layout { lanes, elements, per_register }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLES: [MatrixRole; 3] = [MatrixRole::A, MatrixRole::B, MatrixRole::Accumulator];

    fn places(layout: &Layout) -> Vec<u16> {
        let mut places: Vec<u16> =
            layout.elements.iter().flat_map(|element| layout.lanes.map(|lane| lane + element)).collect();
        places.sort_unstable();
        places
    }

    #[test]
    fn fragments_hold_each_element_once() {
        let shapes = [(16, 16, 16), (8, 32, 16), (32, 8, 16), (16, 8, 16), (16, 8, 64), (8, 8, 32)];
        for (m, n, k) in shapes {
            for element in [ScalarType::F16, ScalarType::S8, ScalarType::S4, ScalarType::S32] {
                for role in ROLES {
                    let extent = Extent::of(role, MatrixShape { m, n, k }, element);
                    let registers = extent.len() * extent.bits as usize / (32 * 32);
                    let tiles_fit =
                        role == MatrixRole::Accumulator || k as usize >= 4 * extent.per_register();
                    if tiles_fit && registers > 0 && (role != MatrixRole::Accumulator || extent.bits >= 16) {
                        let expected: Vec<u16> = (0..extent.len() as u16).collect();
                        assert_eq!(places(&tiles(extent, registers)), expected, "{extent:?}");
                    }
                }
            }
        }
    }

    /// Sizes and strides of a mixed-radix number, lowest digit first.
    type Strides<'a> = &'a [(usize, usize)];

    fn strided(mut number: usize, digits: Strides) -> usize {
        digits
            .iter()
            .map(|&(size, stride)| {
                let digit = number % size;
                number /= size;
                digit * stride
            })
            .sum()
    }

    /// True if each lane's values are where CUTLASS's strides put them. CUTLASS counts down the columns of
    /// a matrix with `rows` rows, and along the rows of B, which it transposes.
    fn agrees(layout: &Layout, extent: Extent, lanes: Strides, values: Strides) -> bool {
        (0..WARP).all(|lane| {
            layout.elements.iter().enumerate().all(|(value, element)| {
                let index = strided(lane, lanes) + strided(value, values);
                let place = match extent.role {
                    MatrixRole::B => index % extent.columns + index / extent.columns * extent.columns,
                    _ => index % extent.rows * extent.columns + index / extent.rows,
                };
                usize::from(layout.lanes[lane] + element) == place
            })
        })
    }

    #[test]
    fn tile_layout_matches_cutlass_traits() {
        use MatrixRole::{A, Accumulator, B};
        use ScalarType::{F16, F32, F64, S4, S8, S32, Tf32};
        let cases: [(_, _, _, usize, Strides, Strides); 15] = [
            (A, (16, 8, 8), F16, 2, &[(4, 32), (8, 1)], &[(2, 16), (2, 8)]),
            (A, (16, 8, 16), F16, 4, &[(4, 32), (8, 1)], &[(2, 16), (2, 8), (2, 128)]),
            (B, (16, 8, 16), F16, 2, &[(4, 16), (8, 1)], &[(2, 8), (2, 64)]),
            (Accumulator, (16, 8, 16), F32, 4, &[(4, 32), (8, 1)], &[(2, 16), (2, 8)]),
            (A, (16, 8, 4), Tf32, 2, &[(4, 16), (8, 1)], &[(2, 8)]),
            (A, (16, 8, 8), Tf32, 4, &[(4, 16), (8, 1)], &[(2, 8), (2, 64)]),
            (B, (16, 8, 8), Tf32, 2, &[(4, 8), (8, 1)], &[(2, 32)]),
            (A, (8, 8, 16), S8, 1, &[(4, 32), (8, 1)], &[(4, 8)]),
            (A, (16, 8, 32), S8, 4, &[(4, 64), (8, 1)], &[(4, 16), (2, 8), (2, 256)]),
            (B, (16, 8, 32), S8, 2, &[(4, 32), (8, 1)], &[(4, 8), (2, 128)]),
            (A, (16, 8, 64), S4, 4, &[(4, 128), (8, 1)], &[(8, 16), (2, 8), (2, 512)]),
            (B, (16, 8, 64), S4, 2, &[(4, 64), (8, 1)], &[(8, 8), (2, 256)]),
            (A, (16, 8, 16), F64, 8, &[(4, 16), (8, 1)], &[(2, 8), (4, 64)]),
            (B, (16, 8, 16), F64, 4, &[(4, 8), (8, 1)], &[(4, 32)]),
            (Accumulator, (8, 8, 16), S32, 2, &[(4, 16), (8, 1)], &[(2, 8)]),
        ];
        for (role, (m, n, k), element, registers, lanes, values) in cases {
            let extent = Extent::of(role, MatrixShape { m, n, k }, element);
            assert!(agrees(&tiles(extent, registers), extent, lanes, values), "{extent:?}");
        }
    }

    #[test]
    fn quad_pair_layout_matches_cutlass_traits() {
        use MatrixRole::{A, Accumulator};
        // A lane's number among its eight is its number in the quad's four, plus the upper half.
        let quads: [(_, _, _, usize, Strides, Strides); 4] = [
            (A, ScalarType::F16, false, 2, &[(4, 1), (2, 4)], &[(4, 8)]),
            (A, ScalarType::F16, true, 2, &[(4, 8), (2, 4)], &[(4, 1)]),
            (Accumulator, ScalarType::F16, false, 4, &[(4, 1), (2, 4)], &[(8, 8)]),
            (Accumulator, ScalarType::F32, false, 8, &[(2, 1), (2, 16), (2, 4)], &[(2, 8), (2, 2), (2, 32)]),
        ];
        for (role, element, by_column, registers, lanes, values) in quads {
            let extent = Extent::of(role, MatrixShape { m: 8, n: 8, k: 4 }, element);
            let layout = quad_pairs(extent, registers, by_column);
            for lane in 0..WARP {
                for (value, place) in layout.elements.iter().enumerate() {
                    let within = strided(lane % 4 + lane / 16 * 4, lanes) + strided(value, values);
                    let expected = lane % 16 / 4 * extent.len() + within % 8 * extent.columns + within / 8;
                    assert_eq!(
                        usize::from(layout.lanes[lane] + place),
                        expected,
                        "{extent:?} {lane} {value}"
                    );
                }
            }
        }
    }

    #[test]
    fn quad_pairs_hold_each_element_once() {
        let shape = MatrixShape { m: 8, n: 8, k: 4 };
        for role in ROLES {
            for element in [ScalarType::F16, ScalarType::F32] {
                let extent = Extent::of(role, shape, element);
                if role != MatrixRole::Accumulator && element == ScalarType::F32 {
                    continue;
                }
                let registers = extent.len() * 4 * extent.bits as usize / (32 * 32);
                for by_column in [false, true] {
                    let expected: Vec<u16> = (0..4 * extent.len() as u16).collect();
                    assert_eq!(places(&quad_pairs(extent, registers, by_column)), expected, "{extent:?}");
                }
            }
        }
    }
}
