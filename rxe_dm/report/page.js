/* What a person does: choices, keys, clicks, and links of the form #p=PACKET, #c=CALL, #t=NANOSECONDS, with &qp=, &scale=, &theme=. */
const ROWS_MAX = 200;

function byId(id) {
  return document.getElementById(id);
}

function rowOf(i) {
  const row = document.createElement("tr");
  const cells = [i + 1, micro(P.time[i]), P.arrived[i] >= 0 ? micro(P.arrived[i]) : "", DATA.columns[P.sender[i]],
    DATA.columns[P.receiver[i]], opcodeName(i), P.psn[i], P.bytes[i], marks(i), DATA.strings[P.request[i]]];
  for (const cell of cells) row.appendChild(document.createElement("td")).textContent = cell;
  row.dataset.packet = i;
  if (i === view.picked) row.className = "picked";
  return row;
}

/* The table of the packets in view, and the line above the ladder. */
function drawRows(found) {
  const first = Math.max(found.first, rankAt(view.from)), last = Math.min(found.last, first + ROWS_MAX), rows = [];
  for (let rank = first; rank < last; rank++) rows.push(rowOf(view.list[rank]));
  byId("rows").tBodies[0].replaceChildren(...rows);
  drawStepRows();
  const some = found.last > first ? `${first + 1} to ${found.last}` : "none";
  byId("view").textContent = `${some} of ${view.list.length} packets`;
  if (!view.list.length) return;
  const at = rank => P.time[view.list[Math.min(rank, view.list.length - 1)]];
  drawWindow(view.scale === "even" ? at(first) : view.from, view.scale === "even" ? at(Math.max(0, found.last - 1)) : view.to);
}

let waits = false, rowsTimer = 0;

function redraw() {
  if (waits) return;
  waits = true;
  requestAnimationFrame(() => {
    waits = false;
    const found = drawLadder();
    clearTimeout(rowsTimer);
    rowsTimer = setTimeout(() => drawRows(found), 60);
  });
}

function pairs(parent, rows) {
  const list = parent.appendChild(document.createElement("dl"));
  for (const [name, value] of rows) {
    if (value === "") continue;
    list.appendChild(document.createElement("dt")).textContent = name;
    list.appendChild(document.createElement("dd")).textContent = value;
  }
}

function drawDetail() {
  const i = view.picked, detail = byId("detail");
  detail.replaceChildren();
  if (i < 0) return;
  detail.appendChild(document.createElement("h3")).textContent = `packet ${i + 1}: ${opcodeName(i)}`;
  pairs(detail, [["sent", `${micro(P.time[i])} us`], ["arrived", P.arrived[i] >= 0 ? `${micro(P.arrived[i])} us` : ""],
    ["from", `${DATA.columns[P.sender[i]]} ${qpName(P.source[i])}`], ["to", `${DATA.columns[P.receiver[i]]} ${qpName(P.target[i])}`],
    ["request", DATA.strings[P.request[i]]], ["marks", marks(i)], ["rule", DATA.strings[P.note[i]]], ["bytes", P.bytes[i]],
    ["payload", P.payload[i]], ["outstanding after it", P.outstanding[i]], ["headers around it", DATA.strings[P.around[i]]],
    ...headerFields(i)]);
}

function pick(i, follow) {
  view.picked = i;
  S.picked = -1;
  const rank = rankOf(i);
  if (follow && rank >= 0 && (place(rank) < view.from || place(rank) > view.to - (view.to - view.from) * 0.05)) showAt(place(rank));
  drawDetail();
  redraw();
}

/* A call: its row, its sign and what it was given. No packet is picked then. */
function pickStep(i, follow) {
  S.picked = i;
  view.picked = -1;
  const at = stepPlace(i);
  if (follow && (at < view.from || at > view.to - (view.to - view.from) * 0.05)) showAt(at);
  drawStepDetail(i);
  redraw();
}

function pickNextStep(step) {
  let i = S.picked >= 0 ? S.picked + step : stepAt(view.from);
  while (i >= 0 && i < S.time.length && !stepChosen(i)) i += step;
  if (i >= 0 && i < S.time.length) pickStep(i, true);
}

