//! Selection of launches to capture, time or record.

use std::ops::RangeInclusive;
use std::str::FromStr;

use warp_stream::kernel_name::all_names;

/// A selection, written `key=value` with commas between. Every key is optional.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Kernel name as in the PTX, or as in the source with or without namespaces and template
    /// arguments; `*` and `?` are wildcards.
    kernel: String,
    /// Launch numbers, from 1.
    launches: RangeInclusive<u64>,
    /// Name of an open NVTX range.
    range: Option<String>,
    /// Framework operator whose NVTX range is open.
    operator: Option<String>,
    /// Select launches only while the program has started the profiler.
    profiled: bool,
    /// CTA numbers, from 0.
    ctas: Option<RangeInclusive<u64>>,
}

/// The program's annotations at a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Names of open NVTX ranges.
    pub ranges: Vec<String>,
    /// True between start and stop of the profiler.
    pub profiled: bool,
}

/// A malformed selection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSelection {
    /// Unknown key.
    #[error(
        "`{0}` is not a selection of launches; write kernel=GLOB, launch=A..B, nvtx=GLOB, operator=GLOB, profiler=on or ctas=A..B, \
         separated by commas (for a comma in a name write ?)"
    )]
    Part(String),
    /// Empty or malformed range.
    #[error("`{key}={value}`: must be {key}=N or {key}=A..B, with B not below A")]
    Range {
        /// The key.
        key: &'static str,
        /// Value as written.
        value: String,
    },
    /// `profiler` with a value other than `on`.
    #[error(
        "`profiler={0}`: must be profiler=on, which selects launches between cudaProfilerStart and cudaProfilerStop"
    )]
    Profiler(String),
    /// CTAs selected where only whole launches can be.
    #[error(
        "`ctas` selects timed CTAs of --mode detailed; this command takes whole launches, so leave `ctas` out"
    )]
    Ctas,
    /// Annotations selected where only saved launches exist.
    #[error("launches of a kernel stream are selected by kernel=GLOB and launch=A..B only")]
    Marks,
}

impl Default for Selection {
    fn default() -> Self {
        Selection {
            kernel: "*".to_owned(),
            launches: 1..=u64::MAX,
            range: None,
            operator: None,
            profiled: false,
            ctas: None,
        }
    }
}

impl Selection {
    /// True if the launch is selected.
    pub fn contains(&self, kernel: &str, launch: u64, marks: &Marks) -> bool {
        let fits = |name: &str| matches(self.kernel.as_bytes(), name.as_bytes());
        let fits_in_source = || all_names(kernel).iter().any(|name| fits(name));
        let in_range = |glob: &Option<String>, fits: fn(&[u8], &str) -> bool| {
            glob.as_ref().is_none_or(|glob| marks.ranges.iter().any(|range| fits(glob.as_bytes(), range)))
        };
        self.launches.contains(&launch)
            && (marks.profiled || !self.profiled)
            && in_range(&self.range, |glob, range| matches(glob, range.as_bytes()))
            && in_range(&self.operator, is_operator)
            && (fits(kernel) || fits_in_source())
    }

    /// True if one of the next `launches` launches could be selected by number.
    pub fn may_contain_after(&self, launch: u64, launches: u64) -> bool {
        launches > 0
            && *self.launches.start() <= launch.saturating_add(launches)
            && *self.launches.end() > launch
    }

    /// True if NVTX ranges must be tracked.
    pub fn needs_ranges(&self) -> bool {
        self.range.is_some() || self.operator.is_some()
    }

    /// CTAs selected, from 0; `None` for all.
    pub fn ctas(&self) -> Option<&RangeInclusive<u64>> {
        self.ctas.as_ref()
    }

    /// The selection, for commands that take whole launches.
    ///
    /// # Errors
    /// The selection names CTAs.
    pub fn of_whole_launches(self) -> Result<Selection, BadSelection> {
        if self.ctas.is_some() { Err(BadSelection::Ctas) } else { Ok(self) }
    }

    /// The selection, for saved launches.
    ///
    /// # Errors
    /// The selection names CTAs or the program's annotations.
    pub fn of_saved_launches(self) -> Result<Selection, BadSelection> {
        if self.profiled || self.needs_ranges() { Err(BadSelection::Marks) } else { self.of_whole_launches() }
    }
}

