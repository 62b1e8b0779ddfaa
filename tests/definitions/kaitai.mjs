// Tests docs/definitions/godot_variant.ksy and godot_records.ksy with the engine's vectors.
//
//     node kaitai.mjs path/to/vectors.tsv
//
// Needs the npm packages kaitai-struct-compiler, kaitai-struct (0.10 or later) and js-yaml in the current folder, this
// file's folder or NODE_PATH. Vectors contain no readable values. So the test's own encoder writes each parsed tree in
// the engine's canonical form, and the test compares the bytes with the engine's.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const nodeRequire = createRequire(import.meta.url);
const load = (name) => nodeRequire(nodeRequire.resolve(name, { paths: [process.cwd(), here] }));

// Definitions

const KaitaiStream = load('kaitai-struct/KaitaiStream');
const yaml = load('js-yaml');

async function compile(name) {
  const exported = load('kaitai-struct-compiler');
  const compiler = exported.compile ? exported : new exported(); // 0.10 exports a class
  const read = (id) => yaml.load(readFileSync(join(here, "../../docs/definitions", `${id}.ksy`), 'utf8'));
  const files = await compiler.compile('javascript', read(name), { importYaml: async (id) => read(id) }, false);
  const loaded = { 'kaitai-struct/KaitaiStream': KaitaiStream };
  const run = (id) => {
    if (!loaded[id]) {
      const module = { exports: {} };
      new Function('module', 'exports', 'require', files[`${id.replace('./', '')}.js`])(module, module.exports, run);
      loaded[id] = module.exports;
    }
    return loaded[id];
  };
  const parser = (id) => run(`./${id}`)[id] ?? run(`./${id}`); // 0.10 exports the class itself
  return { GodotVariant: parser('GodotVariant'), GodotRecords: parser('GodotRecords') };
}

// The runtime library loses bits of 64-bit integers and NaNs, and replaces invalid UTF-8. These readers keep
// all bits, and refuse invalid UTF-8.
const wrap = (size, read) => function () {
  this.ensureBytesLeft(size);
  this.pos += size;
  return read(this._dataView, this.pos - size);
};
KaitaiStream.prototype.readS8le = wrap(8, (view, at) => view.getBigInt64(at, true));
KaitaiStream.prototype.readU8le = wrap(8, (view, at) => view.getBigUint64(at, true));
KaitaiStream.prototype.readF4le = wrap(4, (view, at) => (
  { f32: view.getUint32(at, true), number: view.getFloat32(at, true) }));
KaitaiStream.prototype.readF8le = wrap(8, (view, at) => (
  { f64: view.getBigUint64(at, true), number: view.getFloat64(at, true) }));
KaitaiStream.bytesToStr = (bytes) => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

const { GodotVariant, GodotRecords } = await compile('godot_records');
const T = GodotVariant.VariantType;
const K = GodotVariant.ElementKind;

function parse(bytes) {
  const stream = new KaitaiStream(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  return { root: new GodotVariant(stream), end: stream.pos };
}

const refuses = (bytes) => {
  try {
    parse(bytes);
    return false;
  } catch (error) {
    if (/Error$/.test(error.name) && !(error instanceof ReferenceError)) return true;
    throw error;
  }
};

// An encoder of parsed trees, in the engine's canonical form

const u32 = (value) => { const b = Buffer.alloc(4); b.writeUInt32LE(Number(value) >>> 0); return b; };
const u64 = (value) => { const b = Buffer.alloc(8); b.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value))); return b; };
const f64 = (number) => { const b = Buffer.alloc(8); b.writeDoubleLE(number); return b; };
const padded = (bytes) => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
const counted = (bytes) => Buffer.concat([u32(bytes.length), padded(bytes)]);
const text = (node) => counted(Buffer.from(node.value));
const list = (nodes, encode) => Buffer.concat([u32(nodes.length), ...nodes.map(encode)]);

