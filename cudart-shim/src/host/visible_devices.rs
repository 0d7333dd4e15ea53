//! `CUDA_VISIBLE_DEVICES`: which devices the program sees, and in which order. NVML sees all
//! devices.
//!
//! The rules are those of the CUDA programming guide, "CUDA Environment Variables"; how numbers are
//! read, and that a device named twice hides all devices, is known from PyTorch's copy of the
//! driver's parser (`torch/cuda/__init__.py`).

/// Devices that the value of the variable shows, of as many as there are; `uuids` are `GPU-…`, one
/// for each device.
pub(crate) fn visible(value: &str, uuids: &[String]) -> Vec<usize> {
    let by_uuid = value.trim_start().starts_with("GPU-") || value.trim_start().starts_with("MIG-");
    let mut devices = Vec::new();
    for entry in value.split(',').map(str::trim) {
        let device = if by_uuid { of_uuid(entry, uuids) } else { number(entry) };
        // The first entry that is no device ends the list.
        let Some(device) = device.filter(|device| *device < uuids.len()) else { break };
        if devices.contains(&device) {
            return Vec::new();
        }
        devices.push(device);
    }
    devices
}

/// The number that an entry begins with: `1`, `+1`, and `1gpu` are 1.
fn number(entry: &str) -> Option<usize> {
    let digits = entry.strip_prefix('+').unwrap_or(entry);
    let end = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}

/// The device whose UUID begins so; an abbreviation has to fit one device only.
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
    fn an_entry_that_is_no_device_ends_the_list() {
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
    fn a_device_named_twice_hides_all() {
        for value in ["0,0", "1,0,1", "GPU-f,GPU-f000-00"] {
            assert_eq!(shown(value), [0; 0], "{value}");
        }
    }

    #[test]
    fn uuids_may_be_cut_while_they_fit_one_device() {
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
