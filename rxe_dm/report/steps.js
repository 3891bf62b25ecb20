/* What programs did, beside the columns: posts, completions, events, states, other calls. Positions as those of packets; a step between
 * two packets stands between their rows. */
const KIND_SEND = 0, KIND_RECV = 1, KIND_COMPLETION = 2, KIND_EVENT = 3, KIND_STATE = 4, KIND_OTHER = 5, STEPS_MAX = 200, LABEL_WIDTH = 225, LABEL_CHARS = 36;
/* The kinds in the order in which they get their labels. */
const LABEL_ORDER = [KIND_COMPLETION, KIND_SEND, KIND_RECV, KIND_STATE, KIND_EVENT, KIND_OTHER];

const S = {
  time: arrayOf(Float64Array, "step_time"), took: arrayOf(Uint32Array, "step_took"), column: arrayOf(Uint16Array, "step_column"),
  qp: arrayOf(Uint16Array, "step_qp"), kind: arrayOf(Uint8Array, "step_kind"), failed: arrayOf(Uint8Array, "step_failed"),
  wrId: arrayOf(BigUint64Array, "step_wr_id"), op: arrayOf(Uint16Array, "step_op"), bytes: arrayOf(Uint32Array, "step_bytes"),
  status: arrayOf(Uint16Array, "step_status"), text: arrayOf(Uint32Array, "step_text"), queue: arrayOf(Uint16Array, "step_queue"),
  level: arrayOf(Uint32Array, "step_level"), cq: arrayOf(Uint16Array, "step_cq"), fill: arrayOf(Uint32Array, "step_fill"),
  place: new Float64Array(0), picked: -1,
};

if (S.time.length) endNs = Math.max(endNs, S.time[S.time.length - 1]);

/* "post SEND wr_id 0x1, 64 B" */
function stepText(i) {
  const kind = S.kind[i], wr = "wr_id 0x" + S.wrId[i].toString(16);
  if (S.text[i]) return DATA.strings[S.text[i]];
  if (kind === KIND_SEND) return `post ${DATA.names.sends[S.op[i]] ?? S.op[i]} ${wr}, ${S.bytes[i]} B`;
  if (kind === KIND_RECV) return `post receive ${wr}, ${S.bytes[i]} B`;
  if (S.status[i]) return `completion ${wr}: ${DATA.names.statuses[S.status[i]] ?? S.status[i]}`;
  return `completion ${DATA.names.completions[S.op[i]] ?? S.op[i]} ${wr}` + (S.op[i] & 128 ? `, ${S.bytes[i]} B` : "");
}

function stepChosen(i) {
  return (view.qp < 0 || S.qp[i] === view.qp) && (view.only === "all" || S.failed[i]);
}

/* After choose(): the place of each step on the even scale, by a walk through both lists. */
function placeSteps() {
  const list = view.list;
  S.place = new Float64Array(S.time.length);
  for (let i = 0, rank = 0; i < S.time.length; i++) {
    while (rank < list.length && P.time[list[rank]] <= S.time[i]) rank++;
    const before = rank > 0 ? P.time[list[rank - 1]] : Math.min(0, S.time[0]), after = rank < list.length ? P.time[list[rank]] : endNs;
    const part = after > before ? (S.time[i] - before) / (after - before) : 0;
    S.place[i] = rank - 1 + Math.max(0, Math.min(0.999, part));
  }
}

function stepPlace(i) {
  return view.scale === "even" ? S.place[i] : S.time[i];
}

