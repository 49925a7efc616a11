import type { Attempts } from './attempt.ts'

/** Recursion through both languages, garbage collection in callbacks, and errors that cross both. */
export const callbacks: Attempts = {
  'all packages call each other without end': [
    `    const scope = arena(), array = scope.allocate(64), stubs = confined(), depths = new Set(); let depth = 0
    const t = target(() => next()), stub = linker.upcallStub(() => (next(), 0), comparison, stubs), f = packedFunc(() => next()), steps = [() => call(f), () => runTarget(t), () => qsort(array, 2, 8, stub)]
    const next = () => steps[depth++ % 3](); attempt(next); await collect()`,
    'TENON_XLA',
  ],
  'each package calls itself without end': [
    `    const t = target(() => runTarget(t)); attempt(() => runTarget(t)); const f = packedFunc(() => call(f)); attempt(f); const g = packedFunc((x) => f([x])); attempt(() => g(1)); t.close()`,
    'TENON_XLA, TENON_PACKED_FUNC, TENON_PACKED_FUNC',
  ],
  'calls are made at the end of the stack': [
    `    const uses = [() => echo([1, long]), () => add([make(), make()], { results: [type] }), () => StringTensor.from(['a', long]).to('tflite'), () => strlen(MemorySegment.allocateNative(8)), () => call(() => 1), () => arena().allocate(70_000), () => make().toArray(), () => tenon.decodeNpy(tenon.encodeNpy(make())), () => pools.createPool(64).close()]
    for (const use of uses) { let tries = 0; const dive = () => { try { dive() } catch (error) { if (tries++ < 60) use(); throw error } }; try { dive() } catch {} console.log(tries > 0) }`,
    'true, true, true, true, true, true, true, true, true',
  ],
  'objects are closed at the end of the stack': [
    `    const made = Array.from({ length: 300 }, (_, i) => [() => arena(), () => echo([1]), () => pools.createPool(64), () => StringTensor.from(['a', long], { storage: 'malloc' }), () => add.prepare({ operands: [type, type], results: [type] })][i % 5]()); const dive = () => { try { dive() } finally { try { made.pop()?.close() } catch {} } }; try { dive() } catch {} console.log(made.length)`,
    '0',
  ],
  'the garbage collector runs in every callback': [
    `    const memory = arena(), t = target(() => { gc(); make(); gc() }); runTarget(t); call(() => { gc(); return [long, make()] }); qsort(memory.allocate(80), 8, 8, linker.upcallStub(() => { gc(); return 0 }, comparison, confined())); memory.addCloseAction(gc); memory.close(); t.close(); console.log('collected')`,
    'collected',
  ],
  'finalizers of users call, close and resurrect': [
    `    const log = []; let saved; const registry = new FinalizationRegistry((held) => { try { log.push(held()) } catch (error) { log.push(error.code ?? error.name) } })
    for (let i = 0; i < 30; i++) { const s = arena(), x = make(1, s), k = echo([x]); registry.register(x, () => { s.close(); return 'closed' }); registry.register(k, () => { saved = make(); add([saved, saved], { results: [type] }); return 'called' }) } await collect(); await collect(); console.log([...new Set(log)].sort().join(' '))`,
    'called closed',
  ],
  'memory that nothing refers to is used by the call that is running': [
    `    const made = []; const t = target(([x], [y]) => { for (let i = 0; i < 3; i++) gc(); made.push(x.view()[0], y.view().length) }); for (let i = 0; i < 20; i++) t.handler.prepare({ operands: [type], results: [type] }).run([make(i)], [make()]); console.log(made.filter((_, i) => i % 2 === 0).join() === [...Array(20).keys()].join())`,
    'true',
  ],
  'asynchronous calls whose objects are all dropped': [
    `    const later = []; for (let i = 0; i < 30; i++) { later.push(P.Module.open(PACKED).get('echo').async([make(), long]), C.typedHandler(core.NativeLibrary.open(KERNELS), 'broadcast_add').prepare({ operands: [type, type], results: [type] }).runAsync([make(), make()], [make()]), memset.async(MemorySegment.allocateNative(65_536), 1, 65_536)); if (i % 10 === 0) gc() } await collect(); console.log((await Promise.allSettled(later)).every(({ status }) => status === 'fulfilled'))`,
    'true',
  ],
  'views, slices and lent memory outlive everything that made them': [
    `    const kept = []; for (let i = 0; i < 20; i++) { kept.push(make(i).view(), StringTensor.from(['a', long + i]).bytes(1), StringTensor.from([long]).slice(0), module.get('make_range')(50).view(), MemorySegment.allocateNative(4096).withView?.((v) => v), add([make(i), make(i)], { results: [type] }).segment.asSlice(0, 64), P.fromDLPack(P.toDLPack(make(i)))) ; if (i % 5 === 0) gc() } await collect(); let total = 0; for (const each of kept) if (ArrayBuffer.isView(each) && 'length' in each) for (const x of each) total += Number(x); console.log(total > 0)`,
    'true',
  ],
  'C++ exceptions pass through callbacks of every package': [
    `    const raise = C.hostFunction(throwing, 'throw_string').prepare({}), t = target(() => raise.run([], [])), s = arena()
    attempt(() => call(() => raise.run([], []))); attempt(() => runTarget(t)); attempt(() => qsort(s.allocate(64), 2, 8, linker.upcallStub(() => { raise.run([], []); return 0 }, comparison, confined()))); attempt(() => call(() => throwingModule.get('throw_in_task')(1))); attempt(() => s.close()); t.close()`,
    'TENON_XLA, TENON_XLA, TENON_XLA, TENON_PACKED_FUNC, gave undefined',
  ],
  'errors of JavaScript pass through C++ and back a hundred times': [
    `    let depth = 0; const f = packedFunc(() => { if (depth++ < 100) return call(f); throw new SyntaxError('deep') }), t = target(() => f()); attempt(() => runTarget(t)); depth = 0; attempt(f); t.close()`,
    'TENON_XLA, SyntaxError',
  ],
  'what is thrown is an object of each package, closed or frozen': [
    `    const closed = echo([1]); closed.close(); for (const thrown of [closed, Object.freeze(make()), sum, new P.OpaquePointer(1n), P.rvalue(echo([1])), StringTensor.from(['a']), arena(), f32(1)]) { attempt(() => call(() => { throw thrown })); const t = target(() => { throw thrown }); attempt(() => runTarget(t)); t.close() }`,
    'threw object, TENON_XLA, threw object, TENON_XLA, sum, TENON_XLA, threw object, TENON_XLA, threw object, TENON_XLA, threw object, TENON_XLA, threw object, TENON_XLA, threw object, TENON_XLA',
  ],
  'callbacks return what they must not': [
    `    for (const make0 of [() => P.rvalue(echo([1])), () => arena(), () => Symbol('s'), () => { const x = echo([1]); x.close(); return x }, () => new Proxy([1], {}), () => Promise.resolve(1), () => ({ then() {} }), () => call, () => P.tensorView(make())]) { attempt(() => call(make0)); const t = target(make0); attempt(() => runTarget(t)); t.close() }`,
    'TENON_PACKED_FUNC, gave undefined, TENON_PACKED_FUNC, gave undefined, TENON_PACKED_FUNC, gave undefined, TENON_SCOPE_CLOSED, gave undefined, gave NativeArray, gave undefined, TENON_PACKED_FUNC, TENON_XLA, TENON_PACKED_FUNC, TENON_XLA, gave [ffi.Function], gave undefined, TENON_PACKED_FUNC, gave undefined',
  ],
  'generators, async functions and classes are callbacks': [
    `    for (const f of [function* () { yield 1 }, async () => 1, class {}, async function* () {}, Math.max.bind(null), Proxy, eval, Function, structuredClone]) { attempt(() => call(f, 1)); attempt(() => target(f).close()) }`,
    'TENON_PACKED_FUNC, gave undefined, TENON_PACKED_FUNC, gave undefined, TypeError, gave undefined, TENON_PACKED_FUNC, gave undefined, gave 1, gave undefined, TypeError, gave undefined, gave 1, gave undefined, gave [ffi.Function], gave undefined, gave 1, gave undefined',
  ],
  'a callback unregisters, overrides and closes itself in the registry': [
    `    const f = P.registerGlobal('attack.self', () => { P.removeGlobal('attack.self'); P.registerGlobal('attack.self', () => 2, { override: true }); gc(); return long }, { override: true }); attempt(() => P.getGlobal('attack.self')()); attempt(() => P.getGlobal('attack.self')()); P.removeGlobal('attack.self'); attempt(() => P.getGlobal('attack.self'))`,
    'gave a string that is longer than a struct ho, gave 2, TENON_PACKED_FUNC',
  ],
  'functions with symbols, accessors and numbers as properties are called': [
    `    const f = Object.assign(packedFunc((x) => x), { [Symbol('s')]: 1, 0: 2 }); Object.defineProperty(f, 'x', { get() { throw new SyntaxError('x') } }); attempt(() => f(1)); attempt(() => call(f, 2)); attempt(() => Object.freeze(f)(3)); attempt(() => Reflect.construct(f, [4])); attempt(() => f.bind(null)(5)); attempt(() => f.call(make(), 6)); attempt(() => f.close()); attempt(() => f(7))`,
    'gave 1, gave 2, gave 3, TypeError, gave 5, TENON_ARGUMENT, gave undefined, TENON_SCOPE_CLOSED',
  ],
  'a thousand callbacks are alive, called and dropped': [
    `    const made = Array.from({ length: 1000 }, (_, i) => packedFunc(() => i)); console.log(made.reduce((sum, f) => sum + f(), 0)); made.length = 500; await collect(); console.log(made.reduce((sum, f) => sum + f(), 0))`,
    '499500, 124750',
  ],
}
