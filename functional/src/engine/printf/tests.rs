//! Comparison with the C library's `snprintf`.

use std::ffi::CString;

use super::*;

/// Arguments from a list; a string's address is its index plus one.
struct List<'a> {
    values: Vec<u64>,
    strings: &'a [&'a str],
    next: usize,
}

impl Arguments for List<'_> {
    fn word(&mut self) -> Result<u32, FaultKind> {
        self.double_word().map(|value| value as u32)
    }

    fn double_word(&mut self) -> Result<u64, FaultKind> {
        self.next += 1;
        Ok(self.values.get(self.next - 1).copied().unwrap_or(0))
    }

    fn string(&mut self, address: u64) -> Result<Vec<u8>, FaultKind> {
        Ok(self.strings[address as usize - 1].as_bytes().to_vec())
    }
}

fn printed(format: &str, values: &[u64], strings: &[&str]) -> (String, i32) {
    let mut out = Vec::new();
    let mut arguments = List { values: values.to_vec(), strings, next: 0 };
    let count = print(format.as_bytes(), &mut arguments, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), count)
}

/// Output of the C library for one argument.
macro_rules! c_library {
    ($format:expr, $($value:expr),*) => {{
        let format = CString::new($format).unwrap();
        let mut buffer = [0u8; 512];
        // SAFETY: the buffer's length is passed, and the format takes these arguments.
        let length = unsafe {
            libc::snprintf(buffer.as_mut_ptr().cast(), buffer.len(), format.as_ptr(), $($value),*)
        };
        String::from_utf8(buffer[..length as usize].to_vec()).unwrap()
    }};
}

const FLAGS: [&str; 12] = ["", "-", "+", " ", "0", "#", "-+", "+0", "# ", "-#", "#0", "+#0"];
const SIZES: [&str; 10] = ["", "1", "8", "20", ".0", ".1", ".5", "12.3", "30.20", "3.12"];

#[test]
fn integers_print_as_in_c() {
    let values = [0u64, 1, 9, 42, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 40, 1 << 63, u64::MAX];
    for flags in FLAGS {
        for size in SIZES {
            for conversion in ["d", "i", "u", "x", "X", "o"] {
                for value in values {
                    for length in ["", "h", "hh"] {
                        let format = format!("%{flags}{size}{length}{conversion}");
                        assert_eq!(
                            printed(&format, &[value], &[]).0,
                            c_library!(format.as_str(), value as u32),
                            "{format} {value}"
                        );
                    }
                    for length in ["l", "ll", "z", "j"] {
                        let format = format!("%{flags}{size}{length}{conversion}");
                        assert_eq!(
                            printed(&format, &[value], &[]).0,
                            c_library!(format.as_str(), value),
                            "{format} {value}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn floating_point_numbers_print_as_in_c() {
    let mut values = vec![
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.1,
        0.5,
        2.5,
        9.995,
        99999.95,
        123456.0,
        1234567.0,
        1e-4,
        9.9999e-5,
        1e22,
        1e100,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        std::f64::consts::PI,
    ];
    let mut random = crate::ops::samples::Random::new();
    values.extend((0..40).map(|_| f64::from_bits(random.next())).filter(|value| !value.is_nan()));
    for flags in FLAGS {
        for size in SIZES {
            for conversion in ["f", "F", "e", "E", "g", "G", "a", "A"] {
                for &value in &values {
                    if value == 99999.95 && flags.contains('#') && "gG".contains(conversion) {
                        // glibc 2.36 drops zeros that `#` should keep when rounding adds a digit.
                        continue;
                    }
                    let format = format!("%{flags}{size}{conversion}");
                    assert_eq!(
                        printed(&format, &[value.to_bits()], &[]).0,
                        c_library!(format.as_str(), value),
                        "{format} {value:e}"
                    );
                }
            }
        }
    }
}

#[test]
fn rounding_carry_keeps_the_precision() {
    assert_eq!(printed("%#.5g %.5g", &[99999.95f64.to_bits(); 2], &[]).0, "1.0000e+05 1e+05");
}

#[test]
fn characters_strings_pointers_print_as_in_c() {
    assert_eq!(printed("[%c%3c%-3c]", &[65, 66, 67], &[]).0, "[A  BC  ]");
    assert_eq!(
        printed("[%s|%8s|%-8s|%.2s|%s]", &[1, 1, 1, 1, 0], &["volta"]).0,
        "[volta|   volta|volta   |vo|(null)]"
    );
    assert_eq!(
        printed("%p %p %20p|%-20p|", &[0, 0x7f00, 0x7f00, 0x7f00], &[]).0,
        "(nil) 0x7f00               0x7f00|0x7f00              |"
    );
}

#[test]
fn printf_counts_arguments_including_stars() {
    assert_eq!(printed("no arguments, 100%%", &[], &[]), ("no arguments, 100%".to_owned(), 0));
    assert_eq!(printed("%d %*d %.*f", &[1, 6, 2, 1, 2.55f64.to_bits()], &[]), ("1      2 2.5".to_owned(), 5));
    assert_eq!(printed("%-*d|%*d|", &[4, 7, (-4i32) as u32 as u64, 7], &[]).0, "7   |7   |");
}

#[test]
fn invalid_directives_print_literally() {
    assert_eq!(printed("50%! %y, %", &[], &[]).0, "50%! %y, %");
}
