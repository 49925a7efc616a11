import type { Attempts } from './attempt.ts'

/** Arguments whose conversion runs code: getters, proxies, iterators and conversions to primitives. */
export const getters: Attempts = {
  'attributes close the library, the scope and the call while they are read': [
    `    const own = core.NativeLibrary.open(KERNELS), scope = arena(), x = make(1, scope), handler = C.typedHandler(own, 'saxpy')
    const attrs = { get a() { for (const each of [own, scope]) attempt(() => each.close()); return f32(2) } }
    attempt(() => handler.prepare({ operands: [x, x], results: [x], attrs }).run([make(), make()], [make()])); attempt(() => C.customCall(own, 'saxpy')([x, x], { results: [x], attrs }))`,
    'gave undefined, gave undefined, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'attributes transfer the buffer of an operand': [
    `    const x = make(), y = make(), attrs = { get a() { try { x.view().buffer.transfer() } catch {} gc(); return f32(2) } }
    attempt(() => library.customCall('saxpy')([x, y], { results: [type], attrs }).toArray()[7])`,
    'TENON_SCOPE_CLOSED',
  ],
  'attributes start the same call again': [
    `    let depth = 0; const f = library.customCall('saxpy'), x = make()
    const run = () => f([x, x], { results: [type], attrs: { get a() { if (depth++ < 50) run(); return f32(1) } } }); attempt(() => run().toArray()[3])`,
    'gave 2',
  ],
  'attributes start the same call again without end': [
    `    const f = library.customCall('saxpy'), x = make(), run = () => f([x, x], { results: [type], attrs: { get a() { return run() } } }); attempt(run)`,
    'RangeError',
  ],
  'options of every function are proxies that throw, lie or change': [
    `    const lies = [new Proxy({}, { get() { throw new SyntaxError('get') } }), new Proxy({}, { ownKeys() { throw new SyntaxError('keys') } }), new Proxy({}, { ownKeys: () => ['a', Symbol.iterator], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: {} }) }), new Proxy({}, { get: (of, key) => (typeof key === 'string' ? 2 ** 40 : undefined), has: () => true }), Object.freeze({ __proto__: null, x: 1 }), { [Symbol('s')]: 1 }]
    const uses = [(o) => tensor('f32', [2], o), (o) => tensor('f32', [2], [1, 2], o), (o) => add([make(), make()], o), (o) => add.prepare(o), (o) => library.hostCall('increment', o), (o) => StringTensor.from(['a'], o), (o) => StringTensor.ofSegment(core.gcAllocator.allocate(24), o), (o) => packedFunc(() => 1, o), (o) => P.Module.open(PACKED, o).close(), (o) => pools.createPool(64, o).close(), (o) => NativeScope.ofConfined(o).close(), (o) => ResourceScope.ofShared(o).close(), (o) => linker.upcallStub(() => 1, o, confined()), (o) => linker.Linker.downcall(libc.get('abs'), o), (o) => C.batch([o]), (o) => C.FunctionTarget.open('x', o, () => {}), (o) => sum.with(o).async(1).catch(() => {}), (o) => pools.localDriver(o)]
    for (const lie of lies) tally(uses.map((use) => () => use(lie)))`,
    'SyntaxError 17, TENON_ARGUMENT 1, SyntaxError 14, TENON_ARGUMENT 3, TENON_LOAD 1, TENON_ARGUMENT 17, TENON_LOAD 1, TENON_ARGUMENT 17, TENON_LOAD 1, TENON_ARGUMENT 17, TENON_LOAD 1, TENON_ARGUMENT 5, TENON_LOAD 1, gave 12',
  ],
  'null-prototype and frozen options are options': [
    `    const with0 = (o) => Object.freeze(Object.assign(Object.create(null), o))
    attempt(() => add([make(1), make(2)], with0({ results: Object.freeze([type]) })).toArray()[9]); attempt(() => StringTensor.from(Object.freeze(['a', long]), with0({ layout: 'tflite' })).get(1)); attempt(() => packedFunc(() => 4, with0({ relay: true }))())`,
    'gave 3, gave a string that is longer than a struct ho, gave 4',
  ],
  'proxies stand for every object': [
    `    const real = [make(), core.NativeLibrary.open(KERNELS), add, type, echo([1]), P.Module.open(PACKED).get('sum'), P.Module.open(PACKED), StringTensor.from(['a']), arena(), pools.createPool(64), f32(1), core.gcAllocator, S.MemoryLayout.int32, MemorySegment.allocateNative(8)]
    const uses = [(o) => echo(o), (o) => add([o, o], { results: [type] }), (o) => add([make(), make()], { results: [o] }), (o) => C.typedHandler(o, 'saxpy'), (o) => StringTensor.from([o], { allocator: o }), (o) => tensor('f32', [2], { allocator: o }), (o) => strlen(o), (o) => S.toCString('a', o), (o) => MemorySegment.ofSegment(o), (o) => P.toDLPack(o), (o) => tenon.encodeNpy(o), (o) => linker.upcallStub(o, comparison, o), (o) => pools.buildModel(o), (o) => o.close?.(), (o) => String(o), (o) => o.toArray?.()]
    for (const o of real) tally(uses.map((use) => () => use(new Proxy(o, {}))))`,
    'TENON_ARGUMENT 12, TypeError 1, gave 3, TENON_ARGUMENT 11, TENON_PACKED_FUNC 1, TypeError 1, gave 3, TENON_ARGUMENT 12, gave 4, TENON_ARGUMENT 11, TENON_PACKED_FUNC 1, gave 4, TENON_ARGUMENT 12, TENON_SCOPE_CLOSED 3, gave 1, TENON_ALLOCATION 1, TENON_ARGUMENT 10, TENON_PACKED_FUNC 1, TENON_SCOPE_CLOSED 2, gave 2, TENON_ARGUMENT 12, TENON_SCOPE_CLOSED 2, TypeError 1, gave 1, TENON_ARGUMENT 12, TENON_PACKED_FUNC 1, TypeError 3, TENON_ARGUMENT 11, TENON_PACKED_FUNC 1, gave 4, TENON_ARGUMENT 12, TENON_PACKED_FUNC 1, TypeError 2, gave 1, TENON_ARGUMENT 12, TENON_PACKED_FUNC 1, TypeError 1, gave 2, TENON_ARGUMENT 11, TENON_PACKED_FUNC 1, gave 4, TENON_ARGUMENT 12, TENON_PACKED_FUNC 1, gave 3, TENON_ARGUMENT 11, TENON_PACKED_FUNC 1, gave 4',
  ],
  'objects inherit from every object': [
    `    const real = [make(), core.NativeLibrary.open(KERNELS), type, echo([1]), P.Module.open(PACKED).get('sum'), P.Module.open(PACKED), StringTensor.from(['a']), arena(), pools.createPool(64), MemorySegment.allocateNative(8)]
    const uses = [(o) => echo(o), (o) => add([o, o], { results: [type] }), (o) => C.typedHandler(o, 'saxpy'), (o) => StringTensor.from([long], { allocator: o }), (o) => strlen(o), (o) => P.toDLPack(o), (o) => o.close?.(), (o) => o.get?.(0), (o) => o.view?.()]
    for (const o of real) tally(uses.map((use) => () => use(Object.create(o))))`,
    'TENON_ARGUMENT 5, TypeError 1, gave 3, TENON_ARGUMENT 4, TENON_PACKED_FUNC 1, TypeError 1, gave 3, TENON_ARGUMENT 5, TENON_PACKED_FUNC 1, gave 3, TENON_ARGUMENT 5, TENON_SCOPE_CLOSED 3, gave 1, TENON_ARGUMENT 5, TENON_SCOPE_CLOSED 2, gave 2, TENON_ARGUMENT 5, TENON_SCOPE_CLOSED 2, TypeError 1, gave 1, TENON_ARGUMENT 5, TENON_PACKED_FUNC 1, TypeError 1, gave 2, TENON_ARGUMENT 4, TENON_PACKED_FUNC 1, gave 4, TENON_ARGUMENT 5, TENON_PACKED_FUNC 1, TypeError 2, gave 1, TENON_ARGUMENT 3, TENON_XLA 1, gave 5',
  ],
  'prototypes are called on others': [
    `    const classes = [core.Tensor, core.NativeLibrary, P.PackedFunc, P.NativeArray, P.Module, StringTensor, pools.Pool, pools.PoolSlice, MemorySegment, C.PreparedCall, C.Batch, C.FunctionTarget, Library, core.Segment, core.Hold, C.Attribute, core.TensorType]
    const receivers = [undefined, null, 1, {}, make(), echo([1]), StringTensor.from(['a']), MemorySegment.allocateNative(8), function () {}, new Proxy({}, {})]
    let count = 0
    for (const { prototype } of classes) for (const key of Reflect.ownKeys(prototype)) { const { value, get, set } = Object.getOwnPropertyDescriptor(prototype, key); for (const f of [value, get, set]) if (typeof f === 'function' && key !== 'constructor') for (const receiver of receivers) { try { Reflect.apply(f, receiver, [0, 0, 0])?.catch?.(() => {}) } catch {} count++ } }
    console.log(count > 1000)`,
    'true',
  ],
  'constructors are called with anything': [
    `    for (const module of [tenon, core, S, linker, C, P, ts, pools, binary]) for (const f of Object.values(module)) if (typeof f === 'function' && f.prototype && !/Error$/.test(f.name)) for (const args of [[], [{}, {}, {}], [null, null], ['x', 'y'], [new Proxy({}, {}), () => 1]]) { try { const made = Reflect.construct(f, args); String(made); made.close?.() } catch {} }
    console.log('constructed')`,
    'constructed',
  ],
  'shapes, dimensions and axes change while they are read': [
    `    for (const change of [(a) => a.push(1), (a) => { a.length = 0 }, (a) => Object.setPrototypeOf(a, null)]) {
      const shape = [2, 2]; Object.defineProperty(shape, 1, { configurable: true, get() { try { change(shape) } catch {} return 512 } })
      for (const use of [() => tensor('f32', shape).toArray().length, () => f32(shape).shape.length, () => add([tensor('f32', shape), make()], { results: [type] }), () => StringTensor.from(['a', 'b'], { shape }), () => P.shape(shape).toArray().length]) attempt(use)
    }`,
    'gave 1024, gave 3, TENON_XLA, TENON_ARGUMENT, gave 7, gave 1024, gave 0, TENON_XLA, TENON_ARGUMENT, gave 0, gave 1024, gave 2, TENON_XLA, TENON_ARGUMENT, TypeError',
  ],
  'values of a tensor change while they are copied': [
    `    for (const change of [(a) => a.push(1), (a) => { a.length = 0 }]) { const values = Array(1024).fill(1); Object.defineProperty(values, 5, { configurable: true, get() { change(values); return 9 } }); attempt(() => tensor('f32', [1024], values).toArray()[5]) }
    attempt(() => tensor('f32', [1024], { length: 1024, [Symbol.iterator]: function* () { for (;;) yield 1 } }))`,
    'gave 9, TENON_ARGUMENT, TENON_ARGUMENT',
  ],
  'allocators close scopes, return the same memory, and return what is too small, foreign or closed': [
    `    const scope = arena(), dead = arena(), gone = dead.allocate(8192); dead.close()
    const answers = [() => scope.allocate(8), () => gone, () => null, () => ({ address: 64, byteSize: 1e9 }), () => new Uint8Array(1 << 16), () => MemorySegment.ofAddress(4096n), () => { throw new SyntaxError('no') }, () => scope.allocate(1 << 16).asReadOnly(), (size) => { const own = arena(), memory = own.allocate(size, 64); own.close(); return memory }]
    const uses = [(allocator) => make(1, allocator), (allocator) => add([make(), make()], { results: [type], allocator }), (allocator) => StringTensor.from(['a', long], { allocator }), (allocator) => S.toCString(long, allocator), (allocator) => tenon.decodeNpy(tenon.encodeNpy(make()), allocator)]
    for (const allocate of answers) tally(uses.map((use) => () => use({ allocate })))`,
    'TENON_ALLOCATION 2, TENON_BOUNDS 3, TENON_SCOPE_CLOSED 5, TENON_ALLOCATION 2, TENON_ARGUMENT 3, TENON_ALLOCATION 2, TENON_ARGUMENT 3, TENON_ALLOCATION 2, TENON_ARGUMENT 3, TENON_ALLOCATION 2, TENON_BOUNDS 3, SyntaxError 5, TENON_READ_ONLY 3, gave 2, TENON_SCOPE_CLOSED 5',
  ],
  'numbers of arguments close the memory when they are converted': [
    `    const scope = arena(), memory = scope.allocate(64), number = { valueOf() { try { scope.close() } catch {} return 1 }, [Symbol.toPrimitive]() { return this.valueOf() } }
    tally([() => memset(memory, number, 8), () => memory.setInt32(number, number), () => memory.asSlice(number, number), () => memory.fill(number), () => memory.getString(number), () => StringTensor.from(['a'], { allocator: scope }).set(number, number), () => tensor('f32', [number], { allocator: scope })]); attempt(() => memory.getInt8(0))`,
    'TENON_ARGUMENT 7, gave 0',
  ],
  'iterators of packed containers run code between entries': [
    `    const d = P.getGlobal('ffi.Dict')('a', 1, 'b', 2), set = P.getGlobal('ffi.DictSetItem'), clear = P.getGlobal('ffi.DictClear')
    attempt(() => { for (const [k] of d) { set(d, k + k, long); gc() } }); attempt(() => { for (const each of d) clear(d) }); attempt(() => [...d].length); d.close(); attempt(() => [...d])`,
    'TENON_PACKED_FUNC, TENON_PACKED_FUNC, gave 0, TENON_SCOPE_CLOSED',
  ],
  'errors have getters that run calls': [
    `    for (const error of [Object.defineProperty(new Error('x'), 'message', { get: () => echo('inner') }), Object.defineProperty(new Error('x'), 'stack', { get: () => add([make(), make()], { results: [type] }) }), Object.defineProperty(new Error('x'), 'cause', { get() { throw new SyntaxError('cause') } }), new Proxy(new Error('x'), { getPrototypeOf() { gc(); return Error.prototype } })]) { attempt(() => call(() => { throw error })); const t = target(() => { throw error }); attempt(() => runTarget(t)); t.close() }`,
    'Error, TENON_XLA, Error, TENON_XLA, Error, TENON_XLA, Error, TENON_XLA',
  ],
}
