//! Pages in headless Chromium: no error of the console, no request, no text over another.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::runs;

const CHROMIUM: &str = "/usr/bin/chromium";

/// Opens all details, zooms each picture once, and writes what is wrong into an element.
const JUDGE: &str = r#"<script>
window.addEventListener("load", () => {
  const wrong = [];
  document.querySelectorAll("details").forEach(details => { details.open = true; });
  const texts = svg => [...svg.querySelectorAll("text")].filter(text => text.textContent.trim());
  const judge = (svg, when) => {
    const outer = svg.getBoundingClientRect();
    const boxes = texts(svg).map(text => [text, text.getBoundingClientRect()]);
    for (const [text, box] of boxes)
      if (box.left < outer.left - 1 || box.right > outer.right + 1 || box.top < outer.top - 1 || box.bottom > outer.bottom + 1)
        wrong.push(`${when}: outside of ${svg.getAttribute("aria-label")}: ${text.textContent}`);
    for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
      const [a, b] = [boxes[i][1], boxes[j][1]];
      const turned = boxes[i][0].hasAttribute("transform") || boxes[j][0].hasAttribute("transform");
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left), height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (!turned && width > 1 && height > 2.5)
        wrong.push(`${when}: ${svg.getAttribute("aria-label")}: ${boxes[i][0].textContent} over ${boxes[j][0].textContent}`);
    }
  };
  const pictures = [...document.querySelectorAll("svg[role=img]")];
  pictures.forEach(svg => judge(svg, "first"));
  for (const svg of document.querySelectorAll("svg.zoomable")) {
    svg.focus();
    for (const key of ["+", "+", "ArrowRight"]) svg.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    judge(svg, "zoomed");
    svg.dispatchEvent(new KeyboardEvent("keydown", { key: "0", bubbles: true }));
  }
  for (const svg of pictures) {
    const box = svg.getBoundingClientRect();
    svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true }));
  }
  document.querySelectorAll(".sortable th").forEach(head => head.click());
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("the page is wider than the window");
  const result = document.createElement("output");
  result.id = "judgement";
  result.textContent = `${pictures.length} pictures: ` + (wrong.length ? wrong.join("\n") : "nothing is wrong");
  document.body.append(result);
});
</script>"#;

/// Chromium on a page; `None` where there is none, and no continuous integration demands it.
fn browse(page: &str, arguments: &[&str]) -> Option<(String, String)> {
    if !Path::new(CHROMIUM).exists() {
        assert!(std::env::var_os("CI").is_none(), "the Debian package chromium is missing");
        eprintln!("skipped: {CHROMIUM} is missing (Debian package chromium)");
        return None;
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("page.html");
    fs::write(&file, page).unwrap();
    let output = Command::new(CHROMIUM)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
        ])
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--virtual-time-budget=5000",
            "--window-size=1280,900",
        ])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .args(arguments)
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Some((text(output.stdout), text(output.stderr)))
}

/// The judgement over a page.
fn judged(page: &str) -> Option<String> {
    let page = page.replace("</body>", &format!("{JUDGE}</body>"));
    let (dom, log) = browse(&page, &["--dump-dom"])?;
    let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "{}", console.join("\n"));
    let result =
        dom.split("<output id=\"judgement\">").nth(1).and_then(|rest| rest.split("</output>").next());
    Some(result.unwrap_or_else(|| panic!("no judgement; the log: {log}")).to_owned())
}

fn assert_right(page: &str) {
    if let Some(judgement) = judged(page) {
        assert!(judgement.ends_with("nothing is wrong") && !judgement.starts_with("0 "), "{judgement}");
    }
}

#[test]
fn browser_shows_a_run_without_faults() {
    assert_right(&runs::page(runs::with_series()));
}

#[test]
fn browser_shows_a_run_without_series_without_faults() {
    assert_right(&runs::page(runs::without_series()));
}

#[test]
fn browser_shows_source_counts_without_faults() {
    assert_right(&runs::page(runs::with_source_counts()));
}

#[test]
fn browser_shows_a_comparison_without_faults() {
    assert_right(&runs::comparison());
}

#[test]
fn browser_shows_a_correlation_without_faults() {
    assert_right(&runs::correlation());
}

#[test]
fn browser_shows_a_sweep_without_faults() {
    assert_right(&runs::sweep());
}

#[test]
fn judge_finds_texts_that_overlap() {
    let page = runs::sweep().replace(
        "</main>",
        "<svg viewBox=\"0 0 100 20\" role=\"img\" aria-label=\"x\"><text x=\"1\" y=\"15\">one</text><text x=\"5\" y=\"15\">two</text></svg></main>",
    );
    if let Some(judgement) = judged(&page) {
        assert!(judgement.contains("one over two"), "{judgement}");
    }
}