/// True if a range is of an operator. PyTorch names ranges `aten::conv2d, seq = 5, ...`; old
/// versions and backward operators lack the namespace.
fn is_operator(glob: &[u8], range: &str) -> bool {
    let name = range.split(',').next().unwrap_or(range);
    let alone = name.rsplit("::").next().unwrap_or(name);
    matches(glob, name.as_bytes()) || matches(glob, alone.trim_start().as_bytes())
}

impl FromStr for Selection {
    type Err = BadSelection;

    fn from_str(text: &str) -> Result<Selection, BadSelection> {
        let mut selection = Selection::default();
        for part in parts(text).into_iter().map(str::trim).filter(|part| !part.is_empty()) {
            let bad = || BadSelection::Part(part.to_owned());
            match part.split_once('=').filter(|(_, value)| !value.is_empty()).ok_or_else(bad)? {
                ("kernel", glob) => selection.kernel = glob.to_owned(),
                ("launch", range) => selection.launches = numbers("launch", range, 1)?,
                ("nvtx", glob) => selection.range = Some(glob.to_owned()),
                ("operator", glob) => selection.operator = Some(glob.to_owned()),
                ("profiler", "on") => selection.profiled = true,
                ("profiler", other) => return Err(BadSelection::Profiler(other.to_owned())),
                ("ctas", range) => selection.ctas = Some(numbers("ctas", range, 0)?),
                _ => return Err(bad()),
            }
        }
        Ok(selection)
    }
}

/// Splits at commas. Commas in brackets belong to names: `kernel=add<int, 4>(int*, int)`.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '<' => depth += 1,
            ')' | '>' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    // Unclosed brackets are parts of a glob.
    if depth > 0 { text.split(',').collect() } else { parts }
}

/// Numbers of `N`, `A..B`, `A..` or `..B`.
fn numbers(key: &'static str, range: &str, least: u64) -> Result<RangeInclusive<u64>, BadSelection> {
    let (first, last) = range.split_once("..").unwrap_or((range, range));
    let number = |text: &str, open| if text.is_empty() { Some(open) } else { text.parse().ok() };
    let both = number(first, least).zip(number(last, u64::MAX));
    let numbers = both.map(|(first, last)| first..=last).filter(|numbers| !numbers.is_empty());
    numbers.ok_or_else(|| BadSelection::Range { key, value: range.to_owned() })
}

/// True if the glob matches all of `text`. `*` stands for any text, `?` for one byte.
pub fn matches_glob(glob: &str, text: &str) -> bool {
    matches(glob.as_bytes(), text.as_bytes())
}

