//! Lengths: parts of a long line, radices of a part, and lines with large prime factors.

/// Radices of the kernels that are primes, greatest first.
const PRIMES: [u64; 4] = [7, 5, 3, 2];
/// Most passes of a line.
const MOST_PARTS: usize = 4;

/// The prime factors of a length, greatest first, if the kernels have all of them as radices.
fn factors(mut length: u64) -> Option<Vec<u64>> {
    let mut factors = Vec::new();
    for prime in PRIMES {
        while length > 0 && length.is_multiple_of(prime) {
            factors.push(prime);
            length /= prime;
        }
    }
    (length == 1).then_some(factors)
}

/// The lengths of the passes of a line: their product is the length, and each is at most `most`.
pub(crate) fn parts(length: u64, most: u64) -> Option<Vec<u64>> {
    let factors = factors(length)?;
    (1..=MOST_PARTS).find_map(|count| {
        let mut parts = vec![1_u64; count];
        for factor in &factors {
            *parts.iter_mut().min()? *= factor;
        }
        parts.iter().all(|part| *part <= most).then_some(parts)
    })
}

/// The radices of the stages of a pass, four bits each.
pub(crate) fn radices(length: u64) -> u64 {
    let mut factors = factors(length).unwrap_or_default();
    let twos = factors.iter().filter(|factor| **factor == 2).count();
    factors.retain(|factor| *factor != 2);
    factors.extend(std::iter::repeat_n(2, twos % 2));
    factors.extend(std::iter::repeat_n(4, twos / 2));
    factors.into_iter().fold(0, |radices, radix| radices << 4 | radix)
}

/// Length of the two transforms in the place of a line with a large prime factor; none for others.
pub(crate) fn chirp(length: u64) -> Option<u64> {
    factors(length).is_none().then(|| (2 * length - 1).next_power_of_two())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_long_line_have_its_length_as_product() {
        assert_eq!(parts(2048, 2048), Some(vec![2048]));
        assert_eq!(parts(4096, 2048), Some(vec![64, 64]));
        for length in [6000, 1 << 20, 1 << 24, 7 * 7 * 7 * 7 * 7 * 5 * 3] {
            let parts = parts(length, 1024).unwrap_or_default();
            assert_eq!(parts.iter().product::<u64>(), length, "{parts:?}");
        }
    }

    #[test]
    fn radices_have_the_length_as_product() {
        for length in (1..=2048).filter(|length| chirp(*length).is_none()) {
            let radices = radices(length);
            let digits = (0..16).map(|place| radices >> (4 * place) & 15);
            assert_eq!(digits.filter(|radix| *radix > 0).product::<u64>(), length);
        }
    }

    #[test]
    fn large_prime_factor_takes_a_chirp() {
        assert_eq!(chirp(11), Some(32));
        assert_eq!(chirp(2 * 13), Some(64));
        assert_eq!(chirp(210), None);
    }
}