/** A component of a vector, as an engine with single precision writes it. */
function single(bits) {
  if ('f32' in bits) return u32(bits.f32);
  if (Number.isNaN(bits.number)) {
    return u32(Number(bits.f64 >> 32n & 0x80000000n | 0x7fc00000n | bits.f64 >> 29n & 0x3fffffn));
  }
  const b = Buffer.alloc(4);
  b.writeFloatLE(bits.number);
  return b;
}

function float(bits) {
  if (Number.isNaN(bits.number)) {
    const wide = (short) => (short & 0x80000000n) << 32n | 0x7ff8000000000000n | (short & 0x7fffffn) << 29n;
    return [true, u64('f64' in bits ? bits.f64 : wide(BigInt(bits.f32)))];
  }
  const short = Math.fround(bits.number) === bits.number;
  return [!short, short ? single(bits) : f64(bits.number)];
}

const real = (node) => single(node.value);
const parts = (encoders) => (node) =>
  Buffer.concat(Object.entries(encoders).map(([name, encodePart]) => encodePart(node[name])));
const vector2 = parts({ x: real, y: real });
const vector3 = parts({ x: real, y: real, z: real });
const vector4 = parts({ x: real, y: real, z: real, w: real });
const vector2i = parts({ x: u32, y: u32 });
const basis = (node) => Buffer.concat(node.rows.map(vector3));
const color = parts({ r: single, g: single, b: single, a: single });

const CONTENT = {
  [T.NIL_VALUE]: () => Buffer.alloc(0),
  [T.BOOL]: (node) => u32(node.value ? 1 : 0),
  [T.STRING]: text,
  [T.VECTOR2]: vector2,
  [T.VECTOR2I]: vector2i,
  [T.RECT2]: parts({ position: vector2, size: vector2 }),
  [T.RECT2I]: parts({ position: vector2i, size: vector2i }),
  [T.VECTOR3]: vector3,
  [T.VECTOR3I]: parts({ x: u32, y: u32, z: u32 }),
  [T.TRANSFORM2D]: parts({ x: vector2, y: vector2, origin: vector2 }),
  [T.VECTOR4]: vector4,
  [T.VECTOR4I]: parts({ x: u32, y: u32, z: u32, w: u32 }),
  [T.PLANE]: parts({ normal: vector3, d: real }),
  [T.QUATERNION]: vector4,
  [T.AABB]: parts({ position: vector3, size: vector3 }),
  [T.BASIS]: basis,
  [T.TRANSFORM3D]: parts({ basis, origin: vector3 }),
  [T.PROJECTION]: parts({ x: vector4, y: vector4, z: vector4, w: vector4 }),
  [T.COLOR]: color,
  [T.STRING_NAME]: text,
  [T.NODE_PATH]: (node) => Buffer.concat([
    u32(node.names.length + 0x80000000), u32(node.subnames.length), u32(node.isAbsolute ? 1 : 0),
    ...node.names.map(text), ...node.subnames.map(text),
  ]),
  [T.RID]: (node) => u64(node.id),
  [T.CALLABLE]: () => Buffer.alloc(0),
  [T.SIGNAL]: (node) => Buffer.concat([text(node.name), u64(node.instanceId)]),
  [T.PACKED_BYTE_ARRAY]: (node) => counted(Buffer.from(node.elements)),
  [T.PACKED_INT32_ARRAY]: (node) => list(node.elements, u32),
  [T.PACKED_INT64_ARRAY]: (node) => list(node.elements, u64),
  [T.PACKED_FLOAT32_ARRAY]: (node) => list(node.elements, single),
  [T.PACKED_FLOAT64_ARRAY]: (node) => list(node.elements, (bits) => u64(bits.f64)),
  [T.PACKED_STRING_ARRAY]: (node) => list(node.elements, (part) => counted(Buffer.from(`${part.value}\0`))),
  [T.PACKED_VECTOR2_ARRAY]: (node) => list(node.elements, vector2),
  [T.PACKED_VECTOR3_ARRAY]: (node) => list(node.elements, vector3),
  [T.PACKED_COLOR_ARRAY]: (node) => list(node.elements, color),
  [T.PACKED_VECTOR4_ARRAY]: (node) => list(node.elements, vector4),
};