/// True if the glob matches all of `text`. After a mismatch only the last `*` need extend by a
/// byte.
fn matches(glob: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match glob.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(wanted) if *wanted == b'?' || Some(wanted) == text.get(from) => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((before, taken)) = star else { return false };
                star = Some((before, taken + 1));
                (at, from) = (before + 1, taken + 1);
            }
        }
    }
    glob.get(at..).unwrap_or_default().iter().all(|rest| *rest == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(selection: &str, kernel: &str, launch: u64) -> bool {
        selection.parse::<Selection>().unwrap().contains(kernel, launch, &Marks::default())
    }

    /// True if a launch is selected in these ranges.
    fn chosen_in(selection: &str, ranges: &[&str]) -> bool {
        let ranges = ranges.iter().map(|&range| range.to_owned()).collect();
        let marks = Marks { ranges, ..Marks::default() };
        selection.parse::<Selection>().unwrap().contains("k", 1, &marks)
    }

    #[test]
    fn all_keys_must_match() {
        assert!(chosen("kernel=sax*,launch=2..3", "saxpy", 3));
        assert!(!chosen("kernel=sax*,launch=2..3", "saxpy", 4));
        assert!(!chosen("kernel=sax*,launch=2..3", "axpy", 2));
    }

    #[test]
    fn source_name_selects_a_mangled_kernel() {
        let mangled = "_ZN7library4gemmIfEEvPT_";
        for glob in ["gemm", "gem*", "library::gemm<float>", "*<float>", "_ZN7library*"] {
            assert!(chosen(&format!("kernel={glob}"), mangled, 1), "{glob}");
        }
        assert!(!chosen("kernel=gemv", mangled, 1));
    }

    #[test]
    fn parameter_types_may_be_in_a_name() {
        let mangled = "_Z6reducePKiPii";
        for glob in ["reduce(const int*, int*, int)", "reduce(*)", "reduce(*", "reduce", mangled] {
            assert!(chosen(&format!("kernel={glob},launch=2"), mangled, 2), "{glob}");
            assert!(!chosen(&format!("kernel={glob},launch=2"), mangled, 1), "{glob}");
        }
        assert!(chosen("kernel=reduce<float, 256>", "_Z6reduceIfLi256EEvPT_", 1));
        assert!(!chosen("kernel=reduce(float*)", mangled, 1));
    }

    #[test]
    fn absent_keys_match_everything() {
        assert!(chosen("", "anything", 99));
        assert!(chosen("launch=5..", "k", 5) && !chosen("launch=5..", "k", 4));
        assert!(chosen("launch=..5", "k", 5) && !chosen("launch=..5", "k", 6));
        assert!(chosen("launch=5", "k", 5) && !chosen("launch=5", "k", 6));
    }

    #[test]
    fn star_matches_as_much_as_needed() {
        for (glob, text, fits) in [
            ("*gemm*_nn", "volta_sgemm_tn_nn", true),
            ("*gemm*_nn", "volta_sgemm_tn", false),
            ("a*b*c", "a-b-b-c", true),
            ("?", "", false),
            ("a?c", "abc", true),
            ("", "", true),
        ] {
            assert_eq!(matches(glob.as_bytes(), text.as_bytes()), fits, "{glob} {text}");
        }
    }

    #[test]
    fn one_open_range_must_match() {
        assert!(chosen_in("nvtx=step*", &["epoch", "step 3"]));
        assert!(!chosen_in("nvtx=step*", &["epoch"]) && !chosen_in("nvtx=step*", &[]));
        assert!(!chosen_in("nvtx=step*,launch=2", &["step 3"]));
    }

    #[test]
    fn operator_matches_with_or_without_namespace() {
        let forward = ["forward", "aten::conv2d, seq = 5, sizes = [[1, 1]]"];
        for glob in ["conv2d", "aten::conv2d", "conv*", "aten::*"] {
            assert!(chosen_in(&format!("operator={glob}"), &forward), "{glob}");
        }
        assert!(!chosen_in("operator=conv2", &forward) && !chosen_in("operator=5", &forward));
        let backward = ["autograd::engine::evaluate_function: ConvolutionBackward0, seq = 5"];
        assert!(chosen_in("operator=*ConvolutionBackward0", &backward));
        assert!(chosen_in("operator=CudnnConvolutionBackward", &["CudnnConvolutionBackward, seq = 7"]));
    }

    #[test]
    fn profiler_key_requires_a_started_profiler() {
        let selection: Selection = "profiler=on".parse().unwrap();
        let marks = |profiled| Marks { profiled, ..Marks::default() };
        assert!(selection.contains("k", 1, &marks(true)) && !selection.contains("k", 1, &marks(false)));
    }

    #[test]
    fn later_selection_is_predicted_by_number() {
        let selection: Selection = "launch=5..6".parse().unwrap();
        let before = |launch, launches| selection.may_contain_after(launch, launches);
        assert!(before(4, 1) && before(3, 2) && before(5, 1));
        assert!(!before(3, 1) && !before(6, 1) && !before(4, 0));
        assert!(Selection::default().may_contain_after(7, 1));
    }

    #[test]
    fn ctas_count_from_0_and_exclude_whole_launches() {
        let selection: Selection = "ctas=..7".parse().unwrap();
        assert_eq!(selection.ctas(), Some(&(0..=7)));
        assert_eq!(selection.of_whole_launches(), Err(BadSelection::Ctas));
        assert!(Selection::default().of_whole_launches().is_ok());
    }

    #[test]
    fn malformed_selection_error_has_a_remedy() {
        for (text, key, remedy) in [
            ("kernel", "`kernel`", "kernel=GLOB"),
            ("thread=1", "`thread=1`", "launch=A..B"),
            ("nvtx=", "`nvtx=`", "nvtx=GLOB"),
            ("nvtx=aten::conv2d, seq = 5", "`seq = 5`", "for a comma in a name write ?"),
            ("launch=a", "`launch=a`", "launch=A..B"),
            ("launch=3..2", "`launch=3..2`", "B not below A"),
            ("ctas=x", "`ctas=x`", "ctas=N"),
            ("profiler=off", "`profiler=off`", "profiler=on"),
        ] {
            let error = text.parse::<Selection>().unwrap_err().to_string();
            assert!(error.contains(key) && error.contains(remedy), "{error}");
        }
    }
}
