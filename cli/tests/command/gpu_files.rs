//! `voltsim gpus`, `explain`, `config`: what GPUs there are, what their files say, and files of one's own.

use super::Workplace;

/// Options of GPGPU-Sim of a small GPU.
const OPTIONS: &str = "\
-gpgpu_n_clusters 4
-gpgpu_n_cores_per_cluster 2
-gpgpu_n_mem 8
-gpgpu_n_sub_partition_per_mchannel 2
-gpgpu_clock_domains 1000.0:1000.0:1000.0:2000.0
-gpgpu_inst_fetch_throughput 8
-gpgpu_max_insn_issue_per_warp 2
-gpgpu_cache:il1 N:8:128:4,L:R:f:N:L,S:2:48,4
-visualizer_enabled 0
";

/// The message of a failing command, without `voltsim: `.
fn refused(place: &Workplace, arguments: &[&str]) -> String {
    let outcome = place.voltsim(arguments);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""), "{}", outcome.stderr);
    outcome.stderr.strip_prefix("voltsim: ").unwrap().trim_end().to_owned()
}

/// The output of a successful command.
fn printed(place: &Workplace, arguments: &[&str]) -> String {
    let outcome = place.voltsim(arguments);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{}", outcome.stdout);
    outcome.stdout
}

/// The words of a table's rows, but for the heading.
fn rows(table: &str) -> Vec<Vec<&str>> {
    table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn gpus_are_listed_with_what_their_data_sheets_say() {
    let table = printed(&Workplace::new(), &["gpus"]);
    let rows = rows(&table);
    let of_timing = |timing: &str| -> Vec<&str> {
        rows.iter().filter(|row| row[7] == timing).map(|row| row[0]).collect()
    };
    assert_eq!(
        of_timing("yes"),
        [
            "titan-v",
            "gtx1050",
            "gtx1080ti",
            "gtx470",
            "gv100",
            "rtx2070s",
            "rtx2080ti",
            "rtx3060",
            "rtx3090",
            "tiny",
            "titan-v-hbm1",
            "titan-v-old",
            "v100"
        ]
    );
    assert_eq!(of_timing("no"), ["a100", "b200", "h100", "rtx4090", "rtx5090", "t4"]);
    assert_eq!(rows[0][1..8], ["80", "1200", "4608", "652.8", "12066", "7.0", "yes"]);
}

#[test]
fn sections_are_explained_with_each_key_and_counter() {
    let place = Workplace::new();
    let sections = printed(&place, &["explain"]);
    assert!(rows(&sections).iter().any(|row| row[0] == "l1"), "{sections}");
    let l1 = printed(&place, &["explain", "l1"]);
    assert!(l1.contains("\nsets ") && l1.contains("\nload_sectors "), "{l1}");
}

#[test]
fn a_key_is_explained_with_choices_value_and_source() {
    let text = printed(&Workplace::new(), &["explain", "issue.policy"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("issue.policy: "), "{text}");
    assert!(lines[1].starts_with("  gto: "), "{text}");
    assert_eq!(lines[6].trim(), "value: \"gto\"");
    assert!(lines[7].starts_with("  source: accel-sim (titan-v.toml, line "), "{text}");
}

#[test]
fn a_key_that_no_file_has_is_explained_with_its_default() {
    let text = printed(&Workplace::new(), &["explain", "dram.cap"]);
    assert!(text.ends_with("  value: 4 accesses (default)\n"), "{text}");
}

#[test]
fn a_key_is_explained_with_the_value_of_a_file() {
    let place = Workplace::new();
    place.write(
        "mine.toml",
        "base = \"tiny\"\n[timing.l1]\nsets = { value = 8, unit = \"sets\", source = \"a guess\" }\n",
    );
    let text = printed(&place, &["explain", "l1.sets", "--gpu", "mine.toml"]);
    assert!(text.ends_with("  value: 8 sets\n  source: a guess (mine.toml, line 3)\n"), "{text}");
}

#[test]
fn an_answer_is_explained_with_what_it_follows_from() {
    let place = Workplace::new();
    let explained = |key: &str| printed(&place, &["explain", key, "--gpu", "gtx470"]);
    let clock = explained("device.clock_rate");
    assert!(clock.ends_with("  value: 607000 kHz\n  source: clocks.core\n"), "{clock}");
    let grid = explained("device.max_grid_dim_x");
    assert!(grid.contains("value: 65535\n") && grid.contains("capability: CUDA C++ Programming"), "{grid}");
    let name = explained("device.name");
    assert!(name.contains("\"NVIDIA GeForce GTX 470\"") && name.contains("(gtx470.toml, line "), "{name}");
    let all = explained("device");
    assert!(all.contains("\nwarp_size ") && all.contains("\npower_limit "), "{all}");
}

#[test]
fn a_gpu_of_ones_own_is_one_file() {
    let place = Workplace::new();
    let about = "name = { value = \"Mine\", unit = \"text\", source = \"mine\" }";
    let sheet = "[data_sheet]\nsms = { value = 3, unit = \"SMs\", source = \"mine\" }";
    let chip =
        |sms: u32| format!("[timing.chip]\nsms = {{ value = {sms}, unit = \"SMs\", source = \"mine\" }}");
    let file = |sms| format!("base = \"tiny\"\n[device]\n{about}\n{sheet}\n{}\n", chip(sms));
    place.write("mine.toml", file(3));
    let checked = printed(&place, &["config", "check", "mine.toml"]);
    assert!(
        checked.starts_with("mine.toml: 3 SMs, ") && checked.ends_with(", Mine: complete\n"),
        "{checked}"
    );
    place.write("mine.toml", file(4));
    let said = refused(&place, &["config", "check", "mine.toml"]);
    assert_eq!(said, "mine.toml, line 5: `data_sheet.sms = 3`: the values of [timing] give 4");
}

#[test]
fn the_old_layout_is_read_with_one_notice() {
    let place = Workplace::new();
    let sets = "sets = { value = 8, unit = \"sets\", source = \"a guess\" }";
    place.write("mine.toml", format!("base = \"tiny\"\n[l1]\n{sets}\n"));
    let outcome = place.voltsim(&["config", "check", "mine.toml"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert_eq!(
        outcome.stderr,
        "voltsim: mine.toml, line 2: `l1` at top level is the layout of earlier releases; write [timing.l1]. \
         The next release refuses the old layout.\n"
    );
}

#[test]
fn a_gpu_without_timing_is_refused_with_the_device_as_remedy() {
    let place = Workplace::new();
    place.write("kernel-1.vrec", "none");
    let said = refused(&place, &["time", "kernel-1.vrec", "--gpu", "H100"]);
    assert!(said.starts_with("h100.toml: the GPU has no [timing]"), "{said}");
    assert!(said.contains("remedy: `--device h100` tells the program"), "{said}");
}

#[test]
fn what_cannot_be_explained_is_named() {
    let place = Workplace::new();
    for subject in ["nothing", "l1.nothing", "nothing.sets"] {
        assert_eq!(
            refused(&place, &["explain", subject]),
            format!(
                "`{subject}` is no section, key or counter\n  remedy: `voltsim explain` lists the sections"
            )
        );
    }
    let said = refused(&place, &["explain", "l1", "--gpu", "nothing.toml"]);
    assert!(said.starts_with("nothing.toml: "), "{said}");
}

#[test]
fn an_imported_option_file_is_a_complete_gpu_file() {
    let place = Workplace::new();
    place.write("gpgpusim.config", OPTIONS);
    let text = printed(&place, &["config", "import", "gpgpusim.config"]);
    assert_eq!(printed(&place, &["config", "import", "gpgpusim.config", "-o", "mine.toml"]), "");
    assert_eq!(place.read("mine.toml"), text);
    let complete = printed(&place, &["config", "check", "mine.toml"]);
    assert!(complete.starts_with("mine.toml: 8 SMs, ") && complete.ends_with(": complete\n"), "{complete}");
}

#[test]
fn import_names_sources_and_options_without_counterpart() {
    let place = Workplace::new();
    place.write("gpgpusim.config", OPTIONS);
    let text = printed(&place, &["config", "import", "gpgpusim.config"]);
    let channels = "channels = { value = 8, unit = \"channels\", source = \"line 3: -gpgpu_n_mem 8\" }\n";
    assert!(text.contains(channels), "{text}");
    assert!(
        text.ends_with("#   line 6: -gpgpu_inst_fetch_throughput 8\n#   line 9: -visualizer_enabled 0\n"),
        "{text}"
    );
}

#[test]
fn refused_import_names_file_line_and_value() {
    let place = Workplace::new();
    place.write("gpgpusim.config", OPTIONS.replace("n_mem 8", "n_mem many"));
    assert_eq!(
        refused(&place, &["config", "import", "gpgpusim.config"]),
        "gpgpusim.config, line 3: `-gpgpu_n_mem many`: must be a whole number"
    );
    let said = refused(&place, &["config", "import", "nothing.config"]);
    assert!(said.starts_with("nothing.config: "), "{said}");
}

#[test]
fn what_the_model_refuses_is_imported_to_be_changed_and_named() {
    let place = Workplace::new();
    place.write("gpgpusim.config", OPTIONS.replace("n_mem 8", "n_mem 100"));
    let said = refused(&place, &["config", "import", "gpgpusim.config", "-o", "mine.toml"]);
    let line = 1 + place.read("mine.toml").lines().position(|line| line.starts_with("channels = ")).unwrap();
    let slices = "all channels together must have at most 128 slices";
    let both =
        format!("mine.toml, line {}: `partition.slices = 2` with `partition.channels = 100`", line + 1);
    assert_eq!(said, format!("{both}: {slices}"));
}

#[test]
fn wrong_gpu_file_is_refused_by_file_line_key_and_value() {
    let place = Workplace::new();
    for (written, said) in [
        (
            "sets = 8",
            "`l1.sets = 8`: unit and source are missing; write { value = 8, unit = \"…\", source = \"…\" }",
        ),
        ("sets = { value = 8, source = \"\" }", "`l1.sets = 8`: the unit is missing"),
        (
            "sets = { value = 7, unit = \"sets\", source = \"\" }",
            "`l1.sets = 7` with `l1.size = 128`: the size must be a multiple of sets times 128 B",
        ),
        (
            "sats = { value = 8, unit = \"sets\", source = \"\" }",
            "`l1.sats = 8`: unknown key; did you mean `l1.sets`?",
        ),
        (
            "latency = { value = 8, unit = \"ns\", source = \"\" }",
            "`l1.latency = 8`: the unit is `ns`; must be `core cycles`",
        ),
    ] {
        place.write("mine.toml", format!("base = \"titan-v\"\n\n[timing.l1]\n{written}\n"));
        assert_eq!(refused(&place, &["config", "check", "mine.toml"]), format!("mine.toml, line 4: {said}"));
    }
}