const ENCODED_OBJECT = { kind: K.CLASS_NAME, bytes: counted(Buffer.from('EncodedObjectAsID')) };

/** The kind and the bytes of an element type. Without objects, all object types are `EncodedObjectAsID`. */
function elementType(node, objects) {
  if (!node || node.builtin === T.NIL_VALUE) return { kind: K.NONE, bytes: Buffer.alloc(0) };
  const isObject = node.kind !== K.BUILTIN || node.builtin === T.OBJECT;
  if (isObject && !objects) return ENCODED_OBJECT;
  if (isObject && !node.name?.value) return { kind: K.BUILTIN, bytes: u32(T.OBJECT) };
  return { kind: node.kind, bytes: node.name ? text(node.name) : u32(node.builtin) };
}

/** A text that is the same for all keys that are equal in a Dictionary. */
function keyText({ typeId, content }) {
  if (typeId === T.STRING || typeId === T.STRING_NAME) return JSON.stringify(content.value);
  if (typeId === T.FLOAT) return `float ${content.value.number + 0}`; // -0 + 0 is 0
  if (typeId === T.ARRAY) return `[${content.elements.map(keyText)}]`;
  return encode({ typeId, content }, true).toString('hex');
}

function encode(value, objects) {
  const { typeId, content } = value;
  const whole = (flags, ...bytes) => Buffer.concat([u32(typeId | flags << 16), ...bytes]);
  const nested = (child) => encode(child, objects);
  switch (typeId) {
    case T.INT: {
      const number = BigInt(content.asI64 ?? content.asI32);
      const short = BigInt.asIntN(32, number) === number;
      return short ? whole(0, u32(BigInt.asUintN(32, number))) : whole(1, u64(number));
    }
    case T.FLOAT: {
      const [isWide, bytes] = float(content.value);
      return whole(isWide ? 1 : 0, bytes);
    }
    case T.OBJECT:
      if (content.instanceId) return whole(1, u64(content.instanceId));
      if (!content.hasProperties) return u32(T.NIL_VALUE);
      return whole(0, text(content.className),
        list(content.properties, ({ name, value: inner }) => Buffer.concat([text(name), nested(inner)])));
    case T.ARRAY: {
      const { kind, bytes } = elementType(content.elementType, objects);
      return whole(kind, bytes, list(content.elements, nested));
    }
    case T.DICTIONARY: {
      const key = elementType(content.keyType, objects);
      const element = elementType(content.valueType, objects);
      const entries = new Map(); // equal keys: the first key and the last value count
      for (const entry of content.entries) {
        const same = entries.get(keyText(entry.key));
        entries.set(keyText(entry.key), [same?.[0] ?? nested(entry.key), nested(entry.value)]);
      }
      return whole(key.kind | element.kind << 2, key.bytes, element.bytes,
        list([...entries.values()], (pair) => Buffer.concat(pair)));
    }
    default:
      return whole(0, CONTENT[typeId](content));
  }
}

// Values that the engine changes while it reads them

function children({ typeId, content }) {
  if (typeId === T.ARRAY) return content.elements;
  if (typeId === T.DICTIONARY) return content.entries.flatMap(({ key, value }) => [key, value]);
  return typeId === T.OBJECT ? (content.properties ?? []).map((property) => property.value) : [];
}

const anyInside = (value, test) => test(value) || children(value).some((child) => anyInside(child, test));

function isMisfit(type, { typeId }) {
  if (!type || type.builtin === T.NIL_VALUE) return false;
  const wanted = type.kind === K.BUILTIN ? type.builtin : T.OBJECT;
  return typeId !== wanted && !(wanted === T.OBJECT && typeId === T.NIL_VALUE);
}

