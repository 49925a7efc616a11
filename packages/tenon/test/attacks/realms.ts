import type { Attempts } from './attempt.ts'

/** Objects of other contexts, patched built-in methods, and buffers that are transferred, resized or shared. */
export const realms: Attempts = {
  'patched methods of arrays and buffers': [
    `    const patches = [[Array.prototype, Symbol.iterator, function* () { yield 1e9 }], [Array.prototype, 'map', () => []], [Array.prototype, 'push', () => 0], [Buffer.prototype, 'utf8Write', () => 2 ** 31], [Buffer.prototype, 'latin1Write', () => -5], [Uint8Array.prototype, 'set', () => {}], [Uint8Array.prototype, 'subarray', () => new Uint8Array(0)], [Object.getPrototypeOf(Uint8Array), Symbol.species, class extends Uint8Array { constructor() { super(0) } }], [String.prototype, 'charCodeAt', () => 65], [Number.prototype, 'valueOf', () => 2 ** 40], [Map.prototype, Symbol.iterator, function* () { yield 1 }], [BigInt, 'asIntN', () => 2n ** 70n], [Math, 'min', () => 2 ** 40], [Number, 'isSafeInteger', () => true], [Number, 'isInteger', () => true], [Object, 'keys', () => ['x']], [Reflect, 'apply', () => 0], [Function.prototype, 'call', () => 0], [TextEncoder.prototype, 'encodeInto', () => ({ read: 1e9, written: 1e9 })], [ArrayBuffer, 'isView', () => true]]
    const uses = [() => echo([1, long, new Uint8Array(70)]), () => add([make(), make()], { results: [type] }), () => StringTensor.from(['a', long]).toArray(), () => { const s = arena(); strlen(S.toCString(long, s)); s.close() }, () => tenon.decodeNpy(tenon.encodeNpy(make())), () => tensor('f32', [2], [1, 2]).toArray(), () => call((x) => x, long), () => MemorySegment.allocateNative(64).setString(0, long)]
    for (const [of, key, value] of patches) { const before = Object.getOwnPropertyDescriptor(of, key); for (const use of uses) { Object.defineProperty(of, key, { value, configurable: true, writable: true }); try { use() } catch {} finally { if (before) Object.defineProperty(of, key, before); else delete of[key] } } works() }
    console.log('patched', patches.length)`,
    'patched 20',
  ],
  'promises and symbols of built-in classes are patched during asynchronous calls': [
    `    const before = Promise.prototype.then, f = packedFunc(async () => { await null; return 1 }, { async: true })
    Promise.prototype.then = function (...args) { gc(); return before.apply(this, args) }
    try { await attemptLater(() => call.async(f)) } finally { Promise.prototype.then = before }
    Object.defineProperty(Object.prototype, 'then', { configurable: true, get() { return undefined } }); try { await attemptLater(() => echo.async([1])) } finally { delete Object.prototype.then }`,
    'gave 1, gave NativeArray',
  ],
  'properties that objects inherit from Object.prototype': [
    `    for (const key of ['layout', 'allocator', 'get', 'set', 'length', 'relay', 'results', 'block', 'value', 'byteSize', 'variadic', 'scope']) { Object.defineProperty(Object.prototype, key, { configurable: true, get() { return undefined }, set() {} }); try { try { StringTensor.from(['a', long]).toArray(); add([make(), make()], { results: [type] }); echo([1]); call(() => 1) } catch {} } finally { delete Object.prototype[key] } works() }
    console.log('inherited')`,
    'inherited',
  ],
  'values of another context': [
    `    const other = vm.createContext({}), from = (text) => vm.runInContext(text, other)
    attempt(() => echo(from('[1, "a", new Uint8Array(80)]')).size); attempt(() => echo(from('new Map([[1, 2]])')).size); attempt(() => call(from('(x) => x'), 4)); attempt(() => StringTensor.from(from('["a", "b"]')).get(1)); attempt(() => tensor('f32', from('[2]'), from('new Float32Array(2)')).toArray().length); attempt(() => MemorySegment.ofBuffer(from('new Float64Array(4)')).byteSize); attempt(() => MemorySegment.ofBuffer(from('new SharedArrayBuffer(8)')).byteSize); attempt(() => echo(from('({ type: 1, id: 0 })'))); attempt(() => call(() => { throw from('new RangeError("x")') })); attempt(() => tenon.decodeNpyHeader(from('new Uint8Array(4)')))`,
    'gave 3, TENON_PACKED_FUNC, gave 4, gave b, gave 2, gave 32, gave 8, gave DeviceValue, RangeError, TENON_ARGUMENT',
  ],
  'functions of a context that is gone': [
    `    let f = vm.runInContext('(x) => { let a = []; for (let i = 0; i < 100; i++) a.push({ i }); return a.length + x }', vm.createContext({}))
    const stub = packedFunc(f); f = undefined; await collect(); attempt(() => stub(1)); attempt(() => call(stub, 2)); stub.close()`,
    'gave 101, gave 102',
  ],
  'a context that times out in a callback': [
    `    const run = vm.createContext({ call, sum, add: () => call(() => { for (;;); }) })
    for (const code of ['call(() => { for (;;); })', 'for (;;) sum(1, 2)', 'add()']) attempt(() => vm.runInContext(code, run, { timeout: 20 }))`,
    'ERR_SCRIPT_EXECUTION_TIMEOUT, ERR_SCRIPT_EXECUTION_TIMEOUT, ERR_SCRIPT_EXECUTION_TIMEOUT',
  ],
  'a context that times out in a comparison of qsort': [
    `    const scope = arena(), array = scope.allocate(800, 8), stub = linker.upcallStub(() => { for (;;); }, comparison, confined()); qsort; const run = vm.createContext({ go: () => qsort(array, 100, 8, stub) })
    attempt(() => vm.runInContext('go()', run, { timeout: 500 })); attempt(() => scope.close())`,
    'ERR_SCRIPT_EXECUTION_TIMEOUT, TENON_SCOPE_HELD',
  ],
  'a context that times out in a target of a custom call': [
    `    const t = target(() => { for (;;); }), run = vm.createContext({ go: () => runTarget(t) }); attempt(() => vm.runInContext('go()', run, { timeout: 500 })); attempt(() => t.close())`,
    'ERR_SCRIPT_EXECUTION_TIMEOUT, TENON_SCOPE_HELD',
  ],
  'buffers are transferred between check and use of every package': [
    `    const bytes = () => new Uint8Array(4096), away = (of) => of.buffer.transfer(0)
    for (const use of [(b) => echo(b, getter([0], 0, () => (away(b), 1))), (b) => StringTensor.from([b, getter([0], 0, () => away(b))]), (b) => StringTensor.from(getter([b, 'a'], 1, () => (away(b), 'a'))), (b) => tenon.encodeNpy(tensor('u8', getter([4096], 0, () => (away(b), 4096)), b)), (b) => echo(getter([b, 0], 1, () => (away(b), 1))), (b) => MemorySegment.ofBuffer(b).fill({ valueOf: () => (away(b), 1) }), (b) => { const s = MemorySegment.ofBuffer(b); away(b); strlen(s) }, (b) => memset.async(MemorySegment.ofBuffer(b), 1, 4096).then(() => away(b))]) attempt(() => use(bytes()))`,
    'TENON_PACKED_FUNC, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, gave NativeArray, TENON_ARGUMENT, TENON_SCOPE_CLOSED, gave Promise',
  ],
  'resizable buffers shrink and grow between check and use': [
    `    const bytes = () => new Uint8Array(new ArrayBuffer(4096, { maxByteLength: 1 << 20 }))
    for (const size of [0, 8, 1 << 20]) tally([(b, go) => echo(getter([b, 0], 1, go)), (b, go) => StringTensor.from(getter([b, 'a'], 1, go)), (b, go) => tensor('u8', getter([4096], 0, go), b), (b) => MemorySegment.ofBuffer(b), (b, go) => binary.readBinary((go(), b)), (b, go) => tenon.decodeNpy((go(), b)), (b) => StringTensor.ofSegment(b, { layout: 'tflite' }), (b) => StringTensor.ofArrowUtf8(b, new Int32Array(2))].map((use) => () => { const b = bytes(); use(b, () => (b.buffer.resize(size), 4096)) }))`,
    'ENOENT 1, TENON_ARGUMENT 5, TENON_NPY_FORMAT 1, gave 1, ERR_INVALID_ARG_VALUE 1, TENON_ARGUMENT 5, TENON_NPY_FORMAT 1, gave 1, ERR_INVALID_ARG_VALUE 1, TENON_ARGUMENT 5, TENON_NPY_FORMAT 1, gave 1',
  ],
  'shared buffers that grow are memory': [
    `    const shared = new SharedArrayBuffer(64, { maxByteLength: 4096 }), bytes = new Uint8Array(shared)
    tally([() => MemorySegment.ofBuffer(shared), () => echo(bytes), () => { shared.grow(4096); return echo(bytes) }, () => StringTensor.ofSegment(bytes, { layout: 'tflite' }), () => tensor('u8', [64], bytes), () => binary.readBinary(bytes), () => tenon.decodeNpy(bytes)])`,
    'ERR_INVALID_ARG_VALUE 1, TENON_ARGUMENT 3, TENON_NPY_FORMAT 1, gave 2',
  ],
  'every typed array lies about its length, offset and buffer': [
    `    for (const T of [Uint8Array, Int32Array, Float32Array, BigInt64Array]) for (const given of [{ length: 1e9 }, { byteLength: 1e9 }, { byteOffset: -8 }, { buffer: new ArrayBuffer(1) }, { byteOffset: 2 ** 53 }]) tally([(b) => echo(b), (b) => MemorySegment.ofBuffer(b), (b) => tensor('f32', [4], b), (b) => tensor('u8', [1e6], b), (b) => StringTensor.from([b]), (b) => StringTensor.ofSegment(b, { layout: 'tflite' }), (b) => StringTensor.ofArrowUtf8(new Uint8Array(8), b), (b) => binary.readBinary(b), (b) => tenon.decodeNpy(b), (b) => tenon.array('f32', b), (b) => tenon.str(b)].map((use) => () => use(Object.defineProperties(new T(4), Object.fromEntries(Object.entries(given).map(([k, value]) => [k, { value }]))))))`,
    'ERR_INVALID_ARG_VALUE 1, TENON_ARGUMENT 4, TENON_MALFORMED_TENSOR 1, TENON_NPY_FORMAT 1, gave 4, ERR_BUFFER_OUT_OF_BOUNDS 1, ERR_INVALID_ARG_VALUE 1, TENON_ARGUMENT 4, TENON_MALFORMED_TENSOR 1, gave 4, ERR_INVALID_ARG_VALUE 1, RangeError 1, TENON_ARGUMENT 4, TENON_MALFORMED_TENSOR 1, gave 4, ERR_BUFFER_OUT_OF_BOUNDS 1, ERR_INVALID_ARG_VALUE 1, TENON_ARGUMENT 4, TENON_MALFORMED_TENSOR 1, gave 4, ERR_BUFFER_OUT_OF_BOUNDS 1, ERR_INVALID_ARG_VALUE 1, TENON_ARGUMENT 4, TENON_MALFORMED_TENSOR 1, gave 4, ERR_INVALID_ARG_TYPE 1, TENON_ARGUMENT 7, gave 3, ERR_INVALID_ARG_TYPE 1, TENON_ARGUMENT 7, gave 3, ERR_INVALID_ARG_TYPE 1, TENON_ARGUMENT 7, gave 3, ERR_INVALID_ARG_TYPE 1, TENON_ARGUMENT 7, gave 3, ERR_INVALID_ARG_TYPE 1, TENON_ARGUMENT 7, gave 3, ERR_INVALID_ARG_TYPE 1, TENON_ARGUMENT 6, gave 4, ERR_INVALID_ARG_TYPE 1, RangeError 1, TENON_ARGUMENT 6, gave 3, ERR_INVALID_ARG_TYPE 1, RangeError 1, TENON_ARGUMENT 6, gave 3, ERR_INVALID_ARG_TYPE 1, RangeError 1, TENON_ARGUMENT 6, gave 3, ERR_INVALID_ARG_TYPE 1, RangeError 1, TENON_ARGUMENT 6, gave 3, ERR_INVALID_ARG_TYPE 1, TENON_ARGUMENT 7, gave 3, ERR_INVALID_ARG_TYPE 1, TENON_ARGUMENT 7, gave 3, ERR_INVALID_ARG_TYPE 1, TENON_ARGUMENT 7, gave 3, ERR_INVALID_ARG_TYPE 1, TENON_ARGUMENT 7, gave 3, ERR_INVALID_ARG_TYPE 1, TENON_ARGUMENT 7, gave 3',
  ],
}
