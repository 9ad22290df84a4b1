"use strict";
// Sorting, filtering, views, and the browser of transcripts. What models wrote is only ever set as text.
(() => {
  const $ = (selector, within) => (within || document).querySelector(selector);
  const $$ = (selector, within) => [...(within || document).querySelectorAll(selector)];
  const DATA = JSON.parse($("#data").textContent);
  const board = $("#leaderboard"), browser = $("#transcripts");

  function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (value === true) element.setAttribute(key, "");
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  async function unpack(packed) {
    const bytes = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  // --- text that a model wrote ---------------------------------------------------------------------------

  const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/u;
  const MOST = 20000;

  // Signs that nobody sees, or that turn what follows, stand as their number.
  function seen(text) {
    const nodes = [];
    let rest = text;
    for (let found = UNSEEN.exec(rest); found; found = UNSEEN.exec(rest)) {
      const sign = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      nodes.push(rest.slice(0, found.index), make("span", { class: "unseen" }, "U+" + sign));
      rest = rest.slice(found.index + found[0].length);
    }
    return [...nodes, rest];
  }

  function shown(text, label, kind) {
    const frame = make("pre", { class: kind, tabindex: "0", role: "region", "aria-label": label, dir: "auto" });
    frame.append(...seen(text.slice(0, MOST)));
    if (text.length <= MOST) return [frame];
    const more = make("button", { type: "button" }, `Show the other ${(text.length - MOST).toLocaleString("en")} characters`);
    more.addEventListener("click", () => {
      frame.replaceChildren(...seen(text));
      more.parentElement.remove();
      frame.focus();
    });
    return [frame, make("p", { class: "step" }, more)];
  }

  // --- sorting and filtering -----------------------------------------------------------------------------

  const collator = new Intl.Collator("en", { numeric: true });

  function sortable(table) {
    const body = table.tBodies[0], original = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const name = head.firstChild;
      const button = make("button", { type: "button", class: "sort" });
      head.replaceChild(button, name);
      button.append(name);
      button.addEventListener("click", () => {
        const next = { none: "ascending", ascending: "descending", descending: "none" };
        const way = next[head.getAttribute("aria-sort") || "none"];
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        if (way !== "none") head.setAttribute("aria-sort", way);
        const turned = way === "descending" ? -1 : 1;
        const numeric = original.some((row) => row.cells[column].dataset.sort !== undefined);
        const rank = (row) => {
          const cell = row.cells[column];
          if (!numeric) return cell.textContent;
          return cell.dataset.sort === undefined ? null : Number(cell.dataset.sort);
        };
        const order = (one, other) => {
          const a = rank(one), b = rank(other);
          if (a === null || b === null) return (a === null) - (b === null); // what is undefined stays last
          return turned * (numeric ? a - b : collator.compare(a, b));
        };
        body.append(...(way === "none" ? original : [...original].sort(order)));
      });
    });
  }

  function filtering() {
    const form = $(".tools", board), input = $("#filter"), planted = $("#planted"), count = $("#count");
    const lines = $$(".overview tbody tr", board);
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const kept = new Set();
      for (const line of lines) {
        const found = words.every((word) => line.dataset.words.includes(word));
        if (found && !(planted && !planted.checked && line.dataset.planted)) kept.add(line.dataset.name);
      }
      for (const line of $$("[data-name]", board)) line.hidden = !kept.has(line.dataset.name);
      count.textContent = `${kept.size} of ${lines.length} models, in every table below`;
    };
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    input.addEventListener("input", apply);
    if (planted) planted.addEventListener("change", apply);
    apply();
  }

  // --- a model's own view --------------------------------------------------------------------------------

  let rowsOnce = null;
  const rows = () => (rowsOnce ||= unpack($("#rows").textContent.trim()));

  function complete(section) {
    if (section.dataset.complete) return;
    section.dataset.complete = "yes";
    const blocks = section.dataset.blocks.split(" ");
    const figures = $$("figure[data-block]", board).filter((figure) => blocks.includes(figure.dataset.block));
    const place = $(".figures", section);
    if (figures.length) {
      place.append(...figures.map((figure) => figure.cloneNode(true)));
      place.hidden = false;
    }
    const every = make("details", {}, make("summary", {}, "Every estimate of this row, and the row itself"));
    every.addEventListener("toggle", () => every.open && fill(every, section), { once: false });
    const estimates = $(".estimates", section);
    estimates.append(every);
    estimates.hidden = false;
  }

  const digits = (value) => (Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(4))));
  const span = (low, high, write) => (low === undefined || high === undefined || low === null ? "" : ` [${write(low)}, ${write(high)}]`);

  function written(cell) {
    if (cell.value_month) return cell.value_month + span(cell.low_month, cell.high_month, String);
    if (cell.value === null) return "—";
    return digits(cell.value) + span(cell.low, cell.high, digits);
  }

  async function fill(place, section) {
    if (place.dataset.filled) return;
    place.dataset.filled = "yes";
    const row = (await rows())[section.dataset.slug];
    const save = make("a", { download: `${section.dataset.slug}.json` }, "Save the whole row as JSON");
    save.href = URL.createObjectURL(new Blob([JSON.stringify(row, null, 2) + "\n"], { type: "application/json" }));
    const input = make("input", { type: "search", autocomplete: "off" });
    const body = make("tbody");
    for (const [suite, scorings] of Object.entries(row.estimates)) {
      for (const [scoring, metrics] of Object.entries(scorings)) {
        for (const [metric, cell] of Object.entries(metrics)) {
          const label = (DATA.labels[suite] || {})[metric];
          const gate = cell.gate ? `${cell.gate} ${cell.gate_passed ? "holds" : "fails"}: ${cell.gate_text || ""}` : "";
          const method = [cell.method, cell.draws && `B = ${cell.draws.toLocaleString("en")}`, cell.seed !== undefined && `seed ${cell.seed}`];
          const line = [
            [suite, scoring].join(", "), written(cell) + (cell.marks ? ` ${cell.marks}` : ""), cell.unit,
            cell.n === undefined ? "" : cell.n.toLocaleString("en"), method.filter(Boolean).join(", "), gate,
          ];
          const name = make("th", { scope: "row" }, metric, ...(label ? [make("br"), make("span", { class: "note" }, label)] : []));
          body.append(make("tr", {}, name, ...line.map((text) => make("td", {}, text))));
        }
      }
    }
    const heads = ["Estimate", "Suite, scoring", "Value [interval]", "Unit", "n", "Method", "Gate"];
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, name)))), body);
    const frame = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Every estimate" }, table);
    const count = make("span", { role: "status" });
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let kept = 0;
      for (const line of body.rows) {
        const text = line.textContent.toLowerCase();
        line.hidden = !words.every((word) => text.includes(word));
        kept += !line.hidden;
      }
      count.textContent = `${kept} of ${body.rows.length} estimates`;
    };
    input.addEventListener("input", apply);
    apply();
    place.append(make("p", {}, save), make("div", { class: "tools" }, make("label", {}, "Filter ", input), count), frame);
  }

  // --- transcripts ---------------------------------------------------------------------------------------

  const PAGE = 50, KEPT = 12;
  const waiting = new Map(), loaded = new Map();
  window.anachronTranscripts = (name, packed) => waiting.get(JSON.stringify(name))?.(packed);

  function load(slug, suite, arm, number) {
    const parts = [DATA.models[slug], suite, arm, number].filter((part) => part !== undefined);
    const key = JSON.stringify(parts);
    if (loaded.has(key)) return loaded.get(key);
    const file = arm === undefined ? "index" : number === undefined ? arm : `${arm}-${String(number).padStart(4, "0")}`;
    const source = ["transcripts", slug, suite, `${file}.js`].map(encodeURIComponent).join("/");
    const script = make("script", { src: source });
    const promise = new Promise((resolve, reject) => {
      waiting.set(key, (packed) => resolve(unpack(packed)));
      script.addEventListener("load", () => { script.remove(); reject(new Error(`${source} holds other transcripts`)); });
      script.addEventListener("error", () => { script.remove(); reject(new Error(`${source} cannot be read`)); });
    }).finally(() => waiting.delete(key));
    promise.catch(() => loaded.delete(key));
    loaded.set(key, promise);
    const pieces = [...loaded.keys()].filter((one) => JSON.parse(one).length === 4);
    if (pieces.length > KEPT) loaded.delete(pieces[0]);
    document.head.append(script);
    return promise;
  }

  const words = (name) => name.replaceAll("_", " ");
  const option = (value, text, chosen) => make("option", { value, selected: chosen }, text);
  let state = null; // what the browser shows: slug, suite, arm, list, filters, page, place

  function where() {
    return `#transcripts/${state.slug}/${state.suite}/${state.arm}/${state.place}`;
  }

  async function openBrowser(slug, suite, arm, place) {
    const name = DATA.models[slug], suites = DATA.transcripts[slug] || [];
    const back = make("p", { class: "back" }, make("a", { href: `#model/${slug}` }, "The model's view"));
    const title = make("h2", { tabindex: "-1" }, `Transcripts of ${name}`);
    const body = make("div", {}, make("p", { role: "status" }, "Reading …"));
    browser.replaceChildren(back, title, body);
    if (!suites.length) return fail(body, "No transcripts of this model lie beside this page.");
    try {
      const indexes = await Promise.all(suites.map((one) => load(slug, one)));
      if (!suites.includes(suite)) suite = suites[0];
      const arms = indexes[suites.indexOf(suite)].arms.map((one) => one.arm);
      if (!arms.includes(arm)) arm = arms[0];
      const list = await load(slug, suite, arm);
      const wanted = Math.min(Math.max(Number(place) || 0, 0), list.item.length - 1);
      state = { slug, suite, arm, list, per: indexes[suites.indexOf(suite)].per_file, place: wanted, page: 0, shown: [] };
      layOut(body, suites, indexes);
    } catch (error) {
      fail(body, `${error.message}. The folder "transcripts" belongs beside this page: copy it along, or run the leaderboard again.`);
    }
  }

  function fail(body, text) {
    body.replaceChildren(make("p", { class: "message", role: "alert" }, text));
  }

  function layOut(body, suites, indexes) {
    const { list } = state;
    const choose = make("select", { id: "arm" });
    suites.forEach((suite, at) => {
      const group = make("optgroup", { label: suite });
      for (const one of indexes[at].arms) {
        group.append(option(`${suite}/${one.arm}`, `${one.arm} (${one.n.toLocaleString("en")})`, suite === state.suite && one.arm === state.arm));
      }
      choose.append(group);
    });
    choose.addEventListener("change", () => { location.hash = `#transcripts/${state.slug}/${choose.value}/0`; });
    const outcome = make("select", { id: "outcome" }, option("", "any"));
    list.outcomes.forEach((name, at) => {
      const n = list.outcome.filter((code) => code === at).length;
      outcome.append(option(String(at), `${words(name)} (${n.toLocaleString("en")})`));
    });
    const facet = make("select", { id: "facet" }, option("", "anything"));
    for (const [name, { values, codes }] of Object.entries(list.facets)) {
      const group = make("optgroup", { label: words(name) });
      const counts = new Map();
      for (const code of codes) counts.set(code, (counts.get(code) || 0) + 1);
      for (const code of [...values.keys(), -1]) {
        if (counts.has(code)) group.append(option(`${name}\n${code}`, `${words(name)}: ${code < 0 ? "none" : values[code]} (${counts.get(code).toLocaleString("en")})`));
      }
      facet.append(group);
    }
    const item = make("input", { type: "search", id: "item", placeholder: "2008-09", autocomplete: "off" });
    const count = make("span", { role: "status" });
    const form = make("form", { class: "tools" },
      make("label", {}, "Arm", choose), make("label", {}, "Outcome", outcome), make("label", {}, "Read as", facet),
      make("label", {}, "Item", item), count);
    form.addEventListener("submit", (event) => event.preventDefault());
    const apply = (first) => {
      const [name, code] = facet.value.split("\n");
      const text = item.value.trim().toLowerCase();
      state.shown = [...list.item.keys()].filter((at) =>
        (outcome.value === "" || list.outcome[at] === Number(outcome.value)) &&
        (facet.value === "" || list.facets[name].codes[at] === Number(code)) &&
        (text === "" || list.item[at].toLowerCase().includes(text)));
      count.textContent = `${state.shown.length.toLocaleString("en")} of ${list.item.length.toLocaleString("en")} transcripts`;
      if (!first && !state.shown.includes(state.place)) state.place = state.shown[0] ?? state.place;
      state.page = Math.max(0, Math.floor(state.shown.indexOf(state.place) / PAGE));
      fillList();
      if (state.shown.length) openTranscript(false);
      else $(".transcript", browser).replaceChildren(make("p", {}, "No transcript fits this choice."));
    };
    for (const control of [outcome, facet]) control.addEventListener("change", () => apply(false));
    item.addEventListener("input", () => apply(false));
    const entries = make("ol", { "aria-label": "Transcripts" });
    entries.addEventListener("keydown", byKey);
    const reader = make("div", { class: "reader" },
      make("div", { class: "list" }, entries, make("div", { class: "pager" })),
      make("article", { class: "transcript", tabindex: "-1", "aria-label": "The transcript" }));
    body.replaceChildren(form, reader);
    apply(true);
  }

  const label = (at) => {
    const { list } = state;
    const again = list.duplicate && list.duplicate[at] ? `, duplicate ${list.duplicate[at]}` : "";
    return `${list.item[at]} · rep ${list.rep[at]}${again}`;
  };

  function fillList() {
    const { list, shown: kept, page } = state;
    const entries = $(".list ol", browser);
    entries.replaceChildren(...kept.slice(page * PAGE, (page + 1) * PAGE).map((at) => {
      const outcome = list.outcomes[list.outcome[at]];
      const odd = outcome === "answer" ? null : make("span", { class: "odd" }, ` · ${words(outcome)}`);
      const current = at === state.place;
      return make("li", {}, make("button", {
        type: "button", "data-at": at, "aria-current": String(current), tabindex: current ? "0" : "-1",
        onclick: () => choose(at, true),
      }, make("span", { class: "name" }, label(at)), odd, make("span", { class: "snippet" }, ...seen(list.snippet[at] || " "))));
    }));
    if (!$("[tabindex='0']", entries)) $("button", entries)?.setAttribute("tabindex", "0");
    const pages = Math.max(1, Math.ceil(kept.length / PAGE));
    const turn = (to) => () => { state.page = to; fillList(); $(".list ol", browser).scrollTop = 0; };
    $(".pager", browser).replaceChildren(
      make("button", { type: "button", disabled: page === 0, onclick: turn(page - 1) }, "Previous page"),
      make("span", {}, `page ${page + 1} of ${pages}`),
      make("button", { type: "button", disabled: page + 1 >= pages, onclick: turn(page + 1) }, "Next page"));
  }

  function choose(at, reading) {
    state.place = at;
    const place = state.shown.indexOf(at);
    const page = Math.max(0, Math.floor(place / PAGE));
    if (page !== state.page || !$(`[data-at="${at}"]`, browser)) {
      state.page = page;
      fillList();
    } else {
      for (const button of $$(".list ol button", browser)) {
        const current = Number(button.dataset.at) === at;
        button.setAttribute("aria-current", String(current));
        button.tabIndex = current ? 0 : -1;
      }
    }
    openTranscript(reading);
  }

  function byKey(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const from = state.shown.indexOf(Number(event.target.closest("button").dataset.at));
    const to = Math.min(Math.max(from + step, 0), state.shown.length - 1);
    choose(state.shown[to], false);
    const button = $(`[data-at="${state.shown[to]}"]`, browser);
    button.focus();
    button.scrollIntoView({ block: "nearest" });
  }

  async function openTranscript(reading) {
    const { slug, suite, arm, list, per, place } = state;
    history.replaceState(null, "", where());
    const article = $(".transcript", browser);
    let piece;
    try {
      piece = await load(slug, suite, arm, Math.floor(place / per));
    } catch (error) {
      return fail(article, error.message);
    }
    if (!state || state.place !== place || state.list !== list) return; // another one was chosen meanwhile
    const record = piece.records[place % per];
    const outcome = list.outcomes[list.outcome[place]];
    const at = state.shown.indexOf(place);
    const step = (text, to) => make("button", {
      type: "button", disabled: state.shown[to] === undefined, onclick: () => choose(state.shown[to], false),
    }, text);
    const parts = [
      make("div", { class: "step" }, step("Previous transcript", at - 1), step("Next transcript", at + 1)),
      make("h3", { class: "title" }, `${arm} · ${label(place)}`),
      make("p", { class: "note" }, ...(DATA.arms[suite]?.[arm] ? [`Asked: ${DATA.arms[suite][arm]}`, make("br")] : []),
        `Outcome: ${words(outcome)}. ${DATA.outcomes[outcome] || ""}`),
    ];
    const section = (title, ...inside) => parts.push(make("h3", {}, title), ...inside);
    if (record.prompt !== undefined) {
      const [system, prompt] = piece.prompts[record.prompt];
      if (system) section("System text", ...shown(system, "System text", "asked"));
      section("Prompt", ...shown(prompt, "Prompt", "asked"));
    } else {
      const known = record.prompt_sha256 ? ` Its SHA-256 is ${record.prompt_sha256}.` : "";
      section("Prompt", make("p", { class: "note" }, `The records do not hold the prompt.${known}`));
    }
    section("Raw answer", ...(record.text ? shown(record.text, "Raw answer") : [make("p", { class: "note" }, "No text.")]));
    if (record.reasoning) section("Reasoning, as the provider gave it", ...shown(record.reasoning, "Reasoning"));
    section("Read as", facts(record.parsed));
    parts.push(make("details", {}, make("summary", {}, "How it was asked and served"), facts(record.about)));
    article.replaceChildren(...parts);
    article.dataset.at = String(place);
    if (reading && matchMedia("(max-width: 52rem)").matches) {
      article.focus({ preventScroll: true });
      article.scrollIntoView({ block: "start" });
    }
  }

  function facts(values) {
    const names = Object.keys(values || {});
    if (!names.length) return make("p", { class: "note" }, "Nothing.");
    const write = (value) => (value === true ? "yes" : value === false ? "no" : String(value));
    return make("dl", { class: "facts" }, ...names.flatMap((name) => [
      make("dt", {}, words(name)), make("dd", {}, ...seen(write(values[name]))),
    ]));
  }

  // --- views ---------------------------------------------------------------------------------------------

  let first = true;

  async function route() {
    const hash = location.hash.slice(1);
    const [kind, slug, ...rest] = hash.split("/");
    const known = slug !== undefined && Object.hasOwn(DATA.models, slug);
    const section = kind === "model" && known ? document.getElementById(`model/${slug}`) : null;
    const reading = kind === "transcripts" && known;
    board.classList.toggle("off", Boolean(section || reading));
    for (const one of $$(".model")) one.classList.toggle("on", one === section);
    browser.classList.toggle("on", reading);
    browser.hidden = false;
    $("#pick").value = known && (section || reading) ? slug : "";
    document.title = (known && (section || reading) ? `${DATA.models[slug]} · ` : "") + "Anachron leaderboard";
    if (section) complete(section);
    const arriving = !first;
    first = false;
    if (reading) await openBrowser(slug, ...rest);
    if (arriving && (section || reading || kind === "" || kind === "leaderboard")) {
      scrollTo(0, 0);
      $("h1, h2", section || (reading ? browser : board))?.focus({ preventScroll: true });
    }
  }

  $(".pick").hidden = false;
  $("#pick").addEventListener("change", (event) => {
    location.hash = event.target.value ? `#model/${event.target.value}` : "#leaderboard";
  });
  $$("table.sorts").forEach(sortable);
  filtering();
  addEventListener("hashchange", route);
  route();
})();
