//! Requirements of a spelling on a module: PTX ISA version and target architecture.

use std::fmt;

/// A target architecture: `sm_90`, or `sm_90a` and `sm_100f` with special features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Architecture number: 90.
    pub number: u32,
    /// True for a target with a suffix: it has features of no plain target, not even a later one.
    pub specific: bool,
}

impl Target {
    /// Parses a name after `sm_`: `90`, `90a`, `100f`.
    pub fn from_name(name: &str) -> Option<Target> {
        let digits = name.trim_end_matches(['a', 'f']);
        let number = digits.parse().ok()?;
        (name.len() <= digits.len() + 1).then_some(Target { number, specific: digits.len() < name.len() })
    }

    /// True if code for this target may use features of `needed`.
    pub fn has(self, needed: Target) -> bool {
        self.number >= needed.number && (self.specific || !needed.specific)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number, if self.specific { "a" } else { "" })
    }
}

/// First PTX ISA version and target with a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// First PTX ISA version, (major, minor).
    pub ptx: (u8, u8),
    /// First target.
    pub target: Target,
}

impl Requirement {
    /// Parses the literals of a line of the op table: `7.6` and `90`, or `"90a"`.
    pub(super) const fn written(ptx: &str, target: &str) -> Requirement {
        let ptx = ptx.as_bytes();
        let target = target.as_bytes();
        let mut number = 0;
        let mut specific = false;
        let mut i = 0;
        while i < target.len() {
            match target[i] {
                digit @ b'0'..=b'9' => number = number * 10 + (digit - b'0') as u32,
                b'a' => specific = true,
                _ => {}
            }
            i += 1;
        }
        Requirement { ptx: (ptx[0] - b'0', ptx[2] - b'0'), target: Target { number, specific } }
    }

    /// Combined requirement of two instructions.
    pub fn and(self, other: Requirement) -> Requirement {
        let target = Target {
            number: self.target.number.max(other.target.number),
            specific: self.target.specific || other.target.specific,
        };
        Requirement { ptx: self.ptx.max(other.ptx), target }
    }
}

/// Architecture of a module: its `.version` and `.target`; `None` if missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Architecture {
    /// PTX ISA version, (major, minor).
    pub ptx: Option<(u32, u32)>,
    /// Target.
    pub target: Option<Target>,
}

impl Architecture {
    /// True if the version is recent enough.
    pub fn has_version(self, needed: Requirement) -> bool {
        let (major, minor) = needed.ptx;
        self.ptx.is_none_or(|ptx| ptx >= (major.into(), minor.into()))
    }

    /// True if the architecture meets the requirement.
    pub fn has(self, needed: Requirement) -> bool {
        self.has_version(needed) && self.has_target(needed)
    }

    /// True if the target meets the requirement.
    pub fn has_target(self, needed: Requirement) -> bool {
        self.target.is_none_or(|target| target.has(needed.target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixed_targets_extend_plain_ones() {
        let read = |name| Target::from_name(name).unwrap();
        assert!(read("90a").has(read("90")) && read("100").has(read("90")) && read("103f").has(read("100a")));
        assert!(!read("90").has(read("90a")) && !read("100").has(read("90a")) && !read("80").has(read("90")));
        assert_eq!(Target::from_name("compute"), None);
    }

    #[test]
    fn table_literals_parse() {
        let needed = Requirement::written("8.6", "\"100a\"");
        assert_eq!(needed, Requirement { ptx: (8, 6), target: Target { number: 100, specific: true } });
    }
}
