//! Measures the time to save and restore an image of memory. Of 10 GB of addresses, 1 GB is touched: half
//! is noise, half is words with two bytes of noise.
//!
//! `cargo run --release -p voltsim-checkpoint --example image_speed -- FOLDER [THREADS]`

use std::error::Error;
use std::io;
use std::path::Path;
use std::time::Instant;

use memmap2::MmapMut;
use voltsim_checkpoint::atomic_file::Durability;
use voltsim_checkpoint::frame::{File, FileWriter};
use voltsim_checkpoint::image::{Image, PAGE, ReadMemory, Region, SECTIONS, Series, Sink, save};

const LENGTH: usize = 10 << 30;
const TOUCHED: usize = 1 << 20;
const DISTANCE: usize = 10 << 20;

/// Memory whose address 0 is the start of a mapping.
struct Mapped(MmapMut);

impl ReadMemory for Mapped {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        let start = address as usize;
        bytes.copy_from_slice(&self.0[start..start + bytes.len()]);
        Ok(())
    }
}

/// Mapping that receives restored pages.
struct Target(*mut u8);

// SAFETY: threads write to different pages.
unsafe impl Sync for Target {}

impl Sink for Target {
    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        assert!(address as usize + bytes.len() <= LENGTH);
        // SAFETY: as below.
        unsafe { libc::madvise(self.0.add(address as usize).cast(), bytes.len(), libc::MADV_POPULATE_WRITE) };
        // SAFETY: the range is inside the mapping, and no other thread writes to these pages.
        unsafe { self.0.add(address as usize).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }
}

fn touched() -> impl Iterator<Item = usize> {
    (0..LENGTH).step_by(DISTANCE)
}

fn fill(memory: &mut [u8]) {
    for (index, start) in touched().enumerate() {
        let stretch = &mut memory[start..start + TOUCHED];
        blake3::Hasher::new().update(&index.to_le_bytes()).finalize_xof().fill(stretch);
        if index % 2 == 1 {
            stretch.chunks_exact_mut(4).for_each(|word| word[2..].copy_from_slice(&[0x80, 0x3f]));
        }
    }
}

/// Returns the CPU time of all threads so far, in seconds.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid output location.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn timed<T, E>(what: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let (start, processor) = (Instant::now(), processor_time());
    let result = work();
    let (time, processor) = (start.elapsed().as_secs_f64(), processor_time() - processor);
    println!("{what}: {time:.3} s, {processor:.3} s of CPU time");
    result
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = Path::new(&arguments.next().ok_or("the folder is missing")?).join("image_speed.vck");
    let threads = arguments.next().map_or(Ok(2), |threads| threads.parse())?;
    let mut memory = Mapped(MmapMut::map_anon(LENGTH)?);
    fill(&mut memory.0);
    let range = |start| start as u64..(start + TOUCHED) as u64;
    let regions = [Region { addresses: 0..LENGTH as u64, touched: touched().map(range).collect() }];
    timed("save", || -> Result<(), Box<dyn Error>> {
        let mut writer = FileWriter::create(&path, SECTIONS)?;
        println!("{:?}", timed("  image", || save(&mut writer, "memory", &regions, &memory, threads))?);
        println!("  {:?}", timed("  finish", || writer.finish(Durability::Synced))?);
        Ok(())
    })?;
    let mut target = MmapMut::map_anon(LENGTH)?;
    let sink = Target(target.as_mut_ptr());
    timed("restore", || -> Result<(), Box<dyn Error>> {
        let file = File::open(&path)?;
        let image = timed("  read", || Image::read(&file, "memory"))?;
        println!("  {} pages", image.restore(&sink, threads)?);
        Ok(())
    })?;
    let same = touched().all(|start| memory.0[start..start + TOUCHED] == target[start..start + TOUCHED]);
    println!("  the same: {same}");
    let file = File::open(&path)?;
    timed("check of the image, by the hashes of chunks", || Image::read(&file, "memory")?.check(threads))?;
    timed("check of the frame, by the hashes of sections", || file.check())?;
    let mut series = Series::new("memory");
    timed("pages known to a series", || series.add(&file))?;
    let next = path.with_file_name("image_speed_next.vck");
    // Changes one page in a hundred.
    for page in touched().flat_map(|start| (start..start + TOUCHED).step_by(PAGE)).step_by(100) {
        memory.0[page] ^= 1;
    }
    timed("save of the next", || -> Result<(), Box<dyn Error>> {
        let mut writer = FileWriter::create(&next, SECTIONS)?;
        println!("{:?}", series.save(&mut writer, &regions, &memory, threads)?);
        writer.finish(Durability::Synced)?;
        Ok(())
    })?;
    std::fs::remove_file(&next)?;
    std::fs::remove_file(&path)?;
    Ok(())
}
