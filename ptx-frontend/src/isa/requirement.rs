//! What a module must be to use a spelling of the op table: the PTX ISA version and the target architecture.

use std::fmt;

/// A target architecture: `sm_90`, or `sm_90a` and `sm_100f`, which have features of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The architecture: 90.
    pub number: u32,
    /// It is one with a letter: features that no plain target has, later ones included.
    pub specific: bool,
}

impl Target {
    /// Reads what stands behind `sm_`: `90`, `90a`, `100f`.
    pub fn from_name(name: &str) -> Option<Target> {
        let digits = name.trim_end_matches(['a', 'f']);
        let number = digits.parse().ok()?;
        (name.len() <= digits.len() + 1).then_some(Target { number, specific: digits.len() < name.len() })
    }

    /// May code for this target use what `needed` has?
    pub fn has(self, needed: Target) -> bool {
        self.number >= needed.number && (self.specific || !needed.specific)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number, if self.specific { "a" } else { "" })
    }
}

/// The first PTX ISA version and target that have something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// First PTX ISA version, (major, minor).
    pub ptx: (u8, u8),
    /// First target.
    pub target: Target,
}

impl Requirement {
    /// Reads the literals of a line of the op table: `7.6` and `90`, or `"90a"`.
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

    /// What two instructions need together.
    pub fn and(self, other: Requirement) -> Requirement {
        let target = Target {
            number: self.target.number.max(other.target.number),
            specific: self.target.specific || other.target.specific,
        };
        Requirement { ptx: self.ptx.max(other.ptx), target }
    }
}

/// What a module says of itself: its `.version` and `.target`; `None` where it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Architecture {
    /// PTX ISA version, (major, minor).
    pub ptx: Option<(u32, u32)>,
    /// Target.
    pub target: Option<Target>,
}

impl Architecture {
    /// Is its version recent enough?
    pub fn has_version(self, needed: Requirement) -> bool {
        let (major, minor) = needed.ptx;
        self.ptx.is_none_or(|ptx| ptx >= (major.into(), minor.into()))
    }

    /// May it use it?
    pub fn has(self, needed: Requirement) -> bool {
        self.has_version(needed) && self.has_target(needed)
    }

    /// Is its target one that has it?
    pub fn has_target(self, needed: Requirement) -> bool {
        self.target.is_none_or(|target| target.has(needed.target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_with_a_letter_has_what_the_plain_one_has_and_more() {
        let read = |name| Target::from_name(name).unwrap();
        assert!(read("90a").has(read("90")) && read("100").has(read("90")) && read("103f").has(read("100a")));
        assert!(!read("90").has(read("90a")) && !read("100").has(read("90a")) && !read("80").has(read("90")));
        assert_eq!(Target::from_name("compute"), None);
    }

    #[test]
    fn literals_of_the_table_are_read() {
        let needed = Requirement::written("8.6", "\"100a\"");
        assert_eq!(needed, Requirement { ptx: (8, 6), target: Target { number: 100, specific: true } });
    }
}