const hasMisfits = (root) => anyInside(root, ({ typeId, content }) => {
  if (typeId === T.ARRAY) return content.elements.some((element) => isMisfit(content.elementType, element));
  return typeId === T.DICTIONARY && content.entries.some(({ key, value }) =>
    isMisfit(content.keyType, key) || isMisfit(content.valueType, value));
});

const hasFullObjects = (root) => anyInside(root, ({ typeId, content }) => typeId === T.OBJECT && !content.isId);
const hasScripts = (root) => anyInside(root, ({ content }) =>
  [content?.elementType, content?.keyType, content?.valueType].some((type) => type?.kind === K.SCRIPT));

/** Whether the counts of a NodePath wrap around at 2^32. The engine reads such a path; this definition does not. */
const wraps = (bytes) => bytes[0] === T.NODE_PATH && bytes.length >= 16
  && (bytes.readUInt32LE(4) & 0x7fffffff) + bytes.readUInt32LE(8) >= 0x7fffffff;

// The vectors

const lines = readFileSync(process.argv[2], 'utf8').trimEnd().split('\n');
const header = lines.findIndex((line) => line.includes('input_hex'));
const columns = lines[header].split('\t');
const rows = lines.slice(header + 1)
  .map((line) => Object.fromEntries(line.split('\t').map((cell, index) => [columns[index], cell])))
  .map((row) => ({ ...row, bytes: Buffer.from(row.input_hex, 'hex'), objects: row.mode === 'objects' }))
  .filter(({ engine = '4' }) => engine.startsWith('4'));
assert(rows.length > 300, `only ${rows.length} vectors`);

const tally = {};
const count = (what) => { tally[what] = (tally[what] ?? 0) + 1; };
const masked = (hex) => new RegExp(`^${hex.replaceAll('<ID64>', '[0-9a-f]{16}')}$`);
const canonical = [];

function check({ bytes, objects, result, consumed, reencoded_hex: reencoded }) {
  if (result === 'error') {
    if (refuses(bytes)) return 'refused by both';
    const { root } = parse(bytes);
    assert(hasFullObjects(root.value) || hasScripts(root.value), 'only the engine refuses it');
    return 'refused by the engine only: objects, classes and scripts';
  }
  if (wraps(bytes)) {
    assert(refuses(bytes));
    return 'refused here only: counts of a NodePath that wrap around';
  }
  const { root, end } = parse(bytes);
  assert.equal(root.value.typeId, bytes[0], 'type');
  assert.equal(end, Math.min(Number(consumed), bytes.length), 'end of the value');
  const written = encode(root.value, objects).toString('hex');
  if (masked(reencoded).test(written)) {
    if (written === bytes.toString('hex')) canonical.push(bytes);
    return "written as the engine's bytes";
  }
  const isLive = objects && (hasScripts(root.value) || anyInside(root.value, ({ typeId }) => typeId === T.OBJECT));
  assert(hasMisfits(root.value) || isLive, `written as ${written}, by the engine as ${reencoded}`);
  return 'changed by the engine: elements of typed containers, live objects';
}

const problems = [];
for (const row of rows) {
  try {
    count(check(row));
  } catch (error) {
    problems.push(`${row.label}: ${row.input_hex}: ${error.message}`);
  }
}
for (const [what, n] of Object.entries(tally)) console.log(`${String(n).padStart(5)} ${what}`);
assert.deepEqual(problems, []);
const types = new Set(canonical.map((bytes) => bytes[0]));

assert.equal(types.size, 39, 'types among the vectors');

// Every proper prefix of a value fails, except that the final padding of a PackedByteArray may be missing.
let prefixes = 0;
for (const bytes of canonical) {
  for (let length = 0; length < bytes.length; length++) {
    if (!refuses(bytes.subarray(0, length))) {
      assert(anyInside(parse(bytes).root.value, (v) => v.typeId === T.PACKED_BYTE_ARRAY) && bytes.length - length < 4);
    }
    prefixes++;
  }
}
console.log(`${String(prefixes).padStart(5)} truncated values refused`);

