//! `CUDA_VISIBLE_DEVICES`: devices visible to the program, and their order. NVML sees all devices.
//!
//! The rules are from the CUDA programming guide, "CUDA Environment Variables". PyTorch's copy of
//! the driver's parser (`torch/cuda/__init__.py`) adds how numbers parse, and that a repeated
//! device hides all devices.

/// Devices selected by the variable's value; `uuids` holds `GPU-…` of each device.
pub(crate) fn visible(value: &str, uuids: &[String]) -> Vec<usize> {
    let by_uuid = value.trim_start().starts_with("GPU-") || value.trim_start().starts_with("MIG-");
    let mut devices = Vec::new();
    for entry in value.split(',').map(str::trim) {
        let device = if by_uuid { of_uuid(entry, uuids) } else { number(entry) };
        // The first invalid entry ends the list.
        let Some(device) = device.filter(|device| *device < uuids.len()) else { break };
        if devices.contains(&device) {
            return Vec::new();
        }
        devices.push(device);
    }
    devices
}

/// Leading number of an entry: `1`, `+1` and `1gpu` are 1.
fn number(entry: &str) -> Option<usize> {
    let digits = entry.strip_prefix('+').unwrap_or(entry);
    let end = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}

/// Device with this UUID prefix, which must be unique.
fn of_uuid(entry: &str, uuids: &[String]) -> Option<usize> {
    entry.strip_prefix("GPU-").filter(|rest| !rest.is_empty())?;
    let entry = entry.to_ascii_lowercase();
    let mut fitting =
        uuids.iter().enumerate().filter(|(_, uuid)| uuid.to_ascii_lowercase().starts_with(&entry));
    match (fitting.next(), fitting.next()) {
        (Some((device, _)), None) => Some(device),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: &str) -> Vec<usize> {
        visible(value, &["GPU-a0b1-00".to_owned(), "GPU-a0c2-00".to_owned(), "GPU-f000-00".to_owned()])
    }

    #[test]
    fn indices_choose_and_order_devices() {
        for (value, devices) in [
            ("0,1,2", vec![0, 1, 2]),
            ("1,0", vec![1, 0]),
            (" 2 , 0 ", vec![2, 0]),
            ("+1", vec![1]),
            ("1gpu2,2ampere", vec![1, 2]),
        ] {
            assert_eq!(shown(value), devices, "{value}");
        }
    }

    #[test]
    fn invalid_entry_ends_the_list() {
        for (value, devices) in [
            ("", vec![]),
            ("-1", vec![]),
            ("NoDevFiles", vec![]),
            ("0,-1,1", vec![0]),
            ("1,3,0", vec![1]),
            ("0,,1", vec![0]),
            ("2,GPU-f,1", vec![2]),
            ("99999999999999999999999", vec![]),
        ] {
            assert_eq!(shown(value), devices, "{value}");
        }
    }

    #[test]
    fn repeated_device_hides_all() {
        for value in ["0,0", "1,0,1", "GPU-f,GPU-f000-00"] {
            assert_eq!(shown(value), [0; 0], "{value}");
        }
    }

    #[test]
    fn unique_uuid_prefix_selects_a_device() {
        for (value, devices) in [
            ("GPU-f000-00,GPU-a0b1-00", vec![2, 0]),
            ("GPU-F", vec![2]),
            ("GPU-a0b", vec![0]),
            ("GPU-a0", vec![]),
            ("GPU-", vec![]),
            ("GPU-f,GPU-0", vec![2]),
            ("GPU-f,1", vec![2]),
            ("MIG-f000-00", vec![]),
            ("GPU-f,MIG-a0b1", vec![2]),
        ] {
            assert_eq!(shown(value), devices, "{value}");
        }
    }
}
