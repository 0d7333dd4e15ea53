use super::*;
use crate::specification::gpu::{built_in, change, document, names, timed};

fn device(document: &Document) -> Result<DeviceSpec, String> {
    let is_attribute = |name: &str| !name.contains("absent");
    DeviceSpec::read(document, &is_attribute).map_err(|error| error.to_string())
}

fn named(name: &str) -> DeviceSpec {
    device(&built_in(name).unwrap()).unwrap()
}

fn of_text(text: &str) -> Result<DeviceSpec, String> {
    device(&document("mine.toml", text).unwrap())
}

#[test]
fn every_gpu_of_the_program_tells_a_device() {
    for name in names() {
        let document = built_in(name).unwrap();
        let spec = device(&document).unwrap();
        assert!(spec.memory >= 1 << 30 && spec.answer("multiprocessor_count") > 0, "{name}");
        for (key, entry) in document.section(DEVICE) {
            assert!(!entry.source.is_empty(), "{name}: {key}");
        }
    }
}

#[test]
fn a_program_is_told_the_simulated_clock_sms_bus_and_l2() {
    let told = |name: &str| {
        let spec = named(name);
        [
            "clock_rate",
            "multiprocessor_count",
            "memory_clock_rate",
            "global_memory_bus_width",
            "l2_cache_size",
        ]
        .map(|attribute| spec.answer(attribute))
    };
    assert_eq!(told("titan-v"), [1_200_000, 80, 850_000, 3072, 4608 << 10]);
    assert_eq!(told("gtx470"), [607_000, 14, 1_674_000, 320, 640 << 10]);
    assert_eq!(told("rtx2080ti"), [1_350_000, 68, 7_000_000, 352, 5632 << 10]);
    assert_eq!(told("rtx3090"), [1_395_000, 82, 9_752_000, 384, 6144 << 10]);
}

#[test]
fn limits_of_ctas_are_those_of_the_model_and_the_capability() {
    let told = |name: &str| {
        let spec = named(name);
        [
            "max_threads_per_multiprocessor",
            "max_shared_memory_per_multiprocessor",
            "max_shared_memory_per_block_optin",
            "max_registers_per_block",
        ]
        .map(|attribute| spec.answer(attribute))
    };
    assert_eq!(told("titan-v"), [2048, 96 << 10, 96 << 10, 65536]);
    assert_eq!(told("rtx3060"), [1536, 100 << 10, 99 << 10, 65536]);
    assert_eq!(told("gtx1080ti"), [2048, 96 << 10, 48 << 10, 65536]);
    assert_eq!(told("gtx470"), [1536, 48 << 10, 48 << 10, 32768]);
    assert_eq!(told("h100"), [2048, 228 << 10, 227 << 10, 65536]);
}

#[test]
fn a_change_of_the_model_changes_the_answer() {
    let mut document = built_in("titan-v").unwrap();
    change(&mut document, "chip.sms=4").unwrap();
    change(&mut document, "clocks.core=1GHz").unwrap();
    change(&mut document, "device.memory=4GiB").unwrap();
    let spec = device(&document).unwrap();
    assert_eq!((spec.answer("multiprocessor_count"), spec.answer("clock_rate")), (4, 1_000_000));
    assert_eq!(spec.memory, 4 << 30);
}

#[test]
fn an_answer_of_the_model_cannot_be_given_twice() {
    let text =
        "base = \"titan-v\"\n[device]\nclock_rate = { value = 1455, unit = \"MHz\", source = \"box\" }\n";
    assert_eq!(
        of_text(text).unwrap_err(),
        "mine.toml, line 3: `device.clock_rate = 1455`: it follows from clocks.core; change that in [timing] instead"
    );
}

#[test]
fn a_file_without_device_has_that_of_the_default() {
    assert_eq!(of_text("base = \"gtx470\"\n").unwrap().name, "NVIDIA GeForce GTX 470");
    assert_eq!(of_text("base = \"h100\"\n").unwrap().capability, 90);
    let sms = "sms = { value = 3, unit = \"SMs\", source = \"mine\" }";
    let alone = document("mine.toml", &format!("[timing.chip]\n{sms}\n")).unwrap();
    assert_eq!(alone.capability(), Some(70));
}

#[test]
fn a_library_is_answered_otherwise() {
    let text = "base = \"titan-v\"\n[device.libraries.\"libcudnn.so\"]\n\
                compute_capability_major = { value = 3, unit = \"version\", source = \"mine\" }\n";
    let spec = of_text(text).unwrap();
    assert_eq!(spec.libraries["libcudnn.so"]["compute_capability_major"], 3);
    assert_eq!(spec.answer("compute_capability_major"), 7);
}

#[test]
fn mistakes_in_device_are_named_by_file_line_and_key() {
    for (line, said) in [
        ("absent = { value = 1, unit = \"flag\", source = \"\" }", "`device.absent = 1`: unknown key"),
        ("memory = { value = 1, unit = \"parsec\", source = \"\" }", "the unit is `parsec`; must be `B`"),
        (
            "capability = { value = \"7\", unit = \"version\", source = \"\" }",
            "must be written as in \"7.0\"",
        ),
        ("ecc_enabled = 1", "unit and source are missing"),
    ] {
        let text = format!("base = \"titan-v\"\n[device]\n{line}\n");
        let read = document("mine.toml", &text).map_err(|error| error.to_string());
        let error = read.and_then(|document| device(&document)).unwrap_err();
        assert!(error.starts_with("mine.toml, line 3: `device.") && error.contains(said), "{error}");
    }
}

#[test]
fn a_device_profile_of_the_old_layout_is_read_with_a_notice() {
    let text = "base = \"titan-v\"\nname = \"X\"\ntotal_memory = 4096\n[attributes]\nmultiprocessor_count = 4\n\
                [libraries.\"libx.so\"]\nwarp_size = 31\n";
    let document = document("mine.toml", text).unwrap();
    let spec = device(&document).unwrap();
    assert_eq!((spec.name.as_str(), spec.memory, spec.answer("multiprocessor_count")), ("X", 4096, 4));
    assert_eq!((spec.answer("clock_rate"), spec.libraries["libx.so"]["warp_size"]), (1_200_000, 31));
    let [notice] = document.notices() else { panic!("{:?}", document.notices()) };
    assert!(notice.starts_with("mine.toml, line 4: `attributes` at top level"), "{notice}");
    assert!(GpuSpec::read(&document).unwrap_err().to_string().contains("no [timing]"));
}

#[test]
fn a_gpu_file_of_the_old_layout_is_read_with_a_notice() {
    let text = "base = \"tiny\"\ncapability = \"7.5\"\n[l1]\n\
                sets = { value = 8, unit = \"sets\", source = \"mine\" }\n";
    let document = document("mine.toml", text).unwrap();
    assert_eq!(GpuSpec::read(&document).unwrap().l1.sets, 8);
    assert_eq!((document.capability(), document.notices().len()), (Some(75), 1));
}

#[test]
fn a_gpu_without_timing_is_refused_with_the_remedy() {
    let error = GpuSpec::built_in("h100").unwrap_err();
    assert!(error.to_string().starts_with("h100.toml: the GPU has no [timing]"), "{error}");
    assert!(error.remedy().contains("`--device h100`"), "{}", error.remedy());
    assert!(timed().all(|name| name != "h100"));
}
