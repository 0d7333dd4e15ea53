//! Addresses of a traced instruction, in one of three forms selected by a digit.

use warp_stream::{LaneMask, WARP_SIZE};

use super::parse::{hexadecimal, number};

/// Form with every address.
const LIST: &str = "0";
/// Form with base and stride.
const STRIDE: &str = "1";
/// Form with base and differences.
const DIFFERENCES: &str = "2";

fn lanes(active: LaneMask) -> impl Iterator<Item = usize> {
    (0..WARP_SIZE).filter(move |lane| active >> lane & 1 != 0)
}

/// Reads the addresses of active lanes from the rest of a line.
pub(super) fn read<'a>(
    mut words: impl Iterator<Item = &'a str>,
    active: LaneMask,
) -> Result<[u64; WARP_SIZE], &'static str> {
    let mut addresses = [0; WARP_SIZE];
    let form = words.next().ok_or("the form of the addresses is missing")?;
    let mut address = || words.next().and_then(hexadecimal).ok_or("an address is missing or not hexadecimal");
    match form {
        LIST => {
            for lane in lanes(active) {
                addresses[lane] = address()?;
            }
        }
        STRIDE => {
            let base = address()?;
            let stride: i64 = words.next().and_then(number).ok_or("the stride is missing or not a number")?;
            for (lane, index) in lanes(active).zip(0_u64..) {
                addresses[lane] = base.wrapping_add(index.wrapping_mul(stride as u64));
            }
        }
        DIFFERENCES => {
            let mut last = address()?;
            for (index, lane) in lanes(active).enumerate() {
                if index > 0 {
                    let step: i64 =
                        words.next().and_then(number).ok_or("a difference is missing or not a number")?;
                    last = last.wrapping_add(step as u64);
                }
                addresses[lane] = last;
            }
        }
        _ => return Err("the form of the addresses must be 0, 1 or 2"),
    }
    Ok(addresses)
}

/// Writes the addresses of active lanes in the shortest form. Accel-Sim's strides have 32 bits.
pub(super) fn write(active: LaneMask, addresses: &[u64; WARP_SIZE]) -> String {
    let lanes: Vec<usize> = lanes(active).collect();
    let Some(&first) = lanes.first() else { return format!("{STRIDE} 0x0 0") };
    let differences: Vec<i64> =
        lanes.windows(2).map(|pair| addresses[pair[1]].wrapping_sub(addresses[pair[0]]) as i64).collect();
    let base = addresses[first];
    let contiguous = lanes.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let stride = differences.first().copied().unwrap_or(0);
    let is_short = i32::try_from(stride).is_ok();
    if contiguous && is_short && differences.iter().all(|difference| *difference == stride) {
        return format!("{STRIDE} 0x{base:x} {stride}");
    }
    let differences: String = differences.iter().map(|difference| format!(" {difference}")).collect();
    format!("{DIFFERENCES} 0x{base:x}{differences}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, active: LaneMask) -> Result<Vec<u64>, &'static str> {
        let all = read(text.split_whitespace(), active)?;
        Ok(lanes(active).map(|lane| all[lane]).collect())
    }

    #[test]
    fn three_forms_give_the_same_addresses() {
        let expected = Ok(vec![0x100, 0x104, 0x108]);
        assert_eq!(read_text("0 0x100 0x104 0x108", 0b111), expected);
        assert_eq!(read_text("1 0x100 4", 0b111), expected);
        assert_eq!(read_text("2 0x100 4 4", 0b111), expected);
    }

    #[test]
    fn too_few_addresses_are_an_error() {
        for text in ["", "0 0x100", "1 0x100", "2 0x100 4", "3 0x100"] {
            assert!(read_text(text, 0b111).is_err(), "{text}");
        }
    }

    #[test]
    fn strides_beyond_32_bits_become_differences() {
        let addresses = std::array::from_fn(|lane| (lane as u64) << 31);
        assert_eq!(write(0b11, &addresses), "2 0x0 2147483648");
        let addresses = std::array::from_fn(|lane| (lane as u64) << 30);
        assert_eq!(write(0b11, &addresses), "1 0x0 1073741824");
    }

    #[test]
    fn written_addresses_read_back() {
        for (active, address) in [(0b1010_u32, 8_u64), (!0, 4), (0x8000_0001, 1 << 40), (0, 0)] {
            let addresses = std::array::from_fn(|lane| 0x7000 + (lane as u64 * lane as u64) * address);
            let expected: Vec<u64> = lanes(active).map(|lane| addresses[lane]).collect();
            assert_eq!(read_text(&write(active, &addresses), active), Ok(expected));
        }
    }
}
