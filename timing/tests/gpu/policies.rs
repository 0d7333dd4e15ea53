//! Every policy on a full GPU: launches end, counters are conserved, and the policy has its effect.

use crate::script::{Script, count, launch, titan_v};

/// Values of a choice key.
fn choices(section: &str, name: &str) -> &'static [&'static str] {
    let keys = timing::specification::GpuSpec::keys();
    keys.iter().find(|key| key.section == section && key.name == name).unwrap().choices
}

/// Two passes over more lines than a small L1 and L2 slice hold, with stores.
fn traffic() -> Script {
    let line = |thread: crate::script::Thread| thread.number * 128;
    Script::new(8, 256).load(8, &[], line).store(&[8], line).load(9, &[], line).load(10, &[], line).exit()
}

#[test]
fn counters_add_up_under_every_policy() {
    let keys = [
        ("issue", "policy"),
        ("l1", "replacement"),
        ("l1", "set_hash"),
        ("l2", "replacement"),
        ("l2", "set_hash"),
        ("tlb", "replacement"),
        ("constant", "replacement"),
        ("front_end", "l0_replacement"),
        ("front_end", "l1_replacement"),
        ("partition", "hash"),
        ("dram", "bank_hash"),
        ("dram", "scheduler"),
    ];
    for (section, name) in keys {
        for choice in choices(section, name) {
            let policy = format!("{section}.{name}={choice}");
            let mut gpu = titan_v(&["chip.sms=2", "l1.size=16384", "l1.unified=false", &policy]);
            let record = launch(&mut gpu, &traffic());
            assert!(count(&record, "dram.reads") > 0, "{policy}");
        }
    }
}

/// A reused line next to a stream of single-use lines.
#[test]
fn l1_srrip_keeps_a_reused_line_in_a_stream() {
    let hits = |policy: &str| {
        let mut gpu = titan_v(&["l1.size=1024", "l1.sets=1", "l1.unified=false", policy]);
        let mut script = Script::new(1, 1);
        for turn in 0..40_u64 {
            script = script.load(8, &[8], move |_| if turn < 2 { 0 } else { (1 + turn) * 4096 });
            if turn % 12 == 11 {
                script = script.load(8, &[8], |_| 0);
            }
        }
        count(&launch(&mut gpu, &script.exit()), "l1.load_line_hits")
    };
    let [lru, srrip] = ["lru", "srrip"].map(|policy| hits(&format!("l1.replacement={policy}")));
    assert!(srrip > lru, "srrip {srrip}, lru {lru}");
}

/// Each warp cycles through eight lines of its own; together 32 warps use twice the capacity of L1.
fn own_lines() -> Script {
    let line = |thread: crate::script::Thread| thread.number / 32 * 1024 + thread.iteration % 8 * 128;
    Script::new(1, 1024).load(8, &[8], line).repeat(0, 200).exit()
}

#[test]
fn ccws_hits_l1_where_other_schedulers_thrash() {
    let hits = |policy: &str| {
        let policy = format!("issue.policy={policy}");
        let mut gpu = titan_v(&["chip.sms=1", "l1.size=16384", "l1.sets=4", "l1.unified=false", &policy]);
        let record = launch(&mut gpu, &own_lines());
        assert!(policy.ends_with("ccws") || count(&record, "issue.held_load") == 0, "{policy}");
        count(&record, "l1.load_line_hits") * 100 / count(&record, "l1.load_lines")
    };
    let [gto, lrr, ccws] = ["gto", "lrr", "ccws"].map(hits);
    assert!(ccws > 2 * gto.max(lrr), "per cent: ccws {ccws}, gto {gto}, lrr {lrr}");
}
