"use strict";
(() => {
  const tip = document.getElementById("tip");
  const root = document.documentElement;

  // Dark and light.
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // Values under the pointer.
  const show = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = !text;
    if (!text) return;
    const width = tip.offsetWidth, height = tip.offsetHeight;
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - width - 8)) + "px";
    tip.style.top = (y + 18 + height > innerHeight ? y - height - 10 : y + 18) + "px";
  };
  const time = ns => {
    for (const [step, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]])
      if (Math.abs(ns) >= step) return +(ns / step).toPrecision(4) + " " + unit;
    return +ns.toPrecision(4) + " ns";
  };
  const number = value => Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en").replaceAll(",", "\u202f") : String(+value.toPrecision(4));

  // Zoom along x: the part of the values that a picture shows.
  const state = new Map();
  const of = svg => {
    if (!state.has(svg)) {
      const get = name => Number(svg.dataset[name]);
      state.set(svg, { x0: get("x0"), x1: get("x1"), v0: get("v0"), v1: get("v1"), from: get("v0"), to: get("v1") });
    }
    return state.get(svg);
  };
  const view = (svg, event) => {
    const box = svg.getBoundingClientRect();
    return (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
  };
  const value = (s, x) => s.from + (x - s.x0) / (s.x1 - s.x0) * (s.to - s.from);
  const step = least => {
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].find(factor => factor * power >= least * (1 - 1e-9)) * power;
  };
  const axis = (svg, s) => {
    const group = svg.querySelector(".xaxis");
    const line = group.querySelector("line"), label = group.querySelector("text");
    if (!line || !label) return;
    const first = line.cloneNode(), text = label.cloneNode();
    group.replaceChildren();
    const width = step((s.to - s.from) / Math.max(2, Math.floor((s.x1 - s.x0) / 110)));
    for (let at = Math.ceil(s.from / width) * width; at <= s.to * (1 + 1e-12); at += width) {
      const x = s.x0 + (at - s.from) / (s.to - s.from) * (s.x1 - s.x0);
      const l = first.cloneNode(), t = text.cloneNode();
      l.setAttribute("x1", x); l.setAttribute("x2", x); t.setAttribute("x", x);
      t.textContent = time(at);
      group.append(l, t);
    }
  };
  const zoom = (svg, from, to) => {
    const s = of(svg), all = s.v1 - s.v0, length = Math.min(all, Math.max(to - from, all / 5000));
    s.from = Math.min(Math.max(from, s.v0), s.v1 - length);
    s.to = s.from + length;
    const scale = all / length;
    const move = s.x0 - scale * (s.x0 + (s.from - s.v0) / all * (s.x1 - s.x0));
    svg.querySelector(".zoom").setAttribute("transform", `translate(${move} 0) scale(${scale} 1)`);
    axis(svg, s);
  };
  // Pictures of one launch share their time.
  const peers = svg => {
    const group = svg.closest(".series");
    return group ? [...group.querySelectorAll("svg.zoomable")] : [svg];
  };
  const zoomAll = (svg, from, to) => peers(svg).forEach(peer => zoom(peer, from, to));
  for (const svg of document.querySelectorAll("svg.zoomable")) {
    let drag = null;
    svg.addEventListener("wheel", event => {
      if (!event.ctrlKey && !event.shiftKey && document.activeElement !== svg) return;
      event.preventDefault();
      const s = of(svg), at = value(s, view(svg, event)), factor = 1.2 ** Math.sign(event.deltaY || event.deltaX);
      zoomAll(svg, at - (at - s.from) * factor, at + (s.to - at) * factor);
    }, { passive: false });
    svg.addEventListener("pointerdown", event => { drag = { x: view(svg, event), ...of(svg) }; });
    svg.addEventListener("pointermove", event => {
      if (!drag || !event.buttons) return;
      const move = (drag.x - view(svg, event)) / (drag.x1 - drag.x0) * (drag.to - drag.from);
      zoomAll(svg, drag.from + move, drag.to + move);
    });
    svg.addEventListener("pointerup", () => { drag = null; });
    svg.addEventListener("dblclick", () => { const s = of(svg); zoomAll(svg, s.v0, s.v1); });
    svg.addEventListener("keydown", event => {
      const s = of(svg), length = s.to - s.from, middle = (s.from + s.to) / 2;
      const keys = {
        "+": [middle - length / 3, middle + length / 3], "=": [middle - length / 3, middle + length / 3],
        "-": [middle - length * .75, middle + length * .75],
        ArrowLeft: [s.from - length / 8, s.to - length / 8], ArrowRight: [s.from + length / 8, s.to + length / 8],
        0: [s.v0, s.v1],
      };
      if (!(event.key in keys)) return;
      event.preventDefault();
      zoomAll(svg, ...keys[event.key]);
    });
  }

  // Curves and maps: the interval under the pointer.
  const lists = new WeakMap();
  const list = path => {
    if (!lists.has(path)) lists.set(path, { ends: path.dataset.a.split(" ").map(Number), values: path.dataset.b.split(" ").map(Number) });
    return lists.get(path);
  };
  const pixels = new WeakMap();
  const ofCurves = (svg, event) => {
    const s = of(svg), x = view(svg, event);
    if (x < s.x0 || x > s.x1) return "";
    const at = value(s, x), lines = [time(at)];
    for (const path of [...svg.querySelectorAll("path[data-a]")].reverse()) {
      const { ends, values } = list(path);
      let place = ends.findIndex(end => end >= at);
      if (place < 0) place = ends.length - 1;
      lines.push(`${path.dataset.n}: ${number(values[place])} ${path.dataset.u}`);
    }
    const cross = svg.querySelector(".cross");
    if (cross) {
      cross.setAttribute("x1", x); cross.setAttribute("x2", x);
      cross.setAttribute("y2", svg.viewBox.baseVal.height - 24);
    }
    return lines.join("\n");
  };
  const ofMap = (image, event) => {
    const svg = image.closest("svg.zoomable"), s = of(svg), at = value(s, view(svg, event));
    if (!pixels.has(image)) pixels.set(image, atob(image.getAttribute("href").split(",")[1]));
    const bytes = pixels.get(image), rows = +image.dataset.r, columns = +image.dataset.c, box = image.getBoundingClientRect();
    const row = Math.min(rows - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * rows)));
    const column = Math.min(columns - 1, Math.max(0, Math.floor((at - s.v0) / (s.v1 - s.v0) * columns)));
    const level = bytes.charCodeAt(1078 + (rows - 1 - row) * Math.ceil(columns / 4) * 4 + column);
    return `${image.dataset.n} ${row}, ${time(at)}\n${number(level / 255 * image.dataset.m)} ${image.dataset.u}`;
  };
  document.addEventListener("pointermove", event => {
    const target = event.target;
    if (!(target instanceof Element)) return show("", 0, 0);
    const marked = target.closest("[data-t]"), svg = target.closest("svg.zoomable") ?? target.closest("svg")?.ownerSVGElement;
    const outer = target.closest(".zoomable");
    let text = "";
    if (marked) text = marked.dataset.t;
    else if (target.matches("image.heat")) text = ofMap(target, event);
    else if (outer && outer.querySelector("path[data-a]")) text = ofCurves(outer, event);
    show(text, event.clientX, event.clientY);
  });
  document.addEventListener("pointerleave", () => show("", 0, 0));

  // Tables sorted by a column.
  for (const head of document.querySelectorAll(".sortable th")) {
    head.tabIndex = 0;
    const sort = () => {
      const body = head.closest("table").tBodies[0], place = head.cellIndex;
      const up = head.getAttribute("aria-sort") === "descending";
      for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = row => {
        const cell = row.cells[place], data = cell.querySelector("data");
        return data ? Number(data.value) : cell.textContent;
      };
      const rows = [...body.rows].map(row => [key(row), row]);
      rows.sort(([a], [b]) => (up ? 1 : -1) * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))));
      body.append(...rows.map(([, row]) => row));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); } });
  }
})();
