import type { Attempts } from './attempt.ts'

/** Lifetimes that end while another package uses them. */
export const lifetimes: Attempts = {
  'a packed callback closes the scope of a tensor that a custom call uses': [
    `    const scope = arena(), x = make(1, scope)
    const t = target(() => { attempt(() => call(() => scope.close())) }); runTarget(t, x); scope.close(); t.close()`,
    'TENON_SCOPE_HELD',
  ],
  'a packed callback closes the scope of a packed argument': [
    `    const scope = arena(), x = make(1, scope)
    attempt(() => call((y) => { attempt(() => scope.close()); return y.view()[0] }, x)); attempt(() => scope.close()); attempt(() => echo(x))`,
    'TENON_SCOPE_HELD, gave 1, gave undefined, TENON_SCOPE_CLOSED',
  ],
  'a custom call closes the library that it is in': [
    `    const own = Library.open(KERNELS), t = target(() => { attempt(() => own.close()) })
    const call = own.customCall('delegate').prepare({ operands: [type], results: [type], attrs: { handler: s64(t.address), elsewhere: tenon.pred(false) } })
    call.run([make()], [make()]); attempt(() => own.close()); attempt(() => call.run([make()], [make()])); t.close()`,
    'TENON_SCOPE_HELD, gave undefined, TENON_SCOPE_CLOSED',
  ],
  'a target closes its call, its batch and itself while it runs': [
    `    const t = target(() => { for (const each of [t, c, k, b]) { attempt(() => each.close()) } }), x = make(), y = make()
    const c = t.handler.prepare({ operands: [type], results: [type] }), k = c.bind([x], [y]), b = C.batch([{ call: c, operands: [x], results: [y] }])
    for (const each of [k, b]) attempt(() => each.run()); for (const each of [k, b, c, t]) attempt(() => each.close())`,
    'TENON_SCOPE_HELD, TENON_SCOPE_HELD, TENON_SCOPE_HELD, gave undefined, gave undefined, TENON_SCOPE_CLOSED, gave undefined, TENON_SCOPE_CLOSED, gave undefined, gave undefined',
  ],
  'a comparison closes the scope of its stub, of its array and of the library': [
    `    const stubs = confined(), memory = arena(), array = memory.allocate(64, 8)
    const stub = linker.upcallStub(() => { call(() => { for (const scope of [stubs, memory]) attempt(() => scope.close()) }); return 0 }, comparison, stubs)
    qsort(array, 2, 8, stub); stubs.close(); memory.close(); attempt(() => qsort(array, 2, 8, stub))`,
    'TENON_SCOPE_HELD, TENON_SCOPE_HELD, TENON_SCOPE_CLOSED',
  ],
  'a close action calls everything that is being closed': [
    `    const scope = arena(), x = make(1, scope), strings = StringTensor.from(['a', long], { allocator: scope }), c = add.prepare({ operands: [type, type], results: [type] })
    scope.addCloseAction(() => { for (const use of [() => c.run([x, x], [x]), () => echo(x), () => strings.get(1), () => strings.set(0, 'b'), () => memset(x.segment, 0, 1), () => c.bind([x, x], [x]), () => make(1, scope), () => P.toDLPack(x), () => P.tensorView(x), () => sum.async(1, 2).catch(() => {}), () => tenon.encodeNpy(x)]) attempt(use) })
    scope.close(); c.close()`,
    'TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, gave a string that is longer than a struct ho, gave undefined, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, gave TensorView, gave Promise, gave Buffer',
  ],
  'a close action runs asynchronous calls of every package with its memory': [
    `    const scope = arena(), x = make(1, scope), c = add.prepare({ operands: [type, type], results: [type] }), later = []
    scope.addCloseAction(() => { for (const use of [() => c.runAsync([x, x], [x]), () => echo.async(x), () => memset.async(x.segment, 0, 1)]) later.push(attemptLater(use)) })
    scope.close(); await Promise.all(later)`,
    'TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'a close action throws, closes the scope again and closes the next scope': [
    `    const a = arena(), b = arena()
    a.addCloseAction(() => b.close()); b.addCloseAction(() => a.close()); a.addCloseAction(() => { throw null }); a.addCloseAction(() => { throw new RangeError('x') })
    attempt(() => a.close()); attempt(() => a.close()); attempt(() => b.close())`,
    'AggregateError, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'two asynchronous paths close the same scope': [
    `    const scope = ResourceScope.ofShared(), hold = scope.acquire()
    const closing = [scope.closeAsync(), scope.closeAsync(), scope.closeAsync({ timeout: 5 })].map((each) => attemptLater(() => each))
    attempt(() => scope.close()); hold.release(); attempt(() => hold.release()); await Promise.all(closing); attempt(() => scope.close())`,
    'TENON_SCOPE_CLOSED, gave undefined, TENON_SCOPE_CLOSED, TENON_ARGUMENT, gave undefined, TENON_SCOPE_CLOSED',
  ],
  'a scope is closed in each of its own asynchronous ends': [
    `    const scope = arena(), memory = scope.allocate(1 << 16)
    const ends = Array.from({ length: 8 }, () => memset.async(memory, 1, 1 << 16).finally(() => { try { scope.close() } catch {} }))
    await Promise.allSettled(ends); console.log(scope.isAlive)`,
    'false',
  ],
  'asynchronous calls are made of a closed library': [
    `    const own = core.NativeLibrary.open(KERNELS), c = C.typedHandler(own, 'broadcast_add').prepare({ operands: [type, type], results: [type] })
    const runs = Array.from({ length: 4 }, () => c.runAsync([make(), make()], [make()])); attempt(() => own.close()); await Promise.allSettled(runs)
    attempt(() => own.close()); await attemptLater(() => c.runAsync([make(), make()], [make()])); attempt(() => own.symbol('broadcast_add')); attempt(() => own.function('broadcast_add', { result: 'void' }))`,
    'TENON_SCOPE_HELD, gave undefined, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'a packed module is closed beside its asynchronous calls, and a function of it in a callback': [
    `    const own = P.Module.open(PACKED), f = own.get('call'), later = f.async(packedFunc(() => 5, { relay: true })); own.close(); await attemptLater(() => later)
    attempt(() => f(() => { f.close(); gc(); return 6 })); attempt(() => f(1)); attempt(() => own.get('sum'))`,
    'gave 5, gave 6, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'memory that a packed function keeps outlives its scope': [
    `    const scope = arena(), x = make(7, scope); keep(x); attempt(() => scope.close()); attempt(() => kept().toArray()[5]); keep(null); gc(); attempt(() => scope.close())`,
    'TENON_SCOPE_HELD, gave 7, gave undefined',
  ],
  'DLPack tensors outlive scopes, and are consumed twice': [
    `    const scope = arena(), pointer = P.toDLPack(make(3, scope)); attempt(() => scope.close())
    const back = attempt(() => P.fromDLPack(pointer)); attempt(() => back.toArray()[0]); attempt(() => P.fromDLPack(new P.OpaquePointer(0n)))`,
    'TENON_SCOPE_HELD, gave Tensor, gave 3, TENON_ARGUMENT',
  ],
  'a string tensor is closed by the getters of its own arguments': [
    `    const own = StringTensor.from(['a', long], { storage: 'malloc' })
    attempt(() => own.set(0, { toString() { own.close(); return long } })); attempt(() => own.gather(getter([0, 1], 1, () => { own.close(); return 1 }))); attempt(() => own.get(1))`,
    'TENON_ARGUMENT, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'a pool is closed by a callback of a call that uses its memory': [
    `    const pool = pools.createPool(4096), x = pool.slice(0, 4096)
    const t = target(() => { attempt(() => pool.close()) }), y = attempt(() => pools.operandSlice(pool, 0, 'TENSOR_FLOAT32', [1024]))
    attempt(() => runTarget(t, y.tensor ?? y)); attempt(() => pool.close()); attempt(() => x.read()); attempt(() => pool.view())`,
    'gave PoolSlice, TENON_ARGUMENT, gave undefined, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'a view of a closed pool is passed to every package': [
    `    const pool = pools.createPool(4096), view = pool.view(); pool.close()
    tally([() => MemorySegment.ofBuffer(view), () => echo(new Uint8Array(view.buffer)), () => StringTensor.ofSegment(view, { layout: 'tflite' }), () => tenon.decodeNpy(new Uint8Array(view.buffer)), () => binary.readBinary(new Uint8Array(view.buffer))])`,
    'TENON_ARGUMENT 1, TypeError 4',
  ],
  'a driver is closed beside everything that it made': [
    `    const driver = pools.localDriver(), model = pools.buildModel((g) => g.output(g.operation('ADD', [g.input('TENSOR_FLOAT32', [2]), g.input('TENSOR_FLOAT32', [2]), g.scalar('INT32', 0)], { type: 'TENSOR_FLOAT32', dimensions: [2] })))
    const prepared = await driver.prepare(model), pool = pools.createPool(64), args = { inputs: [pool.slice(0, 8), pool.slice(8, 8)], outputs: [pool.slice(16, 8)] }
    const running = Array.from({ length: 4 }, () => prepared.runAsync(args).then(() => {}, () => {}))
    const closing = [driver.closeAsync(), driver.closeAsync()].map((each) => attemptLater(() => each)); attempt(() => pool.close()); await Promise.all([...running, ...closing])
    await attemptLater(() => prepared.runAsync(args)); attempt(() => prepared.run(args)); await attemptLater(() => driver.prepare(model)); model.close(); attempt(() => model.close())`,
    'gave undefined, TENON_SCOPE_CLOSED, gave undefined, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_POOLS, TENON_SCOPE_CLOSED',
  ],
  'symbols dispose everything twice': [
    `    for (const made of [arena(), confined(), Library.open(KERNELS), StringTensor.from(['a', long], { storage: 'malloc' }), add.prepare({ operands: [type, type], results: [type] }), target(() => {}), packedFunc(() => 1), echo([1]), pools.createPool(64), pools.createFence()])
      for (let i = 0; i < 3; i++) made[Symbol.dispose]()
    console.log('disposed')`,
    'disposed',
  ],
  'methods run on closed objects, one after another': [
    `    const made = { arena: arena(), library: core.NativeLibrary.open(KERNELS), strings: StringTensor.from(['a', long], { storage: 'malloc' }), array: echo([1]), f: packedFunc(() => 1), pool: pools.createPool(64), prepared: add.prepare({ operands: [type, type], results: [type] }) }
    for (const each of Object.values(made)) each.close()
    let count = 0
    for (const each of Object.values(made)) for (let at = each; at !== Object.prototype && at !== Function.prototype; at = Object.getPrototypeOf(at)) for (const key of Reflect.ownKeys(at)) {
      try { const value = each[key]; count++; if (typeof value === 'function' && key !== 'constructor') { const given = value.call(each, 0, 1, 2); given?.catch?.(() => {}) } } catch {}
    }
    console.log(count > 100)`,
    'true',
  ],
}
