//! Values of the approximate functions beyond double precision, by MPFR if installed, with correct rounding
//! to any precision. GCC depends on MPFR, so the library exists wherever GCC does.

use std::ffi::{c_int, c_long, c_ulong};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use libloading::Library;

use super::Function;

/// File name of the library.
const LIBRARY: &str = "libmpfr.so.6";

/// Precision of values in bits.
const PRECISION: c_long = 160;

/// Rounding to nearest.
const NEAREST: c_int = 0;

/// Number beyond double precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exact {
    /// Nearest double.
    pub value: f64,
    /// Difference from the nearest double.
    pub rest: f64,
}

impl Exact {
    /// Computes with the host's double-precision functions, whose relative errors are about 2^-52.
    pub fn by_host(function: Function, a: f64) -> Exact {
        let value = match function {
            Function::Rcp => 1.0 / a,
            Function::Sqrt => a.sqrt(),
            Function::Rsqrt => 1.0 / a.sqrt(),
            Function::Sin => a.sin(),
            Function::Cos => a.cos(),
            Function::Lg2 => a.log2(),
            Function::Ex2 => a.exp2(),
            Function::Tanh => a.tanh(),
        };
        Exact { value, rest: 0.0 }
    }

    /// Computes with MPFR if available. Zeros, infinities and NaNs come from the host, because MPFR has
    /// other signs for them.
    pub fn of(function: Function, a: f64) -> Exact {
        let by_host = Exact::by_host(function, a);
        let special = by_host.value == 0.0 || !by_host.value.is_finite();
        match mpfr() {
            Ok(mpfr) if !special => mpfr.value(function, a),
            _ => by_host,
        }
    }

    /// Returns the difference of `found` from the exact value.
    pub fn distance(&self, found: f64) -> f64 {
        ((found - self.value) - self.rest).abs()
    }
}

/// Returns the library, or the reason for its absence.
pub fn mpfr() -> Result<&'static Mpfr, &'static str> {
    static MPFR: OnceLock<Result<Mpfr, String>> = OnceLock::new();
    MPFR.get_or_init(|| Mpfr::open().map_err(|error| error.to_string())).as_ref().map_err(String::as_str)
}

/// MPFR's `mpfr_t`: precision, sign, exponent and pointer to the digits.
#[repr(C)]
struct Number {
    precision: c_long,
    sign: c_int,
    exponent: c_long,
    digits: *mut c_ulong,
}

type Unary = unsafe extern "C" fn(*mut Number, *const Number, c_int) -> c_int;

/// Functions of the library.
pub struct Mpfr {
    init: unsafe extern "C" fn(*mut Number, c_long),
    clear: unsafe extern "C" fn(*mut Number),
    from_double: unsafe extern "C" fn(*mut Number, f64, c_int) -> c_int,
    to_double: unsafe extern "C" fn(*const Number, c_int) -> f64,
    subtract: unsafe extern "C" fn(*mut Number, *const Number, f64, c_int) -> c_int,
    divide: unsafe extern "C" fn(*mut Number, c_ulong, *const Number, c_int) -> c_int,
    sqrt: Unary,
    rsqrt: Unary,
    sin: Unary,
    cos: Unary,
    lg2: Unary,
    ex2: Unary,
    tanh: Unary,
    /// Keeps the library loaded for the function pointers.
    _library: Library,
}

impl Mpfr {
    fn open() -> Result<Mpfr, libloading::Error> {
        // SAFETY: the library has no relevant initialisers.
        let library = unsafe { Library::new(LIBRARY) }?;
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: by MPFR's documentation, its functions have these types in all versions with this
                // name.
                *unsafe { library.get($name) }?
            };
        }
        Ok(Mpfr {
            init: symbol!("mpfr_init2"),
            clear: symbol!("mpfr_clear"),
            from_double: symbol!("mpfr_set_d"),
            to_double: symbol!("mpfr_get_d"),
            subtract: symbol!("mpfr_sub_d"),
            divide: symbol!("mpfr_ui_div"),
            sqrt: symbol!("mpfr_sqrt"),
            rsqrt: symbol!("mpfr_rec_sqrt"),
            sin: symbol!("mpfr_sin"),
            cos: symbol!("mpfr_cos"),
            lg2: symbol!("mpfr_log2"),
            ex2: symbol!("mpfr_exp2"),
            tanh: symbol!("mpfr_tanh"),
            _library: library,
        })
    }

    /// Returns the function's value at `a`.
    fn value(&self, function: Function, a: f64) -> Exact {
        let unary = match function {
            Function::Rcp => None,
            Function::Sqrt => Some(self.sqrt),
            Function::Rsqrt => Some(self.rsqrt),
            Function::Sin => Some(self.sin),
            Function::Cos => Some(self.cos),
            Function::Lg2 => Some(self.lg2),
            Function::Ex2 => Some(self.ex2),
            Function::Tanh => Some(self.tanh),
        };
        let mut number = MaybeUninit::<Number>::uninit();
        let x = number.as_mut_ptr();
        // SAFETY: `x` is a valid location for a number. `x` is initialised first and cleared last, and
        // results may overlap operands.
        unsafe {
            (self.init)(x, PRECISION);
            (self.from_double)(x, a, NEAREST);
            match unary {
                Some(unary) => unary(x, x, NEAREST),
                None => (self.divide)(x, 1, x, NEAREST),
            };
            let value = (self.to_double)(x, NEAREST);
            (self.subtract)(x, x, value, NEAREST);
            let rest = (self.to_double)(x, NEAREST);
            (self.clear)(x);
            Exact { value, rest }
        }
    }
}
