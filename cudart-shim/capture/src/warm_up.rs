//! Warm-up of the timing model's caches.

use std::str::FromStr;

/// Launches that run untimed to warm the caches, written `launches=N,ctas=M`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WarmUp {
    /// Launches before a timed one.
    pub launches: u64,
    /// CTAs at the end of each, and before the timed CTAs of a launch.
    pub ctas: u64,
}

/// A malformed warm-up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a warm-up; write launches=N or ctas=M, or both with a comma (N or M may be `all`)")]
pub struct BadWarmUp(String);

impl FromStr for WarmUp {
    type Err = BadWarmUp;

    fn from_str(text: &str) -> Result<WarmUp, BadWarmUp> {
        let (mut launches, mut ctas) = (None, None);
        for part in text.split(',').map(str::trim) {
            let bad = || BadWarmUp(part.to_owned());
            let (key, value) = part.split_once('=').ok_or_else(bad)?;
            let number = if value == "all" { Some(u64::MAX) } else { value.parse().ok() };
            match key {
                "launches" => launches = Some(number.ok_or_else(bad)?),
                "ctas" => ctas = Some(number.ok_or_else(bad)?),
                _ => return Err(bad()),
            }
        }
        Ok(WarmUp { launches: launches.unwrap_or(1), ctas: ctas.unwrap_or(u64::MAX) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_keys_mean_one_launch_and_all_ctas() {
        let read = |text: &str| text.parse::<WarmUp>().map(|warm| (warm.launches, warm.ctas));
        assert_eq!(read("launches=3"), Ok((3, u64::MAX)));
        assert_eq!(read("ctas=512"), Ok((1, 512)));
        assert_eq!(read("launches=all, ctas=4"), Ok((u64::MAX, 4)));
    }

    #[test]
    fn malformed_warm_up_error_has_a_remedy() {
        for text in ["", "3", "launches=", "launches=x", "kernels=3"] {
            assert!(text.parse::<WarmUp>().unwrap_err().to_string().contains("launches=N"), "{text}");
        }
    }
}
