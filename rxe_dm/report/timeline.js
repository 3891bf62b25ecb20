/* Timelines of the whole run: goodput, outstanding packets, retries and NAKs of the chosen queue pair, in BINS columns. */
const BINS = 240, CHART_WIDTH = 960, CHART_HEIGHT = 64, SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes, parent) {
  const ret = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) ret.setAttribute(key, value);
  if (parent) parent.appendChild(ret);
  return ret;
}

/* Payload counts once, where it first arrives. */
function goodBytes(i) {
  return P.flags[i] & FLAG.GOOD ? P.payload[i] : 0;
}

const CHARTS = [
  { id: "goodput", title: "goodput", unit: "B", take: goodBytes, sum: true },
  { id: "outstanding", title: "outstanding request packets", unit: "", take: i => P.outstanding[i], sum: false },
  { id: "resent", title: "packets sent again", unit: "", take: i => P.flags[i] & FLAG.RESENT ? 1 : 0, sum: true },
  { id: "rnr", title: "RNR NAKs", unit: "", take: i => P.flags[i] & FLAG.RNR ? 1 : 0, sum: true },
  { id: "lost", title: "packets lost", unit: "", take: i => P.flags[i] & FLAG.LOST ? 1 : 0, sum: true },
];

function ofQp(i) {
  return view.qp < 0 || P.source[i] === view.qp || P.target[i] === view.qp;
}

function binsOf(chart) {
  const ret = { bins: new Float64Array(BINS), total: 0, most: 0 };
  for (let i = 0; i < DATA.count; i++) {
    if (!ofQp(i)) continue;
    const value = chart.take(i), at = Math.min(BINS - 1, Math.floor(P.time[i] / endNs * BINS));
    ret.bins[at] = chart.sum ? ret.bins[at] + value : Math.max(ret.bins[at], value);
    ret.total += value;
    ret.most = Math.max(ret.most, value);
  }
  return ret;
}

function caption(chart, found) {
  const seconds = packetsEndNs / 1e9;
  if (chart.id === "goodput")
    return `goodput: ${found.total} B in ${seconds.toFixed(6)} s, ${(found.total / seconds / 1e6).toFixed(3)} MB/s`;
  if (!chart.sum) return `${chart.title}: at most ${found.most}`;
  return `${chart.title}: ${found.total}`;
}

function drawChart(chart, parent) {
  const found = binsOf(chart), figure = document.createElement("figure"), text = document.createElement("figcaption");
  const top = found.bins.reduce((a, b) => Math.max(a, b), 0) || 1;
  figure.id = `chart-${chart.id}`;
  figure.className = chart.id;
  text.id = `caption-${chart.id}`;
  text.textContent = caption(chart, found);
  figure.appendChild(text);
  if (found.total || chart.id === "goodput") {
    const picture = svg("svg", { viewBox: `0 0 ${CHART_WIDTH} ${CHART_HEIGHT}`, role: "img", "aria-label": text.textContent }, figure);
    svg("line", { class: "base", x1: 0, x2: CHART_WIDTH, y1: CHART_HEIGHT - 0.5, y2: CHART_HEIGHT - 0.5 }, picture);
    svg("rect", { class: "window", y: 0, height: CHART_HEIGHT }, picture);
    found.bins.forEach((value, at) => {
      if (value === 0) return;
      const bar = svg("rect", { class: "bar", x: at * CHART_WIDTH / BINS, width: CHART_WIDTH / BINS - 0.6,
        y: CHART_HEIGHT * (1 - value / top), height: CHART_HEIGHT * value / top }, picture);
      svg("title", {}, bar).textContent = `${micro(at * endNs / BINS)} us: ${value} ${chart.unit}`;
    });
  }
  parent.appendChild(figure);
}

/* What only the counters of the record show: receives that found none posted, and full receive buffers. */
const SAMPLED = ["send_rnr_err", "completer_retry_err", "link_recv_drops"];

