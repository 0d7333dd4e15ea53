//! Values of the approximate functions to more than double precision, by MPFR where its library is: it correctly rounds
//! to as many bits as one asks for. It is what gcc calculates with, so that it is there wherever gcc is.

use std::ffi::{c_int, c_long, c_ulong};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use libloading::Library;

use super::Function;

/// The library.
const LIBRARY: &str = "libmpfr.so.6";

/// Bits that values are calculated to.
const PRECISION: c_long = 160;

/// Rounding to nearest.
const NEAREST: c_int = 0;

/// A number to more than double precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exact {
    /// The double next to it.
    pub value: f64,
    /// What is added to that.
    pub rest: f64,
}

impl Exact {
    /// By the host's functions of double precision, whose errors are of some 2^-52 of the value.
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

    /// By MPFR, if it is there; values that are 0, infinite or NaN by the host, as MPFR has other signs there.
    pub fn of(function: Function, a: f64) -> Exact {
        let by_host = Exact::by_host(function, a);
        let special = by_host.value == 0.0 || !by_host.value.is_finite();
        match mpfr() {
            Ok(mpfr) if !special => mpfr.value(function, a),
            _ => by_host,
        }
    }

    /// The difference of `found` from it.
    pub fn distance(&self, found: f64) -> f64 {
        ((found - self.value) - self.rest).abs()
    }
}

/// The library, or why it is not there.
pub fn mpfr() -> Result<&'static Mpfr, &'static str> {
    static MPFR: OnceLock<Result<Mpfr, String>> = OnceLock::new();
    MPFR.get_or_init(|| Mpfr::open().map_err(|error| error.to_string())).as_ref().map_err(String::as_str)
}

/// MPFR's `mpfr_t`: precision, sign, exponent, and where the digits are.
#[repr(C)]
struct Number {
    precision: c_long,
    sign: c_int,
    exponent: c_long,
    digits: *mut c_ulong,
}

type Unary = unsafe extern "C" fn(*mut Number, *const Number, c_int) -> c_int;

/// The functions that are needed.
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
    /// Its functions are called as long as this is there.
    _library: Library,
}

impl Mpfr {
    fn open() -> Result<Mpfr, libloading::Error> {
        // SAFETY: the library has no initialisers that matter.
        let library = unsafe { Library::new(LIBRARY) }?;
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: MPFR's functions have these types, by its documentation, in all versions of this name.
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

    /// The function's value at `a`.
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
        // SAFETY: `x` has room for a number; it is initialised before all else, cleared last, and results may take the
        // places of operands.
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
