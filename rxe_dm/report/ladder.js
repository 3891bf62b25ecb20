/* The ladder: one vertical line for each program, one arrow for each packet. Positions are ranks among the chosen packets (even
 * scale) or nanoseconds (time). Only what is in view is drawn; arrows that would fall on the same row of pixels are drawn once. */
const TOP = 46, LEFT = 104, RIGHT = 40;

const view = { scale: "even", from: 0, to: 1, qp: -1, only: "all", list: new Int32Array(0), columns: [], labelled: new Set(), picked: -1 };

function chosen(i) {
  const qp = view.qp;
  return (qp < 0 || P.source[i] === qp || P.target[i] === qp) && (view.only === "all" || P.flags[i] & MARKED);
}

/* Makes the list of chosen packets, and that of the columns they need. */
function choose() {
  const found = new Int32Array(DATA.count), used = new Set();
  let n = 0;
  for (let i = 0; i < DATA.count; i++) {
    if (!chosen(i)) continue;
    found[n++] = i;
    used.add(P.sender[i]).add(P.receiver[i]);
  }
  view.labelled = new Set();
  for (let i = 0; i < S.time.length; i++) if (stepChosen(i)) view.labelled.add(S.column[i]);
  for (const column of view.labelled) used.add(column);
  view.list = found.subarray(0, n);
  joinBlocks(view.list);
  placeSteps();
  view.columns = [...used].sort((a, b) => a - b);
}

function place(rank) {
  return view.scale === "even" ? rank : P.time[view.list[rank]];
}

/* Steps may come before the first packet. */
function start0() {
  if (!S.time.length || S.time[0] >= 0) return 0;
  return view.scale === "even" ? -1 : S.time[0];
}

function extent() {
  return view.scale === "even" ? Math.max(1, view.list.length) : endNs * 1.001;
}

/* The first rank at or after a position. */
function rankAt(position) {
  let low = 0, high = view.list.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (place(middle) < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

function clampView() {
  const least = view.scale === "even" ? 2 : 200, begin = start0(), all = extent();
  const span = Math.min(Math.max(view.to - view.from, least), Math.max(all - begin, least));
  view.from = Math.max(begin, Math.min(view.from, all - span));
  view.to = view.from + span;
}

function zoom(factor, at = (view.from + view.to) / 2) {
  view.from = at - (at - view.from) * factor;
  view.to = at + (view.to - at) * factor;
  clampView();
}

function move(part) {
  const step = (view.to - view.from) * part;
  view.from += step;
  view.to += step;
  clampView();
}

/* Moves the view so that a moment is a third from the top. */
function showAt(position) {
  const span = view.to - view.from;
  view.from = position - span / 3;
  view.to = view.from + span;
  clampView();
}

const canvas = document.getElementById("ladder"), pen = canvas.getContext("2d");
let width = 0, height = 0, colour = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["paper", "ink", "soft", "line", "request", "response", "lost", "resent", "nak", "pick"])
    colour[name] = style.getPropertyValue("--" + name).trim();
}

/* On paper: of the shape of #frame in page.css, and wide enough for texts on both sides. */
const PAPER = { width: 949, height: 1117, ratio: 2 };

function sizeOfFrame() {
  const box = canvas.parentElement.getBoundingClientRect();
  return { width: Math.max(200, box.width - 2), height: Math.max(200, box.height - 2), ratio: devicePixelRatio || 1 };
}

function fitCanvas(size = sizeOfFrame()) {
  const ratio = size.ratio;
  width = size.width;
  height = size.height;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
}

/* Computed for each frame. */
let columnPlaces = [];

function columnX(column) {
  return columnPlaces[column];
}

function placeOf(column) {
  const n = view.columns.length, at = view.columns.indexOf(column);
  const left = LEFT + (view.labelled.has(view.columns[0]) ? LABEL_WIDTH : 70);
  const right = width - (view.labelled.has(view.columns[n - 1]) ? LABEL_WIDTH : RIGHT);
  return n < 2 ? (LEFT + width - RIGHT) / 2 : left + (right - left) * at / (n - 1);
}

function yOf(position) {
  return TOP + (height - TOP - 6) * (position - view.from) / (view.to - view.from);
}

