/**
 * Tries to crash the process or to read memory of others through the public API. Each is the body of an asynchronous function in
 * a process of its own kind, whose errors are ignored: what counts is that the process lives, and that `secret` stays secret.
 */
export type Attacks = Readonly<Record<string, string>>

/** The names that attacks use. */
export const prelude = `
import { asScript } from '@tenon/config/as-script'
import { gcAllocator, processAllocator, Segment } from '@tenon/core'
import { MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
import * as ts from '@tenon/tstring'
import { setTimeout } from 'node:timers/promises'
const { StringTensor } = ts
const layouts = ['tf', 'rfc16', 'rfc24', 'legacy', 'tflite']
const long = 'a string that is longer than a struct holds'
const words = ['a', '', long, 'žluť', 'x'.repeat(300)]
const secret = 'SECRET'.repeat(8)
const attempt = (run) => { try { return run() } catch { return undefined } }
/** Reads a tensor in every way. */
function use(tensor) {
  const uses = [
    () => tensor.toArray(), () => tensor.toArray({ slices: true }), () => tensor.toArray({ invalid: 'latin1' }),
    () => tensor.hashes(), () => tensor.indexOf(long), () => tensor.indexOfInvalid(), () => tensor.compareAll('x'),
    () => tensor.compareAll(tensor), () => tensor.toArrowUtf8(), () => tensor.toArrowUtf8({ large: true }),
    () => tensor.toArrowUtf8View(), () => tensor.slice(1), () => tensor.gather([0, 0]), () => String(tensor), () => JSON.stringify(tensor),
    ...layouts.map((layout) => () => tensor.to(layout)), () => tensor.to('tf', { storage: 'malloc' }).close(),
    ...[0, 1, 4].flatMap((i) => [() => tensor.get(i), () => tensor.bytes(i), () => tensor.byteLength(i), () => tensor.type(i),
      () => tensor.equals(i, long), () => tensor.compare(i, 0), () => tensor.hash(i), () => tensor.set(i, long.repeat(3)),
      () => tensor.set(i, ''), () => tensor.append(i, long), () => tensor.reserve(i, 100), () => tensor.assign(i, tensor, 2),
      () => tensor.assignView(i, tensor.segment), () => tensor.move(i, tensor, 2)]),
    () => tensor.compact(),
  ]
  for (const each of uses) {
    const text = attempt(() => JSON.stringify(each()))
    if (text !== undefined && text.includes(secret)) throw new Error('memory of others was read: ' + each)
  }
}
/** Fills memory that was freed before with a secret. */
function reuse() {
  const scope = NativeScope.ofConfined()
  const bytes = Buffer.from(secret.repeat(40))
  for (let i = 0; i < 8; i++) {
    const view = scope.allocate(bytes.length).view()
    bytes.copy(new Uint8Array(view.buffer, view.byteOffset, view.byteLength))
  }
  return scope
}
const getter = (value, run) => Object.defineProperty([value], 0, { get: () => (run(), value) })
const lie = (target, properties) => new Proxy(target, { get: (object, key) => (key in properties ? properties[key] : Reflect.get(object, key)) })
`

