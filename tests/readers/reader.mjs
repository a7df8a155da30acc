// Reads the turns of a thread with a Redis client and a msgpack library, from docs/format.md alone.
// Usage: node reader.mjs URL PREFIX, then thread ids on stdin, one JSON string a line; prints one line per thread: a
// JSON list of {"record": ..., "messages": [...]}, or {"refused": why}. `record` is null where the stored turns do not belong to the
// head and the conversation was read from the head's checkpoint.

import { createInterface } from "node:readline";
import { decode } from "@msgpack/msgpack";
import Redis from "ioredis";

const MESSAGE = 1, VALUE = 2, LEAF = 3, CHECKPOINT = 16;
const BATCH = 500;
const SUMMARIES = new Set(["summarization", "summary", "compaction", "compact", "isCompactSummary"]);

class Refused extends Error {}

const unpack = (data) => decode(data, { useBigInt64: true });
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const isBytes = (value) => value instanceof Uint8Array;

function checked(what, envelope) {
  if (Number(envelope.v) !== 1) throw new Refused(`${what} has version ${envelope.v}; this reader reads version 1`);
  return envelope;
}

// encodeURIComponent leaves !'()* alone, RFC 3986 does not.
const percent = (text) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());

class Reader {
  constructor(client, prefix, threadId) {
    this.client = client;
    this.base = `${prefix}:1:{t:${percent(threadId)}}:`;
    this.items = new Map();
  }

  // Section 8, steps 2 to 5.
  async turns() {
    const replies = await this.client
      .multi()
      .hmgetBuffer(this.base + "meta", "g", "k", "th", "tn")
      .zrevrangebylexBuffer(this.base + "index", "(\x01", "[\x00", "LIMIT", 0, 1)
      .hgetallBuffer(this.base + "turns")
      .exec();
    const [[, [generation, key, place, count]], [, heads], [, fields]] = replies;
    if (generation === null) return [];
    if (key !== null) throw new Refused("the thread is sealed");
    if (heads.length === 0) return [];
    if (place === null || !heads[0].equals(place)) {
      return cut(await this.conversation(heads[0])).map((messages) => ({ record: null, messages }));
    }
    const records = [];
    for (let n = 0; n < Number(count ?? 0); n++) records.push(checked(`turn ${n}`, unpack(fields[n])));
    const listed = records.map((record) => this.entries(record, fields));
    await this.fetch(listed.flat().map(([ref]) => ref));
    return records.map((record, n) => ({
      record: { ...record, messages: record.messages.map(([ref, ...rest]) => [hex(ref), ...rest]) },
      messages: listed[n].map(([ref, id]) => this.message(ref, id)),
    }));
  }

  entries(record, fields) {
    const found = [];
    for (let page = 0; page < (record.pages ?? 0); page++) {
      found.push(...checked("page", unpack(fields[`${record.turn}:${page}`])).messages);
    }
    found.push(...record.messages);
    if (found.length !== record.count) throw new Refused(`turn ${record.turn} lacks messages`);
    return found;
  }

  async fetch(refs) {
    const wanted = [...new Map(refs.map((ref) => [hex(ref), Buffer.from(ref)]))].filter(([name]) => !this.items.has(name));
    for (let at = 0; at < wanted.length; at += BATCH) {
      const some = wanted.slice(at, at + BATCH);
      const found = await this.client.hmgetBuffer(this.base + "items", ...some.map(([, ref]) => ref));
      some.forEach(([name], n) => {
        if (found[n] === null) throw new Refused(`item ${name} is missing`);
        this.items.set(name, unpack(found[n]));
      });
    }
  }

  message(ref, id) {
    const [kind, , body] = this.items.get(hex(ref));
    if (kind === VALUE) return { v: 1, role: "other", content: [], id };
    if (kind !== MESSAGE) throw new Refused(`item ${hex(ref)} is of kind ${kind}`);
    return { ...checked("message", Array.isArray(body) ? body[0] : body), id };
  }

