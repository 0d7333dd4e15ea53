//! Measures the time to write and read a journal of a million 1 KB records, half of it noise.
//!
//! `cargo run --release -p voltsim-checkpoint --example journal_speed -- FOLDER`

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use voltsim_checkpoint::atomic_file::Durability;
use voltsim_checkpoint::frame::{File, FileWriter};
use voltsim_checkpoint::journal::{JournalReader, JournalWriter};

const RECORDS: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("the folder is missing")?;
    let path = Path::new(&folder).join("journal_speed.vck");
    let mut noise = vec![0; 1 << 20];
    blake3::Hasher::new().finalize_xof().fill(&mut noise);
    let mut record = vec![0; 1024];
    let mut journal = JournalWriter::new(&folder);
    let start = Instant::now();
    for index in 0..RECORDS {
        record[..8].copy_from_slice(&index.to_le_bytes());
        let place = index as usize * 512 % (noise.len() - 512);
        record[512..].copy_from_slice(&noise[place..place + 512]);
        journal.push(&record)?;
    }
    println!("push: {:?}, {} bytes", start.elapsed(), journal.length());
    let start = Instant::now();
    let mut writer = FileWriter::create(&path, 1)?;
    journal.write_to(&mut writer, "journal")?;
    println!("write: {:?}", start.elapsed());
    println!("{:?} after {:?}", writer.finish(Durability::Synced)?, start.elapsed());
    let start = Instant::now();
    let file = File::open(&path)?;
    let lengths = JournalReader::open(&file, "journal")?.map(|record| record.map(|record| record.len()));
    println!("read: {} bytes in {:?}", lengths.sum::<Result<usize, _>>()?, start.elapsed());
    std::fs::remove_file(&path)?;
    Ok(())
}
