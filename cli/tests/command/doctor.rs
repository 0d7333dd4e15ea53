//! `voltsim doctor`.

use serde_json::{Value, json};

use super::builder::{EntryBuilder, container, host_elf};
use super::{Workplace, ptx};

fn report(place: &Workplace, file: &str) -> Value {
    place.voltsim(&["doctor", file, "--json"]).json()
}

#[test]
fn a_program_without_problems_exits_with_0() {
    let place = Workplace::new();
    place.write("a.fatbin", container(&[EntryBuilder::ptx(70, &ptx("kernel", ""))]));
    let outcome = place.voltsim(&["doctor", "a.fatbin"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    assert!(outcome.stdout.contains("sm_70, ISA 7.0, compression none, kernels: 1"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("nothing is missing"));
}

#[test]
fn the_ptx_is_chosen_for_the_device_asked_for() {
    let place = Workplace::new();
    let entry = |sm: u32| EntryBuilder::ptx(sm, &ptx("kernel", "").replace("sm_70", &format!("sm_{sm}")));
    place.write("a.fatbin", container(&[entry(60), entry(75)]));
    let target = |arguments: &[&str]| {
        let outcome = place.voltsim(&[&["doctor", "a.fatbin", "--json"], arguments].concat());
        outcome.json()["files"][0]["code"]["ptx"][0]["target"].clone()
    };
    assert_eq!(target(&[]), "sm_60");
    assert_eq!(target(&["--sm", "75"]), "sm_75");
}

#[test]
fn kernels_without_ptx_are_named_with_their_architectures() {
    let place = Workplace::new();
    let whole_program = container(&[EntryBuilder::cubin(75, &["both", "lost"])]);
    let relocatable = container(&[EntryBuilder::ptx(75, &ptx("both", ""))]);
    place.write("a.fatbin", [whole_program, relocatable].concat());
    let report = report(&place, "a.fatbin");
    assert_eq!(report["files"][0]["code"]["sass_only"], json!({ "lost": ["sm_75"] }));
    let outcome = place.voltsim(&["doctor", "a.fatbin"]);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stdout.contains("only machine code for sm_75: 1\n    lost\n"), "{}", outcome.stdout);
}

#[test]
fn unknown_instruction_is_counted_with_its_first_place() {
    let place = Workplace::new();
    let entry = |kernel| EntryBuilder::ptx(70, &ptx(kernel, "frobnicate.u32 1;\nfrobnicate.u32 2;"));
    place.write("a.fatbin", [container(&[entry("first")]), container(&[entry("second")])].concat());
    let report = report(&place, "a.fatbin");
    let unsupported = &report["files"][0]["code"]["unsupported"];
    assert_eq!(
        *unsupported,
        json!({
            "unknown instruction `frobnicate.u32`": {
                "functions": 2,
                "first": "a.fatbin container 0 line 6 in `first`",
            }
        })
    );
}

#[test]
fn relocatable_code_may_use_what_another_container_defines() {
    let place = Workplace::new();
    let caller = ptx("kernel", "call helper;").replace(".visible", ".extern .func helper;\n.visible");
    let helper = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .func helper()\n{\nret;\n}";
    let containers =
        [container(&[EntryBuilder::ptx(70, &caller)]), container(&[EntryBuilder::ptx(70, helper)])].concat();
    place.write("linked", host_elf(&[("__nv_relfatbin", &containers)]));
    place.write("separate", host_elf(&[(".nv_fatbin", &containers)]));
    let unsupported = |file| report(&place, file)["files"][0]["code"]["unsupported"].clone();
    assert_eq!(unsupported("linked"), json!({}));
    let missing = json!({ "functions": 1, "first": "separate container 0 in `kernel`" });
    assert_eq!(unsupported("separate"), json!({ "`helper` is not defined": missing }));
}

#[test]
fn damage_is_a_problem_and_not_a_failure() {
    let place = Workplace::new();
    let damaged = EntryBuilder::ptx(70, "text that is long enough").lz4().claiming(3);
    place.write("a.fatbin", container(&[damaged]));
    let outcome = place.voltsim(&["doctor", "a.fatbin"]);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stdout.contains("damaged lz4 payload"), "{}", outcome.stdout);
}

#[test]
fn libraries_are_followed_and_missing_ones_named() {
    let place = Workplace::new();
    place.compile("int gone(void) { return 0; }", "libgone.so", &["-shared", "-fPIC"]);
    let with_cuda = "int cudaNoSuchFunction(void); int gone(void);
        int used(void) { return cudaNoSuchFunction() + gone(); }";
    place.compile(with_cuda, "libused.so", &["-shared", "-fPIC", "-L.", "-lgone"]);
    let options = ["-L.", "-Wl,-rpath,$ORIGIN", "-lused", "-Wl,--unresolved-symbols=ignore-in-shared-libs"];
    place.compile("int used(void); int main(void) { return used(); }", "program", &options);
    std::fs::remove_file(place.path("libgone.so")).unwrap();

    let report = report(&place, "program");
    let library = |soname: &str| {
        let libraries = report["libraries"].as_array().unwrap();
        libraries.iter().find(|library| library["soname"] == soname).unwrap()["found"].clone()
    };
    assert!(library("libused.so")["at"].as_str().unwrap().ends_with("/libused.so"));
    assert_eq!(library("libgone.so"), "nowhere");
    assert_eq!(
        report["files"][1]["calls"]["missing"],
        json!({ "cudaNoSuchFunction": "that no CUDA version has" })
    );
    assert!(report["problems"][0]["what"].as_str().unwrap().starts_with("libgone.so is not found"));
}

#[test]
fn the_runtime_library_is_voltsims_own() {
    let place = Workplace::new();
    place.compile(
        "int cudaMalloc(void **p, unsigned long n) { return 0; }",
        "libcudart.so",
        &["-shared", "-fPIC", "-Wl,-soname,libcudart.so.12"],
    );
    let main = "int cudaMalloc(void **, unsigned long); int main(void) { return cudaMalloc(0, 1); }";
    place.compile(main, "program", &["-L.", "-lcudart"]);
    let report = report(&place, "program");
    assert_eq!(report["libraries"][0]["soname"], "libcudart.so.12");
    assert_eq!(report["libraries"][0]["found"], "voltsim");
    assert_eq!(report["files"][0]["runtime"], "shared");
}

#[test]
fn a_file_that_is_no_program_exits_with_2() {
    let place = Workplace::new();
    place.write("text", "no image");
    let outcome = place.voltsim(&["doctor", "text"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("remedy: "), "{}", outcome.stderr);
}

#[test]
fn large_relocatable_library_is_listed_within_bounds() {
    const CONTAINERS: usize = 48;
    let place = Workplace::new();
    let head = ".version 7.0\n.target sm_70\n.address_size 64\n";
    let body = "fma.rn.f32 %f1, %f2, %f3, %f1;\nst.global.f32 [%rd1], %f1;\n".repeat(8_000);
    let function =
        |n| format!("{head}.visible .func f{n}()\n{{\n.reg .f32 %f<4>;\n.reg .b64 %rd<2>;\n{body}ret;\n}}\n");
    let containers: Vec<u8> =
        (0..CONTAINERS).flat_map(|n| container(&[EntryBuilder::ptx(70, &function(n)).lz4()])).collect();
    place.write("library.so", host_elf(&[("__nv_relfatbin", &containers)]));
    let started = std::time::Instant::now();
    let outcome = place.voltsim(&["doctor", "library.so"]);
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    assert_eq!(outcome.stdout.matches("  PTX in container ").count(), CONTAINERS, "{}", outcome.stdout);
    assert!(outcome.stdout.contains("MB of PTX (--all looks at all)"), "{}", outcome.stdout);
}
