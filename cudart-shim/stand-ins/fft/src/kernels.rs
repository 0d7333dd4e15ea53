//! The kernels, and their parameter.

use standin_driver::{Address, Context, Grid, Modules, Source, Stream};

use crate::request::Precision;
use crate::status::{Answer, Status};

/// The PTX of this library.
const SOURCES: &[Source] =
    &[Source { ptx: concat!(include_str!("../../kernels/fft/pass.ptx"), "\0"), capability: 70 }];

/// The kernels of [`SOURCES`].
pub(crate) static MODULES: Modules = Modules::new(SOURCES);

/// Dimensions of the lines of a pass.
pub(crate) const DIMENSIONS: usize = 6;
/// Most lines of a CTA.
const LINES: u64 = 64;
/// Most threads of a CTA.
const THREADS: u64 = 256;

/// The source holds real numbers.
pub(crate) const REAL_IN: u32 = 1;
/// The destination holds real numbers.
pub(crate) const REAL_OUT: u32 = 2;
/// The source holds the first half of a line; the other half are conjugates.
pub(crate) const HERMITIAN: u32 = 4;
/// Conjugates at the load.
pub(crate) const CONJUGATE_IN: u32 = 8;
/// Conjugates at the store, before the factors.
pub(crate) const CONJUGATE_OUT: u32 = 16;
/// Conjugates at the store, after the factors.
pub(crate) const CONJUGATE_LAST: u32 = 32;
/// Neighbours at the load are of different lines.
const LINES_IN: u32 = 64;
/// Neighbours at the store are of different lines.
const LINES_OUT: u32 = 128;

/// A dimension of the lines of a pass. Offsets count elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dimension {
    pub(crate) size: u64,
    pub(crate) in_offset: i64,
    pub(crate) in_index: i64,
    pub(crate) out_offset: i64,
    pub(crate) out_index: i64,
}

/// Parameter of the kernels: `Pass` of `kernels/fft/pass.cu`, with the same fields.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pass {
    pub(crate) input: Address,
    pub(crate) output: Address,
    pub(crate) roots: Address,
    pub(crate) load_factors: Address,
    pub(crate) store_factors: Address,
    pub(crate) twiddles: Address,
    pub(crate) lines: u64,
    pub(crate) length: u64,
    pub(crate) in_limit: u64,
    pub(crate) out_limit: u64,
    pub(crate) in_element: i64,
    pub(crate) in_stride: i64,
    pub(crate) out_element: i64,
    pub(crate) out_stride: i64,
    pub(crate) dimensions: [Dimension; DIMENSIONS],
    pub(crate) radices: u64,
    pub(crate) n: u32,
    pub(crate) lines_of_cta: u32,
    pub(crate) flags: u32,
    pub(crate) unused: u32,
}

impl Pass {
    /// Sets dimensions, and with them the number of lines and the order of accesses.
    pub(crate) fn set_lines(&mut self, dimensions: &[Dimension], precision: Precision) -> Answer {
        for (place, dimension) in self.dimensions.iter_mut().zip(dimensions) {
            *place = *dimension;
        }
        let sizes = dimensions.iter().map(|dimension| dimension.size);
        self.lines = sizes.product();
        let values = precision.values_of_cta();
        let n = u64::from(self.n);
        self.lines_of_cta = u32::try_from((values / n).clamp(1, LINES)).map_err(|_| Status::InvalidSize)?;
        if let Some(first) = dimensions.iter().find(|dimension| dimension.size > 1) {
            let load = first.in_offset + first.in_index * self.in_stride;
            let store = first.out_offset + first.out_index * self.out_stride;
            if load.abs() < (self.in_element * self.in_stride).abs() {
                self.flags |= LINES_IN;
            }
            if store.abs() < (self.out_element * self.out_stride).abs() {
                self.flags |= LINES_OUT;
            }
        }
        Ok(())
    }

    /// Launches the pass.
    pub(crate) fn launch(mut self, context: Context, stream: Stream, precision: Precision) -> Answer {
        let kernel = match precision {
            Precision::Single => "voltsim_fft_c32",
            Precision::Double => "voltsim_fft_c64",
        };
        let ctas = self.lines.div_ceil(u64::from(self.lines_of_cta));
        let butterflies = u64::from(self.lines_of_cta) * u64::from(self.n) / 4;
        let threads = butterflies.next_multiple_of(32).clamp(32, THREADS);
        let number = |value: u64| u32::try_from(value).map_err(|_| Status::InvalidSize);
        let grid = Grid { ctas: [number(ctas)?, 1, 1], threads: number(threads)? };
        let arguments = &mut [(&raw mut self).cast()];
        // SAFETY: the kernels have one parameter, of this type.
        unsafe { MODULES.launch(context, kernel, grid, stream, arguments)? };
        Ok(())
    }
}
