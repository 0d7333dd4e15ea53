//! Records of a run. Memory holds recent ones uncompressed and older ones compressed; a large
//! history moves to a temporary file.

use std::borrow::Cow;
use std::env;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::path::PathBuf;

use serde::de::{DeserializeOwned, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use voltsim_checkpoint::codec;
use voltsim_checkpoint::journal::JournalWriter;

/// Records kept uncompressed.
const RECENT: usize = 32;
/// Bytes of compressed records kept in memory.
const LIMIT: usize = 1 << 28;

/// A sequence of records.
pub(super) struct Records<T> {
    /// Folder of the temporary file, if one is needed.
    folder: PathBuf,
    older: Option<JournalWriter>,
    recent: Vec<T>,
}

impl<T: Clone + Serialize + DeserializeOwned> Records<T> {
    /// An empty sequence; a temporary file would be created in `folder`.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, older: None, recent: Vec::new() }
    }

    pub(super) fn add(&mut self, record: T) {
        self.recent.push(record);
        if self.recent.len() >= RECENT {
            self.put_away();
        }
    }

    /// Number of records.
    pub(super) fn len(&self) -> usize {
        let older = self.older.as_ref().map_or(0, JournalWriter::records);
        usize::try_from(older).unwrap_or(usize::MAX).saturating_add(self.recent.len())
    }

    /// Compresses the recent records; all stay if one cannot be encoded.
    fn put_away(&mut self) {
        let Ok(encoded) = self.recent.iter().map(codec::encode).collect::<Result<Vec<_>, _>>() else {
            return;
        };
        let older = self.older.get_or_insert_with(|| JournalWriter::new(mem::take(&mut self.folder)));
        for record in encoded {
            // A journal that cannot write its temporary file keeps its records in memory.
            let _ = older.push(&record);
        }
        self.recent.clear();
    }

    /// The records in their order.
    ///
    /// # Errors
    /// The temporary file is unreadable.
    pub(super) fn iter(&self) -> impl Iterator<Item = io::Result<Cow<'_, T>>> {
        let older = self.older.iter().flat_map(|older| older.read());
        let older = older.map(|record| {
            let record = record.map_err(io::Error::other)?;
            Ok(Cow::Owned(codec::decode::<LIMIT, T>(&record).map_err(io::Error::other)?))
        });
        older.chain(self.recent.iter().map(|record| Ok(Cow::Borrowed(record))))
    }
}

impl<T: Clone + Serialize + DeserializeOwned> Default for Records<T> {
    fn default() -> Self {
        Self::new(env::temp_dir())
    }
}

impl<T: Clone + Serialize + DeserializeOwned> fmt::Debug for Records<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} records", self.len())
    }
}

impl<T: Clone + Serialize + DeserializeOwned> Serialize for Records<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.len()))?;
        for record in self.iter() {
            sequence.serialize_element(record.map_err(S::Error::custom)?.as_ref())?;
        }
        sequence.end()
    }
}

impl<'de, T: Clone + Serialize + DeserializeOwned> Deserialize<'de> for Records<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All<T>(PhantomData<T>);

        impl<'de, T: Clone + Serialize + DeserializeOwned> Visitor<'de> for All<T> {
            type Value = Records<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("records")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Records<T>, A::Error> {
                let mut records = Records::default();
                while let Some(record) = sequence.next_element()? {
                    records.add(record);
                }
                Ok(records)
            }
        }

        deserializer.deserialize_seq(All(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(count: u64) -> Vec<(u64, String)> {
        (0..count).map(|number| (number, "record".repeat(number as usize % 7))).collect()
    }

    #[test]
    fn records_return_in_order() {
        for count in [0, 1, RECENT as u64, RECENT as u64 + 1, 1000] {
            let mut kept = Records::default();
            records(count).into_iter().for_each(|record| kept.add(record));
            assert_eq!(kept.len() as u64, count);
            let read: Vec<_> = kept.iter().map(|record| record.unwrap().into_owned()).collect();
            assert!(read == records(count), "{count}");
            assert!(kept.recent.len() < RECENT);
        }
    }

    #[test]
    fn records_encode_as_a_list() {
        let mut kept = Records::default();
        records(100).into_iter().for_each(|record| kept.add(record));
        let bytes = codec::encode(&kept).unwrap();
        assert!(bytes == codec::encode(&records(100)).unwrap());
        let again = codec::decode::<LIMIT, Records<(u64, String)>>(&bytes).unwrap();
        assert_eq!(again.len(), 100);
    }
}