const KINDS = ["request", "response", "resent", "nak", "lost"];

/* An index of KINDS. */
function kindOf(i) {
  const flags = P.flags[i];
  if (flags & (FLAG.LOST | FLAG.UNSEEN)) return 4;
  if (flags & (FLAG.RNR | FLAG.NAK)) return 3;
  if (flags & FLAG.RESENT) return 2;
  return flags & FLAG.RESPONSE ? 1 : 0;
}

function arrowOf(rank) {
  const i = view.list[rank], y = yOf(place(rank)), x0 = columnX(P.sender[i]);
  let x1 = columnX(P.receiver[i]), y1;
  if (P.sender[i] === P.receiver[i]) x1 = x0 + 60;
  if (view.scale === "even") y1 = yOf(rank + 0.75);
  else y1 = P.arrived[i] >= 0 ? yOf(P.arrived[i]) : y + 4;
  return { i, x0, y0: y, x1, y1 };
}

/* Lost packets end where they were lost: before the middle, or near the receiver if a rule there dropped them. */
function endOf(arrow) {
  const flags = P.flags[arrow.i];
  if (!(flags & (FLAG.LOST | FLAG.UNSEEN))) return arrow;
  const part = P.arrived[arrow.i] >= 0 ? 0.85 : 0.5;
  return { ...arrow, x1: arrow.x0 + (arrow.x1 - arrow.x0) * part, y1: arrow.y0 + (arrow.y1 - arrow.y0) * part };
}

function strokeArrow(arrow, close) {
  pen.moveTo(arrow.x0, arrow.y0);
  pen.lineTo(arrow.x1, arrow.y1);
  if (P.flags[arrow.i] & (FLAG.LOST | FLAG.UNSEEN)) {
    const s = 4;
    pen.moveTo(arrow.x1 - s, arrow.y1 - s);
    pen.lineTo(arrow.x1 + s, arrow.y1 + s);
    pen.moveTo(arrow.x1 - s, arrow.y1 + s);
    pen.lineTo(arrow.x1 + s, arrow.y1 - s);
  } else if (close) {
    const angle = Math.atan2(arrow.y1 - arrow.y0, arrow.x1 - arrow.x0);
    for (const turn of [2.7, -2.7]) {
      pen.moveTo(arrow.x1, arrow.y1);
      pen.lineTo(arrow.x1 + 8 * Math.cos(angle + turn), arrow.y1 + 8 * Math.sin(angle + turn));
    }
  }
}

/* The arrows in view by kind; many: true where there are more than rows of pixels, which drawBands() draws. */
function arrowsInView() {
  const reach = view.scale === "even" ? 1 : Math.min(longestNs, 5 * (view.to - view.from));
  const first = rankAt(view.from - reach), last = rankAt(view.to), kinds = KINDS.map(() => []);
  const many = dense.usable && last - first > height - TOP;
  for (let rank = first; rank < last && !many; rank++) kinds[kindOf(view.list[rank])].push(arrowOf(rank));
  return { kinds, first, last, many };
}

const DASH = { request: [], response: [6, 3], resent: [10, 4], nak: [2, 3], lost: [] };

function drawArrows(found) {
  const close = (height - TOP) / Math.max(1, found.last - found.first) > 5;
  KINDS.forEach((name, kind) => {
    pen.beginPath();
    pen.strokeStyle = colour[name];
    pen.lineWidth = !close ? 1 : kind < 2 ? 1.2 : 1.8;
    pen.setLineDash(close ? DASH[name] : []);
    for (const arrow of found.kinds[kind]) strokeArrow(endOf(arrow), close);
    pen.stroke();
  });
  pen.setLineDash([]);
}

function label(arrow) {
  const words = [opcodeName(arrow.i), String(P.psn[arrow.i])], mark = marks(arrow.i);
  if (mark) words.push(mark);
  return words.join("  ");
}

/* What is marked has its label first; the others where there is space. */
function drawLabels(found, labels) {
  const spaces = (height - TOP) / LABEL_HEIGHT * 6;
  if (found.last - found.first > spaces) return;
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.strokeStyle = colour.paper;
  pen.lineWidth = 3;
  for (const kind of [4, 3, 2, 0, 1]) {
    pen.fillStyle = kind < 2 ? colour.ink : colour[KINDS[kind]];
    for (const arrow of found.kinds[kind]) labelArrow(arrow, labels);
  }
}