export const attacks: Attacks = {
  'reads every layout after its scope is closed and its memory lent again': `
    for (const layout of layouts) for (const storage of ['arena', 'malloc', 'packed']) {
      const scope = NativeScope.ofConfined()
      const tensor = attempt(() => StringTensor.from(words, { layout, storage, allocator: scope }))
      const parts = tensor && [tensor, tensor.slice(1), attempt(() => tensor.gather([0, 2]))]
      scope.close()
      const other = reuse()
      for (const part of parts ?? []) if (part) use(part)
      other.close()
    }`,
  'closes the scope from getters of elements, options, shapes and indices': `
    const closers = [
      (scope, close) => StringTensor.from(getter(long, close), { allocator: scope }),
      (scope, close) => StringTensor.from([...getter('a', () => {}), ...words], { allocator: scope, get shape() { close(); return [6] } }),
      (scope, close) => StringTensor.from(words, { allocator: { allocate: (...sizes) => { const memory = scope.allocate(...sizes); close(); return memory } } }),
      (scope, close) => StringTensor.from(words, { allocator: scope }).gather(getter(0, close)),
      (scope, close) => StringTensor.from(words, { allocator: scope }).get(2, { get invalid() { close(); return 'latin1' } }),
      (scope, close) => StringTensor.from(words, { allocator: scope }).to('tflite', { allocator: { allocate: (...sizes) => (close(), gcAllocator.allocate(...sizes)) } }),
      (scope, close) => ts.tstringCopy(lie(scope.allocate(24), { get base() { close(); return 0 } }), long),
      (scope, close) => StringTensor.ofSegment(scope.allocate(240), { layout: 'tf', shape: getter(10, close) }).toArray(),
      (scope, close) => StringTensor.ofSegment(scope.allocate(240), { get layout() { close(); return 'tf' }, shape: [10], validate: 'trusted' }).toArray(),
      (scope, close) => StringTensor.ofCapacity(4, 64, { allocator: scope, get shape() { close(); return [4] } }).set(0, 'a'),
      (scope, close) => StringTensor.ofArrowUtf8View(new Uint8Array(64), [], { allocator: scope, get validity() { close() } }),
    ]
    for (const run of closers) {
      const scope = NativeScope.ofConfined()
      let other
      const result = attempt(() => run(scope, () => { if (scope.isAlive) { scope.close(); other = reuse() } }))
      if (typeof result === 'string' && result.includes(secret)) throw new Error('memory of others was read')
      if (result instanceof StringTensor) use(result)
    }`,
  'changes the array, the shape and the indices while they are read': `
    for (const layout of layouts) {
      const scope = NativeScope.ofConfined()
      const next = () => scope.allocate(96)
      for (const change of [
        (array) => array.push(long, long, long), (array) => { array.length = 0 }, (array) => array.unshift(long),
        (array) => array.splice(0, 2), (array) => Object.setPrototypeOf(array, null), (array) => Object.freeze(array),
      ]) {
        const array = ['a', 'b', 'c', long]
        Object.defineProperty(array, 1, { configurable: true, get() { next(); attempt(() => change(array)); return 'b' } })
        const tensor = attempt(() => StringTensor.from(array, { layout, allocator: scope }))
        if (tensor) use(tensor)
        const shape = [2, 2]
        Object.defineProperty(shape, 1, { configurable: true, get() { attempt(() => change(shape)); return 2 } })
        attempt(() => use(StringTensor.from(['a', 'b', 'c', long], { layout, shape })))
        const indices = [0, 1, 2]
        Object.defineProperty(indices, 1, { configurable: true, get() { attempt(() => change(indices)); return 1 } })
        attempt(() => use(StringTensor.from(words, { layout }).gather(indices)))
      }
    }
    for (const length of [-1, 2 ** 31, 2 ** 32 - 1, 2 ** 53, NaN, Infinity, '9', null]) {
      attempt(() => StringTensor.from(lie(['a', long], { length })))
      attempt(() => StringTensor.from(['a'], { shape: lie([1], { length }) }))
      attempt(() => StringTensor.from(['a']).gather(lie([0], { length: Math.min(length, 5000) })))
    }
    attempt(() => StringTensor.from(new Array(2 ** 32 - 1)))
    attempt(() => StringTensor.from(new Array(2 ** 32 - 1), { layout: 'tflite' }))`,
  'passes bytes that lie about their size, their offset and their buffer': `
    const bytes = () => new Uint8Array(40).fill(0x41)
    const shared = () => new Uint8Array(new SharedArrayBuffer(40, { maxByteLength: 1 << 20 }))
    const liars = [
      ...[0, 5, 1e9, -1, NaN, 2 ** 53].flatMap((size) => ['length', 'byteLength', 'byteOffset'].map((name) => Object.defineProperty(bytes(), name, { value: size }))),
      Object.defineProperty(bytes(), 'buffer', { value: new ArrayBuffer(1 << 20) }),
      new (class extends Uint8Array { get length() { return 1e9 } get byteLength() { return 1e9 } })(40),
      new Proxy(bytes(), {}), Object.create(Uint8Array.prototype), Object.create(bytes()), shared(),
      new Uint8Array(new ArrayBuffer(40, { maxByteLength: 80 })), (() => { const b = bytes(); b.buffer.transfer(); return b })(),
      { length: 40, byteLength: 40, buffer: new ArrayBuffer(40), byteOffset: 0 },
    ]
    for (const liar of liars) for (const layout of layouts) {
      const scope = NativeScope.ofConfined()
      const before = scope.allocate(64), tensor = attempt(() => StringTensor.from(['a', liar, long], { layout, allocator: scope }))
      const behind = Buffer.from(scope.allocate(256).view().buffer)
      if (tensor) use(tensor)
      const own = StringTensor.from(words, { layout })
      for (const run of [
        () => own.set(0, liar), () => own.equals(0, liar), () => own.compare(0, liar), () => own.indexOf(liar), () => own.compareAll(liar),
        () => ts.tstringCopy(gcAllocator.allocate(24), liar), () => ts.rfcAssign(gcAllocator.allocate(24), 'rfc24', liar),
        () => ts.decodeStruct(liar, { layout: 'tf', abi: 'le64' }), () => ts.decodeVarint(liar),
        () => use(StringTensor.ofSegment(liar, { layout, shape: [1], validate: 'lenient' })),
        () => use(StringTensor.ofArrowUtf8(liar, Int32Array.of(0, 40))),
        () => use(StringTensor.ofArrowUtf8View(liar, [liar])),
        () => own.toArrowUtf8({ validity: liar }),
      ]) attempt(run)
    }`,
  'passes segments that lie, and closes them while they are read': `
    const real = () => StringTensor.from(words, { layout: 'tflite' }).segment
    const fields = [{ byteSize: 1e9 }, { byteSize: -1 }, { base: 1e9 }, { base: -64 }, { base: NaN }, { block: {} }, { flags: -1 }, { readOnly: false, flags: 1 }]
    for (const given of fields) for (const layout of layouts) {
      const liar = lie(real(), given), heir = Object.defineProperties(Object.create(Segment.prototype), Object.getOwnPropertyDescriptors({ ...real(), ...given }))
      for (const segment of [liar, heir, lie(MemorySegment.ofSegment(real()), given)]) for (const run of [
        () => use(StringTensor.ofSegment(segment, { layout, shape: [3], validate: 'lenient', writable: true })),
        () => ts.tstringInit(segment), () => ts.tstringAssignView(gcAllocator.allocate(24), segment),
        () => StringTensor.from(['a', 'b'], { storage: 'malloc' }).assignView(0, segment),
        () => StringTensor.from(words, { layout, allocator: { allocate: () => segment } }),
      ]) attempt(run)
    }
    attempt(() => use(StringTensor.ofSegment(MemorySegment.ofAddress(16), { layout: 'tf', shape: [3], validate: 'trusted' })))
    attempt(() => use(StringTensor.ofSegment(MemorySegment.ofAddress(16), { layout: 'tflite' })))`,
  'passes tensors that are proxies or forged': `
    const tensor = StringTensor.from(words, { storage: 'malloc' })
    for (const forged of [new Proxy(tensor, {}), Object.create(StringTensor.prototype), Object.create(tensor), lie(tensor, { length: 1e9 })]) {
      for (const run of [() => tensor.compareAll(forged), () => tensor.assign(0, forged, 0), () => tensor.move(0, forged, 0), () => use(forged),
        () => StringTensor.prototype.get.call(forged, 0), () => StringTensor.prototype.close.call(forged)]) attempt(run)
    }
    use(tensor)`,
  'transfers the buffers of views away, of every layout and storage': `
    for (const layout of layouts) for (const storage of ['arena', 'malloc', 'packed']) for (const allocator of [gcAllocator, NativeScope.ofConfined()]) {
      const tensor = attempt(() => StringTensor.from(words, { layout, storage, allocator }))
      if (!tensor) continue
      const part = tensor.slice(1)
      for (const i of [0, 2]) attempt(() => tensor.bytes(i).buffer.transfer())
      attempt(() => tensor.segment.view().buffer.transfer(1 << 20))
      use(tensor)
      use(part)
      attempt(() => tensor.close())
      attempt(() => allocator.close())
      use(part)
    }
    const data = Buffer.from(long.repeat(3)), arrow = StringTensor.ofArrowUtf8(new Uint8Array(data), Int32Array.of(0, 40, 80))
    arrow.bytes(0).buffer.transfer()
    use(arrow)`,
  'is entered again by its allocator': `
    for (const layout of ['tf', 'rfc16', 'rfc24']) {
      const scope = NativeScope.ofConfined()
      let depth = 0, tensor
      const actions = [() => tensor.compact(), () => tensor.set(0, 'x'.repeat(5000)), () => use(tensor), () => tensor.slice(0).set(1, long.repeat(9)), () => tensor.close()]
      for (const action of actions) {
        const allocator = { allocate(...sizes) {
          if (tensor && depth < 2) { depth++; attempt(action); depth-- }
          return scope.allocate(...sizes)
        } }
        tensor = undefined
        tensor = StringTensor.from(words, { layout, allocator, storage: 'arena' })
        for (let i = 0; i < 8; i++) {
          attempt(() => tensor.set(i % 5, long.repeat(i)))
          attempt(() => tensor.compact())
          attempt(() => tensor.gather([4, 3, 2]))
        }
        use(tensor)
      }
    }`,
  'uses a closed malloc tensor and its slices, and hands it off twice': `
    for (const layout of ['tf', 'rfc16', 'rfc24']) for (const allocator of [gcAllocator, NativeScope.ofConfined(), ResourceScope.ofImplicit()]) {
      const tensor = attempt(() => StringTensor.from(words, { layout, storage: 'malloc', allocator }))
      if (!tensor) continue
      const part = tensor.slice(2)
      for (const run of [() => part.close(), () => tensor.close(), () => tensor.handOff(), () => tensor.close(), () => tensor[Symbol.dispose]()]) {
        attempt(run)
        use(part)
        use(tensor)
      }
      const kept = StringTensor.from(words, { layout, storage: 'malloc', allocator })
      kept.handOff(); kept.handOff(); attempt(() => kept.close())
      use(kept)
      attempt(() => allocator.close())
      use(kept)
    }`,
  'collects tensors, slices, views and Arrow data in any order': `
    let kept = []
    for (let round = 0; round < 15; round++) {
      for (const layout of layouts) {
        const storage = ['arena', 'malloc', 'packed'][round % 3]
        const tensor = attempt(() => StringTensor.from(words, { layout, storage, allocator: round % 2 ? gcAllocator : ResourceScope.ofImplicit() }))
        if (!tensor) continue
        kept.push(tensor.slice(1), tensor.bytes(2), tensor.toArrowUtf8(), StringTensor.ofArrowUtf8(tensor.toArrowUtf8().data, tensor.toArrowUtf8().offsets), tensor.tensor())
        kept.push(attempt(() => { const other = StringTensor.from(['', ''], { storage: 'malloc' }); other.assign(0, tensor, 2); return other }))
      }
      gc()
      for (const each of kept) if (each instanceof StringTensor) use(each); else if (each instanceof Uint8Array) each.reduce((sum, byte) => sum + byte, 0)
      kept = kept.filter(() => Math.random() < 0.7).slice(-40)
      if (round % 5 === 0) await setTimeout(0)
    }`,
  'asks for sizes, indices and counts at every limit': `
    const numbers = [-1, 0, 0.5, 1, 22, 23, 2 ** 22, 2 ** 30, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53, NaN, Infinity, -0, '1', 1n, null, undefined, {}, Symbol.iterator]
    for (const layout of layouts) {
      const tensor = StringTensor.from(words, { layout })
      for (const n of numbers) for (const run of [
        () => tensor.get(n), () => tensor.bytes(n), () => tensor.set(n, 'a'), () => tensor.indexOf('a', n), () => tensor.indexOfInvalid(n),
        () => tensor.slice(n), () => tensor.slice(0, n), () => tensor.gather([n]), () => tensor.hash(0, n), () => tensor.hashes(n),
        () => tensor.chunks(n).next(), () => StringTensor.ofCapacity(n, 1 << 20), () => StringTensor.ofCapacity(1000, n),
        () => StringTensor.from(words, { layout, shape: [n] }), () => StringTensor.ofSegment(tensor.segment, { layout, shape: [n], validate: 'lenient' }),
        () => StringTensor.ofSegment(tensor.segment, { layout, shape: [5], budget: n, validate: 'trusted', abi: 'be64' }).toArray(),
        () => ts.tstringResize(gcAllocator.allocate(24), n === 2 ** 31 || n === 2 ** 30 || n === 2 ** 31 - 1 || n === 2 ** 32 - 1 || n === 2 ** 32 ? 0 : n), () => ts.tstringReserve(gcAllocator.allocate(24), n),
        () => ts.encodeStruct({ type: 'view', size: n, pointer: n, owner: n }, { layout: 'tf', abi: 'be32' }), () => ts.encodeVarint(n),
        () => tensor.toArrowUtf8({ validity: new Uint8Array(4), validityOffset: n }),
        () => StringTensor.ofArrowUtf8(new Uint8Array(4), new Int32Array(4), { length: n }),
      ]) attempt(run)
    }`,
  'reads images that another thread changes': `
    const { Worker } = await import('node:worker_threads')
    const count = 40, texts = Array.from({ length: count }, (_, i) => i % 3 ? 'a' + i : long + i)
    const images = layouts.map((layout) => {
      const { segment } = StringTensor.from(texts, { layout, storage: 'packed', inline: false })
      const shared = new Uint8Array(new SharedArrayBuffer(segment.byteSize))
      shared.set(new Uint8Array(segment.view().buffer, segment.view().byteOffset, segment.byteSize))
      return { layout, shared, before: shared.slice() }
    })
    const shared32 = new Int32Array(new SharedArrayBuffer(4 * (count + 1))), views = new Uint8Array(new SharedArrayBuffer(16 * count))
    const data = new Uint8Array(new SharedArrayBuffer(1000))
    const racer = new Worker(asScript(\`
      import { workerData } from 'node:worker_threads'
      const values = [0, 1, 2, 3, 13, 24, 100, 1000, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 0xff, 0x00ffffff, 0x5d, 0x3fffffff]
      for (;;) for (const bytes of workerData) {
        const words = new Uint32Array(bytes.buffer, 0, bytes.byteLength >> 2)
        const at = Math.floor(Math.random() * Math.min(words.length, 240)), before = words[at]
        words[at] = values[Math.floor(Math.random() * values.length)]
        for (let i = 0; i < 50; i++);
        words[at] = before
      }\`), { eval: true, workerData: [...images.map(({ shared }) => shared), shared32, views, data] })
    await new Promise((resolve) => racer.once('online', resolve))
    const end = Date.now() + 2500
    let reads = 0
    while (Date.now() < end) for (const { layout, shared } of images) for (const validate of ['strict', 'lenient', 'trusted']) {
      const abi = validate === 'trusted' && !['legacy', 'tflite'].includes(layout) ? 'be64' : 'le64'
      const tensor = attempt(() => StringTensor.ofSegment(shared, { layout, shape: [count], validate, abi, writable: layout.startsWith('rfc') }))
      if (tensor) { use(tensor); reads++ }
      const arrow = attempt(() => StringTensor.ofArrowUtf8(data, shared32))
      if (arrow) use(arrow)
      const viewed = attempt(() => StringTensor.ofArrowUtf8View(views, [data]))
      if (viewed) use(viewed)
      attempt(() => StringTensor.from([data, shared, 'a'], { layout }))
      attempt(() => ts.decodeStruct(shared, { layout: 'tf', abi: 'le64' }))
    }
    await racer.terminate()
    if (reads === 0) throw new Error('no image was read')`,
  'ends workers that use tensors': `
    const { Worker } = await import('node:worker_threads')
    const bodies = [
      'for (;;) use(StringTensor.from(words))',
      'for (;;) StringTensor.from(words, { storage: "malloc" }).append(0, long)',
      'for (;;) StringTensor.from(words, { storage: "malloc" }).close()',
      'const kept = StringTensor.from(words, { storage: "malloc", allocator: NativeScope.ofConfined() }); for (;;) kept.set(1, long)',
      'StringTensor.from(words, { storage: "malloc" }); process.exit()',
      'const kept = StringTensor.from(words, { storage: "malloc" }); process.on("exit", () => { use(kept); kept.close() }); process.exit()',
    ]
    for (let round = 0; round < 4; round++) await Promise.all(bodies.map(async (body) => {
      const worker = new Worker(asScript(prelude + body), { eval: true, execArgv: ['--no-warnings'] })
      worker.on('error', () => {})
      const ended = new Promise((resolve) => worker.once('exit', resolve))
      await new Promise((resolve) => worker.once('online', resolve))
      await setTimeout(Math.random() * 150)
      await worker.terminate()
      await ended
    }))`,
}
