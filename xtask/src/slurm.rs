//! `cargo xtask test slurm`: a sweep as a Slurm array equals a sweep on one machine, even if a task
//! is cancelled.
//!
//! Starts Debian's Slurm with two nodes on this machine. Not part of the usual tests, since it
//! installs the package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::programs::{self, Extent};
use crate::workspace::Workspace;
use crate::{debian, process};

/// A program with several kinds of launches.
const PROGRAM: &str = "graph_update";

/// Time for the nodes to come up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the suite.
pub(crate) fn run() -> Result<()> {
    debian::install("slurm-wlm");
    let workspace = Workspace::find();
    if !workspace.build()? {
        return Err(Error::Steps("release build".to_owned()));
    }
    programs::set_up_and_compile(&workspace, Extent::Usual)?;
    let cluster = Cluster::start(&workspace.target.join("slurm"))?;
    let folder = cluster.folder.join("sweep");
    fs::create_dir(&folder).map_err(Error::file(&folder))?;
    let program = programs::folder(&workspace).join("shared").join(PROGRAM);
    let voltsim = |arguments: &[&str]| {
        let mut command = Command::new(workspace.command());
        command.current_dir(&folder).args(arguments).env("SLURM_CONF", cluster.configuration());
        command
    };
    process::quiet(voltsim(&["plan", "--"]).arg(program))?;
    let here = process::quiet(&mut voltsim(&["sweep", "plan.toml", "-o", "here"]))?;
    let canceller = cluster.cancel_first_task();
    let there = process::quiet(&mut voltsim(&["sweep", "plan.toml", "-o", "there", "--slurm", "-j", "4"]))?;
    let cancelled = canceller.join().is_ok_and(|cancelled| cancelled);
    let estimates = ["here", "there"].map(|of| fs::read(folder.join(of).join("estimate.json")).ok());
    let same = here == there && estimates[0].is_some() && estimates[0] == estimates[1];
    println!("a task was cancelled: {cancelled}; the estimate is that of one machine: {same}\n{there}");
    if same && cancelled { Ok(()) } else { Err(Error::Steps("the suite".to_owned())) }
}

/// A Slurm of two nodes on this machine, stopped on drop.
struct Cluster {
    folder: PathBuf,
}

impl Cluster {
    fn start(folder: &Path) -> Result<Cluster> {
        let failed = Error::file(folder);
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder.join("state")).map_err(failed)?;
        fs::create_dir_all(folder.join("spool")).map_err(Error::file(folder))?;
        let cluster = Cluster { folder: folder.to_owned() };
        let host = process::quiet(Command::new("hostname").arg("-s"))?;
        let user = process::quiet(Command::new("id").arg("-un"))?;
        let text = configuration(folder, host.trim(), user.trim());
        fs::write(cluster.configuration(), text).map_err(Error::file(folder))?;
        process::quiet(&mut cluster.command("/usr/sbin/slurmctld", &[]))?;
        for node in ["one", "two"] {
            process::quiet(&mut cluster.command("/usr/sbin/slurmd", &["-N", node]))?;
        }
        let end = Instant::now() + PATIENCE;
        while process::quiet(&mut cluster.command("sinfo", &["-h", "-o", "%D %t"]))?.trim() != "2 idle" {
            if Instant::now() > end {
                return Err(Error::Steps("starting Slurm's nodes".to_owned()));
            }
            thread::sleep(Duration::from_millis(200));
        }
        Ok(cluster)
    }

    fn configuration(&self) -> PathBuf {
        self.folder.join("slurm.conf")
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env("SLURM_CONF", self.configuration());
        command
    }

    /// Cancels the first running task; true if there was one.
    fn cancel_first_task(&self) -> thread::JoinHandle<bool> {
        let cluster = Cluster { folder: self.folder.clone() };
        thread::spawn(move || {
            let end = Instant::now() + PATIENCE;
            let mut cancelled = false;
            while !cancelled && Instant::now() < end {
                let running = process::quiet(&mut cluster.command("squeue", &["-h", "-t", "R", "-o", "%i"]));
                if let Some(task) = running.as_deref().unwrap_or_default().lines().next() {
                    cancelled = process::succeeds(&mut cluster.command("scancel", &[task]));
                }
                thread::sleep(Duration::from_millis(20));
            }
            // The other value owns the daemons.
            std::mem::forget(cluster);
            cancelled
        })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.command("scontrol", &["shutdown"]).stdout(Stdio::null()).status();
    }
}

fn configuration(folder: &Path, host: &str, user: &str) -> String {
    let folder = folder.display();
    format!(
        "ClusterName=voltsim
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmctldPort=16817
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_res
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName=one NodeHostname={host} NodeAddr=127.0.0.1 Port=16818 CPUs=2 State=UNKNOWN
NodeName=two NodeHostname={host} NodeAddr=127.0.0.1 Port=16819 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=one,two Default=YES MaxTime=INFINITE State=UP
"
    )
}
