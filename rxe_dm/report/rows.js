/* Many packets: what each row of pixels holds, found without a look at every packet. Packets of one kind between two columns are a class;
 * each block of packets has the set of its classes. And labels that do not overlap. */
const BLOCK_BITS = 4, CLASSES_MAX = 31, LABEL_HEIGHT = 12;

const dense = { classes: [], ofPacket: new Uint8Array(0), sets: new Uint32Array(0), usable: false };

/* Once: the class of each packet. */
function classify() {
  const numbers = new Map(), columns = DATA.columns.length;
  dense.ofPacket = new Uint8Array(DATA.count);
  for (let i = 0; i < DATA.count; i++) {
    const kind = kindOf(i), key = (kind * columns + P.sender[i]) * columns + P.receiver[i];
    let number = numbers.get(key);
    if (number === undefined) {
      number = Math.min(numbers.size, CLASSES_MAX);
      numbers.set(key, number);
      if (number < CLASSES_MAX) dense.classes.push({ kind, sender: P.sender[i], receiver: P.receiver[i] });
    }
    dense.ofPacket[i] = number;
  }
  dense.usable = numbers.size <= CLASSES_MAX;
  dense.classes.forEach((one, number) => { one.number = number; });
}

/* After choose(): the set of classes of each block of the list. */
function joinBlocks(list) {
  dense.sets = new Uint32Array((list.length >> BLOCK_BITS) + 1);
  for (let rank = 0; rank < list.length; rank++) dense.sets[rank >> BLOCK_BITS] |= 1 << dense.ofPacket[list[rank]];
}

/* The classes of ranks from first to before last. Long ranges are rounded to blocks. */
function setOf(list, first, last) {
  let ret = 0;
  if (last - first < 4 << BLOCK_BITS) {
    for (let rank = first; rank < last; rank++) ret |= 1 << dense.ofPacket[list[rank]];
    return ret;
  }
  for (let block = first >> BLOCK_BITS; block < last >> BLOCK_BITS; block++) ret |= dense.sets[block];
  return ret;
}

/* The part of the way from the sender that a band covers: requests and answers leave both sides visible, and each has a length of its own. */
const BAND = { request: 0.62, response: 0.56, resent: 0.74, nak: 0.86, lost: 0.45 };

/* Bands of consecutive rows in which a class occurs. */
function drawBands(sets) {
  for (const one of [...dense.classes].sort((a, b) => a.kind - b.kind)) {
    const name = KINDS[one.kind], x0 = columnX(one.sender), x1 = one.sender === one.receiver ? x0 + 60 : columnX(one.receiver);
    pen.fillStyle = colour[name];
    pen.globalAlpha = one.kind < 2 ? 0.45 : 1;
    for (let row = 0; row < sets.length; row++) {
      if (!(sets[row] >>> one.number & 1)) continue;
      const start = row;
      while (row + 1 < sets.length && sets[row + 1] >>> one.number & 1) row++;
      pen.fillRect(x0, TOP + start, (x1 - x0) * BAND[name], row + 1 - start);
    }
  }
  pen.globalAlpha = 1;
}

/* One set for each row of pixels in view. */
function setsOfRows() {
  const rows = Math.floor(height - TOP - 6), sets = new Uint32Array(rows), step = (view.to - view.from) / rows;
  let first = rankAt(view.from);
  for (let row = 0; row < rows; row++) {
    const last = rankAt(view.from + (row + 1) * step);
    sets[row] = setOf(view.list, first, last);
    first = last;
  }
  return sets;
}

/* What labels have taken, by lines of text. */
class Labels {
  constructor() {
    this.lines = new Map();
  }

  /* True: nothing stands there, from left to right, a line high; now this label does. */
  take(left, right, y) {
    const line = Math.floor(y / LABEL_HEIGHT);
    for (const near of [line - 1, line, line + 1])
      for (const one of this.lines.get(near) ?? [])
        if (Math.abs(one.y - y) < LABEL_HEIGHT && one.left < right && left < one.right) return false;
    if (!this.lines.has(line)) this.lines.set(line, []);
    this.lines.get(line).push({ left, right, y });
    return true;
  }
}