function pickNext(step) {
  const rank = rankOf(view.picked);
  const next = rank < 0 ? rankAt(view.from) : Math.max(0, Math.min(view.list.length - 1, rank + step));
  if (view.list.length) pick(view.list[next], true);
}

function pickMarked(step) {
  let rank = rankOf(view.picked);
  if (rank < 0) rank = rankAt(view.from) - (step > 0 ? 1 : 0);
  for (rank += step; rank >= 0 && rank < view.list.length; rank += step) {
    if (P.flags[view.list[rank]] & MARKED) return pick(view.list[rank], true);
  }
}

function whole() {
  view.from = start0();
  view.to = extent();
  clampView();
  redraw();
}

/* After a change of choice or scale the same moment stays in view. */
function rechoose(change) {
  const rank = Math.min(rankAt(view.from), view.list.length - 1), at = rank >= 0 ? P.time[view.list[rank]] : 0;
  const share = (view.to - view.from) / extent();
  change();
  choose();
  view.to = view.from + (view.scale === "even" ? Math.min(60, extent()) : Math.max(share * extent(), 1000));
  if (view.list.length) showAt(view.scale === "even" ? rankOfTime(at) : at);
  clampView();
  redraw();
}

function rankOfTime(ns) {
  let low = 0, high = Math.max(0, view.list.length - 1);
  while (low < high) {
    const middle = low + high >> 1;
    if (P.time[view.list[middle]] < ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

function goToTime(ns) {
  showAt(view.scale === "even" ? rankOfTime(ns) : ns);
  const rank = Math.max(0, rankOfTime(ns));
  if (view.list.length) pick(view.list[rank], true);
}

function fromHash() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.has("theme")) setTheme(given.get("theme") === "dark" ? "dark" : "light");
  rechoose(() => {
    if (given.has("scale")) byId("scale").value = view.scale = given.get("scale") === "time" ? "time" : "even";
    if (given.has("qp")) byId("qp").value = view.qp = Number(given.get("qp"));
  });
  if (given.has("qp")) drawCharts();
  if (given.has("rows")) view.to = view.from + Number(given.get("rows"));
  if (given.has("whole")) whole();
  if (given.has("t")) goToTime(Number(given.get("t")));
  if (given.has("c") && S.time.length) pickStep(Math.min(S.time.length - 1, Number(given.get("c"))), true);
  if (given.has("p")) pick(Math.min(DATA.count - 1, Number(given.get("p"))), true);
  if (["t", "p", "c"].some(name => given.has(name))) byId("ladder-part").scrollIntoView();
  clampView();
  redraw();
}

function key(event) {
  const actions = { ArrowDown: () => pickNext(1), ArrowUp: () => pickNext(-1), PageDown: () => move(0.9), PageUp: () => move(-0.9),
    Home: () => move(-1e9), End: () => move(1e9), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: whole,
    n: () => pickMarked(1), p: () => pickMarked(-1), c: () => pickNextStep(1), C: () => pickNextStep(-1) };
  if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  actions[event.key]();
  redraw();
}

function wheel(event) {
  event.preventDefault();
  const at = view.from + (view.to - view.from) * Math.max(0, event.offsetY - TOP) / (height - TOP);
  if (event.ctrlKey || event.shiftKey) zoom(event.deltaY + event.deltaX > 0 ? 1.25 : 0.8, at);
  else move(event.deltaY / height);
  redraw();
}

function drag(event) {
  if (event.buttons !== 1) return;
  move(-event.movementY / (height - TOP));
  redraw();
}

function legendItem(text, draw) {
  const span = byId("legend").appendChild(document.createElement("span"));
  draw(svg("svg", { width: 44, height: 12 }, span));
  span.appendChild(document.createTextNode(text));
}

/* The signs of steps, at x 22, y 6. */
const SIGNS = { "post a send": "M18 2l8 4-8 4z", "post a receive": "M26 2l-8 4 8 4z", completion: "M19 3h6v6h-6z",
  event: "M18 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "state of a queue pair or connection": "M22 1l5 5-5 5-5-5z", "other call": "M18 6h8" };

function legend() {
  const words = { request: "request", response: "answer", resent: "sent again", nak: "RNR NAK or NAK", lost: "lost: ends in a cross" };
  for (const [kind, text] of Object.entries(words)) {
    const end = kind === "lost" ? "M2 6H22M18 2l8 8m0-8l-8 8" : "M2 6H40M34 2l6 4-6 4";
    legendItem(text, picture => svg("path", { d: end, fill: "none", stroke: `var(--${kind})`, "stroke-width": 2,
      "stroke-dasharray": DASH[kind].join(" ") }, picture));
  }
  if (!S.time.length) return;
  for (const [text, d] of Object.entries(SIGNS))
    legendItem(text, picture => svg("path", { d, fill: "none", stroke: "var(--soft)", "stroke-width": 1.5 }, picture));
  legendItem("failed: filled", picture => svg("path", { d: SIGNS.completion, fill: "var(--lost)" }, picture));
}

let theme = "light";

function setTheme(name) {
  theme = document.documentElement.dataset.theme = name;
  readColours();
}

/* At once: a page is printed as it is when the event returns. */
function redrawFor(size, name) {
  document.documentElement.dataset.theme = name;
  readColours();
  fitCanvas(size);
  drawRows(drawLadder());
}

function listen() {
  canvas.addEventListener("keydown", key);
  canvas.addEventListener("wheel", wheel, { passive: false });
  canvas.addEventListener("pointermove", drag);
  canvas.addEventListener("click", event => {
    const step = stepNear(event.offsetX, event.offsetY), i = step < 0 ? packetAt(event.offsetX, event.offsetY) : -1;
    if (step >= 0) pickStep(step, false);
    else if (i >= 0) pick(i, false);
  });
  byId("rows").addEventListener("click", event => {
    const row = event.target.closest("tr[data-packet]");
    if (row) pick(Number(row.dataset.packet), true);
  });
  byId("steps").addEventListener("click", event => {
    const row = event.target.closest("tr[data-step]");
    if (row) pickStep(Number(row.dataset.step), true);
  });
  byId("charts").addEventListener("click", event => {
    const picture = event.target.closest("svg"), box = picture && picture.getBoundingClientRect();
    if (picture) goToTime((event.clientX - box.left) / box.width * endNs);
  });
  byId("scale").addEventListener("change", event => rechoose(() => { view.scale = event.target.value; }));
  byId("only").addEventListener("change", event => rechoose(() => { view.only = event.target.value; }));
  byId("qp").addEventListener("change", event => {
    rechoose(() => { view.qp = Number(event.target.value); });
    drawCharts();
  });
  const clicks = { in: () => zoom(0.5), out: () => zoom(2), whole, before: () => pickMarked(-1), after: () => pickMarked(1) };
  for (const [id, act] of Object.entries(clicks)) byId(id).addEventListener("click", () => { act(); redraw(); });
  byId("theme").addEventListener("click", () => {
    setTheme(theme === "dark" ? "light" : "dark");
    redraw();
  });
  addEventListener("resize", () => { fitCanvas(); redraw(); });
  addEventListener("beforeprint", () => redrawFor(PAPER, "light"));
  addEventListener("afterprint", () => redrawFor(sizeOfFrame(), theme));
  addEventListener("hashchange", fromHash);
}

function start() {
  byId("step-list").hidden = !S.time.length;
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  DATA.qps.forEach((qp, index) => {
    const option = byId("qp").appendChild(document.createElement("option"));
    option.value = index;
    option.textContent = `${DATA.columns[qp.column]} ${qpName(index)}`;
  });
  classify();
  choose();
  fitCanvas();
  view.to = Math.min(60, extent());
  clampView();
  legend();
  listen();
  drawCharts();
  fromHash();
  drawRows(drawLadder()); /* the first frame may come late */
}

start();
