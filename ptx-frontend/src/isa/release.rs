//! PTX versions and the targets of each ("Release Notes" of the manual; where that is silent, the behaviour
//! of `ptxas` 11.8, 12.9 and 13.5).

use super::Target;

/// PTX versions: each major version with its last minor version.
const VERSIONS: [(u32, u32); 9] =
    [(1, 5), (2, 3), (3, 2), (4, 3), (5, 0), (6, 5), (7, 8), (8, 8), NEWEST_VERSION];

/// Newest PTX version whose instructions are in the op table.
pub const NEWEST_VERSION: (u32, u32) = (9, 5);

/// First versions of targets with suffix `a` and suffix `f`, if the plain target is older.
const SPECIFIC: ((u32, u32), (u32, u32)) = ((8, 0), (8, 8));

/// Lowest target with a suffix.
const FIRST_SPECIFIC: u32 = 90;

/// Targets with their first PTX version.
const TARGETS: [(u32, (u32, u32)); 33] = [
    (10, (1, 0)),
    (11, (1, 0)),
    (12, (1, 2)),
    (13, (1, 2)),
    (20, (2, 0)),
    (21, (2, 0)),
    (30, (3, 0)),
    (32, (4, 0)),
    (35, (3, 1)),
    (37, (4, 1)),
    (50, (4, 0)),
    (52, (4, 1)),
    (53, (4, 2)),
    (60, (5, 0)),
    (61, (5, 0)),
    (62, (5, 0)),
    (70, (6, 0)),
    (72, (6, 1)),
    (75, (6, 3)),
    (80, (7, 0)),
    (82, (6, 2)),
    (86, (7, 1)),
    (87, (7, 4)),
    (88, (9, 0)),
    (89, (7, 8)),
    (90, (7, 8)),
    (100, (8, 6)),
    (101, (8, 6)),
    (103, (8, 8)),
    (107, (9, 4)),
    (110, (9, 0)),
    (120, (8, 7)),
    (121, (8, 8)),
];

/// All PTX versions, the oldest first.
pub fn versions() -> impl Iterator<Item = (u32, u32)> {
    VERSIONS.iter().flat_map(|(major, last)| (0..=*last).map(|minor| (*major, minor)))
}

/// Names of all targets, without `sm_`.
pub fn targets() -> impl Iterator<Item = String> {
    let names =
        TARGETS.iter().flat_map(|(number, _)| ["", "a", "f"].map(|letter| format!("{number}{letter}")));
    names.filter(|name| first_version(name).is_some())
}

/// True if this PTX version exists.
pub fn is_version((major, minor): (u32, u32)) -> bool {
    VERSIONS.iter().any(|(known, last)| *known == major && minor <= *last)
}

/// First PTX version of a target, by its name after `sm_`: `70`, `90a`, `100f`.
pub fn first_version(name: &str) -> Option<(u32, u32)> {
    let target = Target::from_name(name)?;
    let (_, first) = TARGETS.iter().find(|(number, _)| *number == target.number)?;
    let of_letter = match name.chars().last() {
        Some('a') if target.number >= FIRST_SPECIFIC => SPECIFIC.0,
        Some('f') if target.number > FIRST_SPECIFIC => SPECIFIC.1,
        Some('a' | 'f') => return None,
        _ => *first,
    };
    Some(of_letter.max(*first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minor_versions_end_at_the_next_major_version() {
        for known in [(1, 0), (2, 3), (3, 2), (5, 0), (6, 5), (7, 8), (8, 8), (9, 0), (9, 5)] {
            assert!(is_version(known), "{known:?}");
        }
        for unknown in [(0, 9), (2, 4), (3, 3), (5, 1), (7, 9), (8, 9), (9, 6), (10, 0), (99, 9)] {
            assert!(!is_version(unknown), "{unknown:?}");
        }
    }

    #[test]
    fn first_target_versions_match_ptxas() {
        for (name, first) in [
            ("10", Some((1, 0))),
            ("32", Some((4, 0))),
            ("35", Some((3, 1))),
            ("82", Some((6, 2))),
            ("88", Some((9, 0))),
            ("90", Some((7, 8))),
            ("90a", Some((8, 0))),
            ("90f", None),
            ("100a", Some((8, 6))),
            ("100f", Some((8, 8))),
            ("107f", Some((9, 4))),
            ("120", Some((8, 7))),
            ("80a", None),
            ("95", None),
            ("999", None),
            ("", None),
        ] {
            assert_eq!(first_version(name), first, "{name}");
        }
    }
}
