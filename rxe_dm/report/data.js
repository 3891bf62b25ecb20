/* The packets as typed arrays, and what a packet's bytes say. Index: a packet's place by time, from 0. */
const FLAG = DATA.flags;
const MARKED = FLAG.LOST | FLAG.RESENT | FLAG.RNR | FLAG.NAK | FLAG.RULE | FLAG.UNSEEN | FLAG.AGAIN;
const NONE = 0xffff;

function bytesOf(base64) {
  const raw = atob(base64), ret = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) ret[i] = raw.charCodeAt(i);
  return ret;
}

function arrayOf(kind, name) {
  return new kind(bytesOf(DATA.arrays[name]).buffer);
}

const P = {
  time: arrayOf(Float64Array, "time"), arrived: arrayOf(Float64Array, "arrived"), opcode: arrayOf(Uint8Array, "opcode"),
  flags: arrayOf(Uint16Array, "flags"), sender: arrayOf(Uint16Array, "sender"), receiver: arrayOf(Uint16Array, "receiver"),
  source: arrayOf(Uint16Array, "source"), target: arrayOf(Uint16Array, "target"), psn: arrayOf(Uint32Array, "psn"),
  bytes: arrayOf(Uint32Array, "bytes"), payload: arrayOf(Uint32Array, "payload"), outstanding: arrayOf(Uint32Array, "outstanding"),
  request: arrayOf(Uint32Array, "request"), note: arrayOf(Uint32Array, "note"), around: arrayOf(Uint32Array, "around"),
  offset: arrayOf(Uint32Array, "offset"), heads: bytesOf(DATA.arrays.heads),
};
/* The last moment of the run, and the longest time of flight that is known. */
let endNs = 1, longestNs = 0;
for (let i = 0; i < DATA.count; i++) {
  endNs = Math.max(endNs, P.time[i], P.arrived[i]);
  if (P.arrived[i] >= 0) longestNs = Math.max(longestNs, P.arrived[i] - P.time[i]);
}

/* The last moment of a packet: steps may follow. */
const packetsEndNs = endNs;

function opcodeName(i) {
  return DATA.opcodes[P.opcode[i]].name;
}

function head(i) {
  return P.heads.subarray(P.offset[i], P.offset[i + 1]);
}

function number(bytes, at, size) {
  let ret = 0n;
  for (let k = 0; k < size; k++) ret = ret << 8n | BigInt(bytes[at + k] ?? 0);
  return ret;
}

function hex(bytes, at, size) {
  return "0x" + number(bytes, at, size).toString(16).padStart(2 * size, "0");
}

/* The fields of each header (IBTA clause 9.2): name, offset, size, and h where people read it in hexadecimal. */
const FIELDS = {
  DETH: [["Q_Key", 0, 4, "h"], ["source QP", 5, 3, "h"]], XRCETH: [["SRQ", 1, 3]],
  FETH: [["flags", 0, 4, "h"]],
  RETH: [["address", 0, 8, "h"], ["rkey", 8, 4, "h"], ["length", 12, 4]],
  AtomicETH: [["address", 0, 8, "h"], ["rkey", 8, 4, "h"], ["swap or add", 12, 8], ["compare", 20, 8]],
  AtomicAckETH: [["original value", 0, 8]], ImmDt: [["immediate", 0, 4, "h"]], IETH: [["invalidated rkey", 0, 4, "h"]],
};
const SIZES = { BTH: 12, DETH: 8, XRCETH: 4, FETH: 4, RETH: 16, AtomicETH: 28, AETH: 4, AtomicAckETH: 8, ImmDt: 4, IETH: 4 };

function bthFields(b) {
  return [["opcode", `0x${b[0].toString(16).padStart(2, "0")}`], ["solicited event", b[1] >> 7], ["MigReq", b[1] >> 6 & 1],
    ["pad", b[1] >> 4 & 3], ["P_Key", hex(b, 2, 2)], ["destination QP", hex(b, 5, 3)], ["asks for an ACK", b[8] >> 7],
    ["PSN", String(number(b, 9, 3))]];
}

function syndromeText(byte) {
  const code = byte & 31;
  switch (byte >> 5 & 3) {
  case 0: return `ACK, credits ${code === 31 ? "without limit" : code}`;
  case 1: return `RNR NAK, timer ${code}`;
  case 3: return `NAK, ${DATA.naks[code] ?? "code " + code}`;
  }
  return `reserved 0x${byte.toString(16)}`;
}

function aethFields(b, at) {
  return [["AETH", syndromeText(b[at])], ["MSN", String(number(b, at + 1, 3))]];
}

/* Pairs of name and text, header by header. */
function headerFields(i) {
  const b = head(i), ret = [];
  let at = 0;
  for (const header of DATA.opcodes[P.opcode[i]].headers) {
    if (at + SIZES[header] > b.length) break;
    if (header === "BTH") ret.push(...bthFields(b));
    else if (header === "AETH") ret.push(...aethFields(b, at));
    else for (const [name, offset, size, how] of FIELDS[header])
      ret.push([`${header} ${name}`, how ? hex(b, at + offset, size) : String(number(b, at + offset, size))]);
    at += SIZES[header];
  }
  return ret;
}

/* "lost, resent", or the words of the NAK. */
function marks(i) {
  const flags = P.flags[i], ret = [];
  if (flags & FLAG.LOST) ret.push("lost");
  if (flags & FLAG.RESENT) ret.push("resent");
  if (flags & (FLAG.RNR | FLAG.NAK)) ret.push(syndromeText(head(i)[12]));
  if (flags & FLAG.AGAIN) ret.push("arrived again");
  if (flags & FLAG.UNSEEN && !(flags & FLAG.LOST)) ret.push("not seen to arrive");
  if (flags & FLAG.RULE && !(flags & FLAG.LOST)) ret.push("by a rule");
  return ret.join(", ");
}

function micro(ns) {
  return (ns / 1000).toFixed(3);
}

function qpName(index) {
  if (index === NONE) return "";
  const qp = DATA.qps[index];
  return `QP 0x${qp.qpn.toString(16).padStart(6, "0")} ${qp.type}`;
}
