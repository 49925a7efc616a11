import type { Attempts } from './attempt.ts'

/** Kernels as functions, whose arguments run code, change, overlap or end during a call. */
export const kernels: Attempts = {
  'the library of a kernel closes in each argument of its call': [
    `    const m = tensor([[1, 2], [3, 4]]), heap = core.gcAllocator
    for (const give of [(close) => [{ get temperature() { close(); return 1 } }], (close) => [{}, { get into() { close(); return m } }], (close) => [{}, { get layouts() { close(); return { operands: { x: 'cm' } } } }], (close) => [{}, new Proxy({}, { ownKeys: () => (close(), []) })], (close) => [{}, { allocator: { allocate: (size, alignment) => (close(), heap.allocate(size, alignment)) } }]]) {
      const own = Library.open(KERNELS), softmax = own.kernel('softmax'); softmax(m); tally([() => softmax(m, ...give(() => own.close())), () => softmax(m), () => softmax.prepare([m]), () => own.kernel('softmax')])
    }`,
    'TENON_SCOPE_CLOSED 4, TENON_SCOPE_CLOSED 4, TENON_SCOPE_CLOSED 4, TENON_SCOPE_CLOSED 4, TENON_SCOPE_CLOSED 4',
  ],
  'attributes and allocators call the kernel that reads them, with the same frame': [
    `    const softmax = library.kernel('softmax'), m = tensor([[1, 2], [3, 4]]), heap = core.gcAllocator; let depth = 0; softmax(m)
    const inside = { allocate: (size, alignment) => (depth++ < 40 ? softmax(m, {}, { allocator: inside }) : 0, heap.allocate(size, alignment)) }
    attempt(() => softmax(m, {}, { allocator: inside }).at(0, 0) === softmax(m).at(0, 0)); attempt(() => softmax(m, { get temperature() { return softmax(m, { temperature: 2 }), 1 } }).at(0, 0) === softmax(m).at(0, 0)); const endless = () => softmax(m, { get temperature() { return endless() } }); attempt(endless)
    tally([() => softmax(m, {}, { allocator: { allocate: () => { throw new SyntaxError() } } }), () => softmax(m, {}, { allocator: { allocate: () => heap.allocate(1) } }), () => softmax(m)])`,
    'gave true, gave true, RangeError, SyntaxError 1, TENON_BOUNDS 1, gave 1',
  ],
  'attributes with the same bits, the same objects and other values find no stale frame': [
    `    const signature = core.parseSignature('seen', '() -> (); a?: f32, b?: f32[], c?: c64, d?: { e: s32[] = [1] }, f?: dictionary, g?: bytes'), seen = []
    const own = C.FunctionTarget.open('seen', signature, (_, __, attributes) => seen.push(attributes)), kernel = C.targetCall(signature, own.handler, { frames: 64 })
    const text = (value) => JSON.stringify(value, (_, part) => (Object.is(part, -0) ? '-0' : ArrayBuffer.isView(part) ? Array.from(part, (one) => (Object.is(one, -0) ? '-0' : String(one))) : typeof part === 'number' ? String(part) : part))
    const b = new Float32Array([0, 1]), c = [0, 0], d = { e: [1] }, f = { x: f32(1), y: { z: true } }, g = Buffer.from('a'), changes = [() => (b[0] = -0), () => (c[1] = -0), () => d.e.push(2), () => (f.y.z = false), () => (f.x = s32(1)), () => (g[0] = 98)]
    const run = (given) => { kernel(given); const kept = text(seen.at(-1)); const fresh = C.targetCall(signature, own.handler); fresh(given); return kept === text(seen.at(-1)) }
    let equal = 0; for (const change of [() => {}, ...changes]) { change(); for (const given of [{ a: 0 }, { a: -0 }, { a: NaN }, { b }, { b: [0, 1] }, { c }, { c: 0 }, { d }, { f }, { g }, { g: 'a' }, { a: 0, b, c, d, f, g }, { g, f, d, c, b, a: 0 }]) equal += Number(run(given)) } console.log(equal); own.close()`,
    '91',
  ],
  'operands and results of a kernel are transferred, closed, read-only and overlapping': [
    `    const softmax = library.kernel('softmax'), saxpy = library.kernel('saxpy', { signature: '(x: f32[n], y: f32[n]) -> (z: f32[n] @alias(x)); a: f32' }), increment = Library.open(PACKED).kernel('add_one', { signature: '(x: f32[n]) -> (y: f32[n])' }), donate = Library.open(PACKED).kernel('add_one', { signature: '(x: f32[n] @donated) -> (y: f32[n] @alias(x))' })
    const floats = new Float32Array(4), gone = tenon.from(floats, [2, 2]), columns = gone.transpose(), m = tensor([[1, 2], [3, 4]]), v = tensor([1, 2]), w = tensor([3, 4, 5]), scope = arena(), closed = tensor('f32', [2, 2], undefined, { allocator: scope }); softmax(gone); softmax(closed); structuredClone(floats.buffer, { transfer: [floats.buffer] }); scope.close()
    const path = temporary('x'), files = confined(); fs.writeFileSync(path, Buffer.alloc(64)); const fixed = tensor('f32', [2], MemorySegment.mapFile(path, files).asSlice(0, 8)), cm = { layouts: { operands: { x: 'cm' } } }
    tally([() => softmax(gone), () => softmax(m, {}, { into: gone }), () => softmax(columns, {}, cm), () => softmax(gone, {}, cm), () => softmax(closed), () => softmax(closed, {}, cm), () => softmax(m, {}, { into: closed })])
    tally([() => increment(v, { into: fixed }), () => donate(fixed), () => donate(v, { into: tensor([1, 2]) }), () => saxpy(v, fixed, { a: 1 }, { into: fixed }), () => saxpy(v, w.slice([0, 2]), { a: 1 }, { into: w.slice([1, 3]) })]); console.log(fixed.toArray().join(), w.toArray().join())
    attempt(() => saxpy(v, v, { a: 1 }, { into: v }).toArray().join()); attempt(() => donate(v) === v); attempt(() => files.close())`,
    'TENON_SCOPE_CLOSED 7, TENON_ARGUMENT 2, TENON_READ_ONLY 3, 0,0 3,4,5, gave 2,4, gave true, gave undefined',
  ],
  'results that are given in another order, group or number find no frame of others': [
    `    const signature = core.parseSignature('grouped', '(x?: f32[n], ...xs: f32[n]) -> (a?: f32[2], ...b: f32[2])'), own = C.FunctionTarget.open('grouped', signature, (_, results) => results.forEach((one, i) => one.view().fill(i + 1))), kernel = C.targetCall(signature, own.handler), y = () => tensor('f32', [2]), x = tensor([1, 2])
    attempt(() => kernel(x, [], { into: { a: y() } }).a.at(0)); attempt(() => kernel(x, [x], { into: { a: y(), b: [y(), y()] } }).b[1].at(0)); tally([() => kernel(x, [], { into: { b: [y()] } }), () => kernel(x, [], { into: { b: [y(), y(), y()] } }), () => kernel(undefined, [x, x]), () => kernel([x]), () => kernel(x, [undefined]), () => kernel(x, [], { into: { a: y(), __proto__: { b: [y()] } } }), () => kernel(x, [], { into: { ['__proto__']: y() } }), () => kernel(x, Array(70_000).fill(x))]); own.close()`,
    'gave 1, gave 3, TENON_ARGUMENT 7, TENON_XLA 1',
  ],
  'kernels run later while their library, memory and signal end': [
    `    const own = Library.open(KERNELS), softmax = own.kernel('softmax'), packed = Library.open(PACKED), increment = packed.kernel('add_one', { signature: '(x: f32[n]) -> (y: f32[n])' }), scope = arena(), m = tensor('f32', [2, 2], undefined, { allocator: scope }), controller = new AbortController()
    const runs = [...Array.from({ length: 50 }, (_, i) => softmax.async(m, { temperature: i + 1 }, i % 2 ? { layouts: { operands: { x: 'cm' } } } : {})), increment.async(tensor([1])), softmax.async(m, {}, { signal: controller.signal }), softmax.async(m, {}, { get signal() { return AbortSignal.abort(new SyntaxError()) } })]; controller.abort()
    tally([() => own.close(), () => packed.close(), () => scope.close()]); const ends = await Promise.allSettled(runs); console.log(ends.filter(({ status }) => status === 'fulfilled').length >= 51, ends.at(-1).reason.name); await sleep(50); tally([() => scope.close()]); tally([() => own.close(), () => packed.close()])
    await attemptLater(() => softmax.async(m)); await attemptLater(() => increment.async(tensor([1])))`,
    'TENON_SCOPE_HELD 3, true SyntaxError, gave 1, gave 2, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'names, options and signatures of kernels are of every kind': [
    `    const m = tensor([[1, 2]]), softmax = library.kernel('softmax')
    tally(['__proto__', 'constructor', '', 'softmax\\0x', ...numbers].map((name) => () => library.kernel(name))); tally(numbers.map((frames) => () => library.kernel('softmax', { frames }))); tally(numbers.map((signature) => () => library.kernel('softmax', { signature }))); tally(numbers.map((alignment) => () => softmax(m, {}, { alignment }))); tally(numbers.map((into) => () => softmax(m, {}, { into }))); tally(numbers.map((layout) => () => softmax(m, {}, { layouts: { operands: { x: layout }, results: { y: [layout, 0] } } }))); tally(numbers.map((stream) => () => softmax(m, {}, { stream }))); tally(numbers.map((temperature) => () => softmax(m, { temperature }))); tally(numbers.map((options) => () => softmax(m, options, options)))
    tally(['name', 'length', 'signature', 'handler', 'async', 'prepare'].map((key) => () => { softmax[key] = 5 })); attempt(() => new softmax(m)); attempt(() => softmax.call(null, m)); attempt(() => { softmax.signature.results.length = 0; softmax.signature.operands.push(softmax.signature.operands[0]); return softmax(tensor([[1, 2, 3]])) })`,
    'TENON_ARGUMENT 23, TENON_LOAD 3, TENON_ARGUMENT 22, TENON_ARGUMENT 20, TENON_SIGNATURE 2, TENON_ARGUMENT 22, TENON_ARGUMENT 21, gave 1, TENON_ARGUMENT 22, TENON_ARGUMENT 22, TENON_ARGUMENT 10, gave 12, TENON_ARGUMENT 21, gave 1, TypeError 6, TypeError, gave Tensor, gave Tensor',
  ],
  'workers that call kernels are terminated': [
    `    const sources = ['for (;;) k(m)', 'for (;;) { k.async(m).catch(() => {}); await sleep(0) }', 'for (;;) k(m, { get temperature() { return k(m, {}, { layouts: { operands: { x: "cm" } } }), 1 } })', 'for (;;) { const l = Library.open(KERNELS); l.kernel("softmax")(m); l.close() }', 'for (;;) k(m, {}, { allocator: { allocate: (size, alignment) => (k(m), core.gcAllocator.allocate(size, alignment)) } })']
    await Promise.all(sources.map(async (source) => { const worker = started('const k = library.kernel("softmax"), m = tensor([[1, 2], [3, 4]]); parentPort.postMessage(1); ' + source); await message(worker); await sleep(Math.random() * 30); await worker.terminate() })); console.log('terminated')`,
    'terminated',
  ],
}