function drawSamples(parent) {
  for (const name of SAMPLED) {
    const rows = DATA.samples.filter(sample => sample.counters[name] !== undefined);
    if (!rows.length || rows[rows.length - 1].counters[name] === 0) continue;
    const figure = document.createElement("figure"), text = document.createElement("figcaption");
    const most = rows[rows.length - 1].counters[name];
    text.textContent = `counter ${name}, sampled: ${most} at the end`;
    figure.id = `chart-${name}`;
    figure.appendChild(text);
    const picture = svg("svg", { viewBox: `0 0 ${CHART_WIDTH} ${CHART_HEIGHT}`, role: "img", "aria-label": text.textContent }, figure);
    const points = rows.map(row => `${CHART_WIDTH * Math.max(0, row.ns) / endNs},${CHART_HEIGHT - 2 - (CHART_HEIGHT - 4) * row.counters[name] / most}`);
    svg("polyline", { points: points.join(" "), fill: "none", stroke: "currentColor", "stroke-width": 1.5 }, picture);
    parent.appendChild(figure);
  }
}

/* Charts of what the steps show. low: the least of each column is drawn darker, because too few receives are what matters. */
const STEP_CHARTS = [
  { id: "receives", title: "receives posted", of: S.queue, level: S.level, low: true },
  { id: "fill", title: "completions in the CQs, when they are polled", of: S.cq, level: S.fill, low: false },
];

/* Least and most of each column: the sum of the levels of all queues of the chosen queue pair. */
function stepBins(chart) {
  const ret = { most: new Float64Array(BINS), least: new Float64Array(BINS).fill(-1), steps: 0, high: 0, low: -1 }, levels = new Map();
  let sum = 0, bin = 0;
  for (let i = 0; i < S.time.length; i++) {
    const queue = chart.of[i], at = Math.max(0, Math.min(BINS - 1, Math.floor(S.time[i] / endNs * BINS)));
    if (queue === NONE || (view.qp >= 0 && !DATA.queues[queue].qps.includes(view.qp))) continue;
    for (; chart.low && bin < at; bin++) ret.most[bin + 1] = ret.least[bin + 1] = sum;
    sum = chart.low ? sum + chart.level[i] - (levels.get(queue) ?? 0) : chart.level[i];
    levels.set(queue, chart.level[i]);
    ret.most[at] = Math.max(ret.most[at], sum);
    ret.least[at] = ret.least[at] < 0 ? sum : Math.min(ret.least[at], sum);
    ret.high = Math.max(ret.high, sum);
    ret.steps++;
  }
  return ret;
}

function drawStepChart(chart, parent) {
  const found = stepBins(chart);
  if (!found.steps) return;
  const figure = document.createElement("figure"), text = document.createElement("figcaption");
  figure.id = `chart-${chart.id}`;
  text.id = `caption-${chart.id}`;
  text.textContent = `${chart.title}: at most ${found.high}`;
  figure.appendChild(text);
  const picture = svg("svg", { viewBox: `0 0 ${CHART_WIDTH} ${CHART_HEIGHT}`, role: "img", "aria-label": text.textContent }, figure);
  svg("line", { class: "base", x1: 0, x2: CHART_WIDTH, y1: CHART_HEIGHT - 0.5, y2: CHART_HEIGHT - 0.5 }, picture);
  svg("rect", { class: "window", y: 0, height: CHART_HEIGHT }, picture);
  for (let at = 0; at < BINS; at++) {
    const bars = chart.low ? [["bar most", found.most[at]], ["bar", found.least[at]]] : [["bar", found.most[at]]];
    for (const [name, value] of bars) if (value > 0) stepBar(picture, name, at, value, found.high);
  }
  parent.appendChild(figure);
}

function stepBar(picture, name, at, value, high) {
  const bar = svg("rect", { class: name, x: at * CHART_WIDTH / BINS, width: CHART_WIDTH / BINS - 0.6,
    y: CHART_HEIGHT * (1 - value / high), height: CHART_HEIGHT * value / high }, picture);
  svg("title", {}, bar).textContent = `${micro(at * endNs / BINS)} us: ${value}`;
}

function drawCharts() {
  const parent = document.getElementById("charts");
  parent.replaceChildren();
  for (const chart of CHARTS) drawChart(chart, parent);
  for (const chart of STEP_CHARTS) drawStepChart(chart, parent);
  drawSamples(parent);
}

/* Shows in each chart which part of the run the ladder shows. */
function drawWindow(fromNs, toNs) {
  for (const rect of document.querySelectorAll("#charts .window")) {
    rect.setAttribute("x", CHART_WIDTH * fromNs / endNs);
    rect.setAttribute("width", Math.max(2, CHART_WIDTH * (toNs - fromNs) / endNs));
  }
}