function labelArrow(arrow, labels) {
  const x = (arrow.x0 + arrow.x1) / 2, y = (arrow.y0 + arrow.y1) / 2 - 3, words = label(arrow), half = pen.measureText(words).width / 2;
  if (y < TOP || y > height || !labels.take(x - half, x + half, y)) return;
  pen.strokeText(words, x, y);
  pen.fillText(words, x, y);
}

function drawColumns() {
  pen.font = "600 12px system-ui, sans-serif";
  pen.textAlign = "center";
  const every = Math.max(60, (width - LEFT - RIGHT) / view.columns.length - 8);
  view.columns.forEach((column, at) => {
    const x = columnX(column);
    pen.strokeStyle = colour.line;
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(x, TOP - 8);
    pen.lineTo(x, height);
    pen.stroke();
    pen.fillStyle = colour.ink;
    pen.fillText(DATA.columns[column], x, at % 2 && every < 130 ? 32 : 18, every < 130 ? 2 * every : every);
  });
}

/* Times at the left edge, some rows apart. */
function drawTimes() {
  pen.font = "11px ui-monospace, monospace";
  pen.textAlign = "right";
  pen.fillStyle = colour.soft;
  const rows = Math.floor((height - TOP) / 60);
  for (let k = 0; k <= rows; k++) {
    const position = view.from + (view.to - view.from) * k / rows;
    const rank = Math.max(0, Math.min(view.list.length - 1, Math.round(position)));
    if (!view.list.length) return;
    const ns = view.scale === "even" ? P.time[view.list[rank]] : position;
    pen.fillText(`${micro(ns)} us`, LEFT - 10, Math.min(height - 4, yOf(view.scale === "even" ? rank : position) + 4));
  }
}

function drawPicked() {
  const rank = rankOf(view.picked);
  if (rank < 0) return;
  const arrow = endOf(arrowOf(rank));
  pen.fillStyle = colour.pick;
  pen.fillRect(LEFT, Math.min(arrow.y0, arrow.y1) - 14, width - LEFT, Math.abs(arrow.y1 - arrow.y0) + 18);
}

/* The rank of a packet; -1: it is not among the chosen. */
function rankOf(i) {
  let low = 0, high = view.list.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (view.list[middle] < i) low = middle + 1;
    else high = middle;
  }
  return low < view.list.length && view.list[low] === i ? low : -1;
}

function drawLadder() {
  columnPlaces = DATA.columns.map((_, column) => placeOf(column));
  pen.fillStyle = colour.paper;
  pen.fillRect(0, 0, width, height);
  if (view.picked >= 0) drawPicked();
  drawColumns();
  pen.save();
  pen.beginPath();
  pen.rect(LEFT - 8, TOP - 8, width, height);
  pen.clip();
  const found = arrowsInView();
  if (found.many) drawBands(setsOfRows());
  else drawArrows(found);
  const labels = new Labels();
  drawLabels(found, labels);
  drawSteps(labels);
  pen.restore();
  drawTimes();
  return found;
}

function far(x, y, a) {
  const dx = a.x1 - a.x0, dy = a.y1 - a.y0, length = dx * dx + dy * dy || 1;
  const part = Math.max(0, Math.min(1, ((x - a.x0) * dx + (y - a.y0) * dy) / length));
  return Math.hypot(x - a.x0 - part * dx, y - a.y0 - part * dy);
}

/* The packet whose arrow is nearest to a point; -1: none is near. Of many, the first in the row of pixels. */
function packetAt(x, y) {
  const found = arrowsInView();
  if (found.many) {
    const rank = rankAt(view.from + (view.to - view.from) * (y - TOP) / (height - TOP - 6));
    return rank < view.list.length ? view.list[rank] : -1;
  }
  let best = 12, ret = -1;
  for (const arrow of found.kinds.flat()) {
    const distance = far(x, y, endOf(arrow));
    if (distance < best) {
      best = distance;
      ret = arrow.i;
    }
  }
  return ret;
}