/* The first step at or after a position. */
function stepAt(position) {
  let low = 0, high = S.time.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (stepPlace(middle) < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Steps in view; where they are many, one for each column and row of pixels, those that failed apart. */
function stepsInView() {
  const first = stepAt(view.from), last = stepAt(view.to), found = [], many = last - first > 600;
  const rows = new Int32Array(2 * DATA.columns.length).fill(-1), scale = (height - TOP - 6) / (view.to - view.from);
  const places = view.scale === "even" ? S.place : S.time;
  for (let i = first; i < last; i++) {
    if (!stepChosen(i)) continue;
    const row = (places[i] - view.from) * scale | 0, key = 2 * S.column[i] + S.failed[i];
    if (many && rows[key] === row) continue;
    rows[key] = row;
    found.push(i);
  }
  return found;
}

/* Steps of the last column stand to its right, those of others to the left. */
function stepSide(i) {
  return view.columns.length > 1 && view.columns[view.columns.length - 1] === S.column[i] ? 1 : -1;
}

function stepPath(kind, x, y, side) {
  if (kind === KIND_SEND || kind === KIND_RECV) {
    const tip = kind === KIND_SEND ? -4 * side : 4 * side;
    pen.moveTo(x - tip, y - 4);
    pen.lineTo(x + tip, y);
    pen.lineTo(x - tip, y + 4);
    pen.closePath();
  } else if (kind === KIND_COMPLETION) {
    pen.rect(x - 3, y - 3, 6, 6);
  } else if (kind === KIND_STATE) {
    pen.moveTo(x, y - 5);
    pen.lineTo(x + 5, y);
    pen.lineTo(x, y + 5);
    pen.lineTo(x - 5, y);
    pen.closePath();
  } else if (kind === KIND_OTHER) {
    pen.rect(x - 4, y - 0.5, 8, 1);
  } else {
    pen.moveTo(x + 4, y);
    pen.arc(x, y, 4, 0, 7);
  }
}

/* A mark for each, too many for signs. */
function drawMarks(found) {
  for (const failed of [0, 1]) {
    pen.fillStyle = failed ? colour.lost : colour.soft;
    for (const i of found) if (S.failed[i] === failed) pen.fillRect(columnX(S.column[i]) + 9 * stepSide(i) - 3, yOf(stepPlace(i)), 6, 1);
  }
}

function drawPickedStep() {
  const i = S.picked, x = columnX(S.column[i]) + 9 * stepSide(i), y = yOf(stepPlace(i));
  if (y < TOP) return;
  pen.fillStyle = colour.pick;
  pen.fillRect(x - 9, y - 9, 18, 18);
  pen.strokeStyle = colour.ink;
  pen.lineWidth = 1;
  pen.strokeRect(x - 9, y - 9, 18, 18);
}

function drawSigns(found) {
  pen.lineWidth = 1.4;
  for (const failed of [0, 1]) {
    pen.beginPath();
    for (const i of found) {
      const side = stepSide(i);
      if (S.failed[i] === failed) stepPath(S.kind[i], columnX(S.column[i]) + 9 * side, yOf(stepPlace(i)), side);
    }
    pen.fillStyle = pen.strokeStyle = failed ? colour.lost : colour.soft;
    if (failed) pen.fill();
    pen.stroke();
  }
}

function drawSteps(labels) {
  const found = stepsInView();
  if (S.picked >= 0 && columnX(S.column[S.picked]) !== undefined) drawPickedStep();
  if (found.length > 300) return drawMarks(found);
  drawSigns(found);
  pen.font = "11px system-ui, sans-serif";
  for (const i of found) if (S.failed[i]) labelStep(i, labels);
  for (const kind of LABEL_ORDER) for (const i of found) if (!S.failed[i] && S.kind[i] === kind) labelStep(i, labels);
}

function labelStep(i, labels) {
  const side = stepSide(i), x = columnX(S.column[i]) + 17 * side, y = yOf(stepPlace(i)) + 4, all = stepText(i);
  const words = all.length > LABEL_CHARS ? all.slice(0, LABEL_CHARS - 1) + "\u2026" : all, end = x + side * pen.measureText(words).width;
  if (y < TOP + 4 || !labels.take(Math.min(x, end), Math.max(x, end), y)) return;
  pen.textAlign = side < 0 ? "right" : "left";
  pen.fillStyle = S.failed[i] ? colour.lost : colour.ink;
  pen.fillText(words, x, y);
}

/* The step whose sign is nearest to a point; -1: none is near. */
function stepNear(x, y) {
  let best = 10, ret = -1;
  for (const i of stepsInView()) {
    const distance = Math.hypot(x - columnX(S.column[i]) - 9 * stepSide(i), y - yOf(stepPlace(i)));
    if (distance < best) {
      best = distance;
      ret = i;
    }
  }
  return ret;
}

function stepRow(i) {
  const row = document.createElement("tr");
  const cells = [micro(S.time[i]), DATA.columns[S.column[i]], qpName(S.qp[i]), stepText(i), micro(S.took[i]),
    S.queue[i] === NONE ? "" : S.level[i], S.cq[i] === NONE ? "" : S.fill[i]];
  for (const cell of cells) row.appendChild(document.createElement("td")).textContent = cell;
  row.dataset.step = i;
  if (i === S.picked) row.className = "picked";
  return row;
}

/* The table of the steps in view. */
function drawStepRows() {
  const rows = [];
  for (let i = stepAt(view.from), last = stepAt(view.to); i < last && rows.length < STEPS_MAX; i++) if (stepChosen(i)) rows.push(stepRow(i));
  byId("steps").tBodies[0].replaceChildren(...rows);
}

function drawStepDetail(i) {
  const detail = byId("detail");
  detail.replaceChildren();
  detail.appendChild(document.createElement("h3")).textContent = stepText(i);
  pairs(detail, [["time", `${micro(S.time[i])} us`], ["took", `${micro(S.took[i])} us`], ["program", DATA.columns[S.column[i]]],
    ["queue pair", qpName(S.qp[i])], ["receives then posted", S.queue[i] === NONE ? "" : `${S.level[i]}, ${DATA.queues[S.queue[i]].name}`],
    ["completions in the CQ", S.cq[i] === NONE ? "" : `${S.fill[i]}, ${DATA.queues[S.cq[i]].name}`]]);
}
