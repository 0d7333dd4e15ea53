//! Static libraries (`ar` archives) of host object files, such as `libcudadevrt.a`.

use object::read::archive::ArchiveFile;

use super::error::{ContainerError, Origin};
use super::region::Region;

/// Magic bytes of an archive.
pub const ARCHIVE_MAGIC: &[u8; 8] = b"!<arch>\n";

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// File name.
    pub name: String,
    /// Content.
    pub bytes: &'a [u8],
}

/// Files of an archive, without its tables.
pub fn members(bytes: &[u8], origin: Origin) -> Result<Vec<Member<'_>>, ContainerError> {
    let region = Region::new(bytes, origin);
    let damaged =
        |error: object::Error| ContainerError::Archive { place: region.place(0), reason: error.to_string() };
    let archive = ArchiveFile::parse(bytes).map_err(damaged)?;
    let member = |member: object::read::Result<object::read::archive::ArchiveMember<'_>>| {
        let member = member.map_err(damaged)?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let (offset, size) = member.file_range();
        Ok(Member { name, bytes: region.slice(offset, size, "member of an archive")?.bytes })
    };
    archive.members().map(member).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Vec<u8> {
        let mut bytes = ARCHIVE_MAGIC.to_vec();
        for (name, content) in [("one.o/", "first\n"), ("two.o/", "second")] {
            let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, content.len());
            bytes.extend(header.into_bytes());
            bytes.extend(content.bytes());
        }
        bytes
    }

    #[test]
    fn archive_members_have_names_and_bytes() {
        let bytes = archive();
        let members = members(&bytes, Origin::ModuleImage).unwrap();
        let found: Vec<_> = members.iter().map(|member| (member.name.as_str(), member.bytes)).collect();
        assert_eq!(found, [("one.o", b"first\n".as_slice()), ("two.o", b"second")]);
    }

    #[test]
    fn truncated_archives_are_errors() {
        let bytes = archive();
        assert!(members(&bytes[..bytes.len() - 1], Origin::ModuleImage).is_err());
    }
}