  // Section 7: the messages of a checkpoint.
  async conversation(place) {
    const [kind, joined, [, , wires]] = unpack(await this.client.hgetBuffer(this.base + "ckpts", place));
    if (kind !== CHECKPOINT) throw new Refused(`the checkpoint record is of kind ${kind}`);
    const refs = split(joined);
    await this.fetch(refs.slice(0, 1));
    const channels = this.items.get(hex(refs[0]))[2][1];
    const talks = new Map();
    for (const [n, [wire, taken]] of given(wires, refs.slice(1)).entries()) {
      if (!Array.isArray(wire) || wire.length !== 3 || wire[1] !== 0) continue;
      const entries = await this.sequence(wire, taken);
      if (isMessage(entries[0][0])) talks.set(channels[n], entries);
    }
    const entries = talks.get("messages") ?? talks.values().next().value ?? [];
    await this.fetch(entries.map(([, taken]) => taken[0]));
    return entries.map(([wire, taken]) => this.message(taken[0], isBytes(wire) ? uuid(wire) : wire));
  }

  async sequence([size, , loose], refs) {
    const levels = levelsOf(size);
    const entries = [];
    for (const ref of refs.slice(0, levels.length)) entries.push(...(await this.page(ref)));
    entries.push(...given(loose, refs.slice(levels.length)));
    if (entries.length !== size) throw new Refused(`a sequence has ${entries.length} of ${size} entries`);
    return entries;
  }

  async page(ref) {
    await this.fetch([ref]);
    const [kind, joined, body] = this.items.get(hex(ref));
    const refs = split(joined);
    if (kind === LEAF) return given(body, refs);
    await this.fetch(refs);
    const entries = [];
    for (const child of refs) entries.push(...(await this.page(child)));
    return entries;
  }
}

function split(joined) {
  const refs = [];
  for (let at = 0; at < joined.length; at += 16) refs.push(joined.subarray(at, at + 16));
  return refs;
}

function levelsOf(size) {
  const counts = [];
  for (let whole = Math.floor(size / 4); whole > 0; whole = Math.floor(whole / 4)) counts.push(whole);
  const levels = [];
  for (let level = counts.length; level > 0; level--) {
    const named = counts[level - 1] - 4 * (counts[level] ?? 0);
    for (let n = 0; n < named; n++) levels.push(level);
  }
  return levels;
}

function refsOf(wire) {
  if (!Array.isArray(wire)) return 1;
  return wire.length === 3 ? levelsOf(wire[0]).length + wire[2].reduce((sum, loose) => sum + refsOf(loose), 0) : 0;
}

function given(wires, refs) {
  let at = 0;
  return wires.map((wire) => [wire, refs.slice(at, (at += refsOf(wire)))]);
}

const isMessage = (wire) => wire === null || typeof wire === "string" || isBytes(wire);
const uuid = (bytes) => hex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
const isMap = (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !isBytes(value);

// Section 3: where turns begin.
function cut(messages) {
  const turns = [];
  let phase = "";
  for (const message of messages) {
    const told = { ...message.state, ...message.extras };
    const source = (isMap(told.additional_kwargs) ? told.additional_kwargs : told).lc_source;
    const summary = SUMMARIES.has(source) || told.isCompactSummary === true;
    const typed =
      message.role === "user" && message.typed_by_user !== false && typeof source !== "string" && !summary;
    if (turns.length === 0 || (typed && phase !== "asked")) {
      turns.push([]);
      phase = "asked";
    }
    turns.at(-1).push(message);
    if (message.role === "assistant" && !summary) {
      phase = message.content.some((block) => block.type === "tool_call") ? "working" : "answered";
    } else if (message.role === "tool" && phase === "asked" && !summary) {
      phase = "working";
    }
  }
  return turns;
}

// What JSON cannot say: bytes as base64, numbers that are not finite as null; integers beyond 2^53 in full.
function json(value) {
  if (typeof value === "bigint") return value.toString();
  if (isBytes(value)) return JSON.stringify(Buffer.from(value).toString("base64"));
  if (Array.isArray(value)) return `[${value.map(json).join(",")}]`;
  if (isMap(value)) return `{${Object.entries(value).map(([key, part]) => JSON.stringify(key) + ":" + json(part)).join(",")}}`;
  return JSON.stringify(value);
}

async function main(url, prefix) {
  const client = new Redis(url);
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      console.log(json(await new Reader(client, prefix, JSON.parse(line)).turns()));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      console.log(JSON.stringify({ refused: error.message }));
    }
  }
  client.disconnect();
}

await main(...process.argv.slice(2));