// A file of records

const file = Buffer.concat(canonical.flatMap((bytes) => [u32(bytes.length), bytes]));
const { records } = new GodotRecords(new KaitaiStream(new Uint8Array(file).buffer));
assert.deepEqual(records.map((record) => encode(record.value.value, true)), canonical);
console.log(`${String(records.length).padStart(5)} records`);

// The limit of nesting

const nest = (levels, inner) => Buffer.from('1c00000001000000'.repeat(levels) + inner, 'hex');
parse(nest(1024, '1c00000000000000'));
parse(nest(1024, '00000000'));
assert(refuses(nest(1025, '00000000')));
assert(refuses(nest(1025, '1c00000000000000')));
console.log('      nesting limited as in the engine');

// Readable values, for fields that the encoder above could confuse

const number = (node) => (node.value ?? node).number ?? node.value ?? node;
const named = (node, ...names) => names.map((name) => number(node[name]));
const texts = (nodes) => nodes.map((node) => node.value);
const examples = [
  ['02000100 0000008000000000', (c) => c.asI64, 2147483648n],
  ['03000100 9a9999999999b93f', number, 0.1],
  ['04000000 05000000 6162636465 000000', (c) => c.value, 'abcde'],
  ['22000000 02000000 02000000 61000000 01000000 00000000', (c) => texts(c.elements), ['a', '']],
  ['08000000 0100000002000000 0300000004000000',
    (c) => [named(c.position, 'x', 'y'), named(c.size, 'x', 'y')], [[1, 2], [3, 4]]],
  ['0e000000 0000803f0000004000004040 00008040',
    (c) => [...named(c.normal, 'x', 'y', 'z'), number(c.d)], [1, 2, 3, 4]],
  ['0b000000 0000803f00000040 0000404000008040 0000a0400000c040',
    (c) => [c.x, c.y, c.origin].map((column) => named(column, 'x', 'y')), [[1, 2], [3, 4], [5, 6]]],
  ['11000000 0000803f000080400000e040 000000400000a04000000041 000040400000c04000001041',
    (c) => c.rows.map((row) => number(row.x)), [1, 2, 3]], // the axis x
  ['16000000 02000080 01000000 01000000 04000000 726f6f74 01000000 61000000 01000000 62000000',
    (c) => [c.isAbsolute, texts(c.names), texts(c.subnames)], [true, ['root', 'a'], ['b']]],
  ['1a000000 03000000 666f6f00 8967452301000000', (c) => [c.name.value, c.instanceId], ['foo', 0x123456789n]],
  ['18000100 0500000000000000', (c) => [c.isId, c.instanceId], [true, 5n]],
  ['18000000 06000000 4f626a656374 0000 01000000 06000000 736372697074 0000 00000000',
    (c) => [c.className.value, c.properties[0].name.value], ['Object', 'script']],
  ['1c000200 04000000 4e6f6465 01000000 00000000',
    (c) => [c.kind, c.elementType.name.value, c.elements.length], [K.CLASS_NAME, 'Node', 1]],
  ['1c000300 0a000000 7265733a2f2f612e6764 0000 00000000',
    (c) => [c.kind, c.elementType.name.value], [K.SCRIPT, 'res://a.gd']],
  ['1b000900 04000000 04000000 4e6f6465 01000000 040000000100000061000000 00000000',
    (c) => [c.keyType.builtin, c.valueType.name.value, c.entries[0].key.content.value], [T.STRING, 'Node', 'a']],
  ['26000100 01000000 000000000000f03f 0000000000000040 0000000000000840 0000000000001040',
    (c) => named(c.elements[0], 'x', 'y', 'z', 'w'), [1, 2, 3, 4]],
];
for (const [hex, read, expected] of examples) {
  const { root, end } = parse(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
  assert.deepEqual(read(root.value.content), expected);
  assert.equal(end, hex.replaceAll(' ', '').length / 2);
}
console.log(`${String(examples.length).padStart(5)} readable values`);
