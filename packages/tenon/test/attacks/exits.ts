import type { Attempts } from './attempt.ts'

/** Processes that end while calls, callbacks and close actions of several packages run. The exit code is 7. */
export const exits: Attempts = {
  'exits in a close action in a packed callback in a target': [
    `    const s = arena(); s.addCloseAction(() => process.exit(7)); const t = target(() => call(() => s.close())); runTarget(t)`,
    '',
  ],
  'exits in a comparison of qsort in a packed callback': [
    `    call(() => qsort(arena().allocate(64), 4, 8, linker.upcallStub(() => process.exit(7), comparison, confined())))`,
    '',
  ],
  'exits in a getter of an attribute in a callback': [
    `    call(() => add.prepare({ operands: [type, type], results: [type], attrs: { get a() { process.exit(7) } } }))`,
    '',
  ],
  'exits in an element of strings of malloc blocks': [
    `    StringTensor.from(getter(['a', long], 1, () => process.exit(7)), { storage: 'malloc' })`,
    '',
  ],
  'exits in an allocator of a result': [
    `    add([make(), make()], { results: [type], allocator: { allocate() { process.exit(7) } } })`,
    '',
  ],
  'exits while asynchronous calls of every package run': [
    `    const flag = tensor('s32', []); library.customCall('wait_for_flag').prepare({ operands: [s32([])], results: [s32([])] }).runAsync([flag], [tensor('s32', [])]); for (let i = 0; i < 20; i++) { memset.async(MemorySegment.allocateNative(1 << 20), 1, 1 << 20); echo.async([make()]); module.get('wait_for_signal').async(100).catch(() => {}) } setTimeout(() => { process.exitCode = 7; flag.view()[0] = 1; process.exit() }, 20); await sleep(5000)`,
    '',
  ],
  'exits in a relayed callback of another thread': [
    `    module.get('call_on_thread').async(packedFunc(() => process.exit(7), { relay: true })).catch(() => {}); call.async(packedFunc(() => process.exit(7), { relay: true })).catch(() => {}); await sleep(5000)`,
    '',
  ],
  'exits in a finalizer': [
    `    const registry = new FinalizationRegistry(() => process.exit(7)); for (let i = 0; i < 20; i++) registry.register(make(), 1); for (;;) { gc(); await sleep(1) }`,
    '',
  ],
  'exits in a listener of exit that makes calls and closes everything': [
    `    const s = arena(), x = make(1, s), t = target(() => {}), c = add.prepare({ operands: [type, type], results: [type] }), pool = pools.createPool(64); process.on('exit', () => { for (const use of [() => runTarget(t), () => c.run([x, x], [make()]), () => call(() => echo([x]))]) attempt(use); for (const each of [c, t, s, pool, library, module]) try { each.close() } catch {} process.exit(7) })`,
    'TENON_XLA, gave undefined, TENON_SCOPE_CLOSED',
  ],
  'exits when a timer fires during endless native calls': [
    `    setTimeout(() => process.exit(7), 50); const go = () => { for (let i = 0; i < 200; i++) call(() => add([make(), make()], { results: [type] })); setImmediate(go) }; go(); await sleep(5000)`,
    '',
  ],
  'exits with workers in the middle of calls of every package': [
    `    const workers = ['for (;;) call(() => echo([1, long]))', 'for (;;) runTarget(target(() => {}))', 'for (;;) StringTensor.from(["a", long], { storage: "malloc" }).append(0, long)', 'for (;;) { const s = NativeScope.ofShared(); s.share({ segments: [s.allocate(64)] }); s.close() }'].map((source) => started('parentPort.postMessage(1);' + source)); await Promise.all(workers.map(message)); await sleep(30); process.exit(7)`,
    '',
  ],
  'exits in a promise of a driver that closes': [
    `    const driver = pools.localDriver(), pool = pools.createPool(64); driver.closeAsync().then(() => process.exit(7)); await sleep(5000)`,
    '',
  ],
  'exits after an error in a callback of a thread': [
    `    process.on('uncaughtException', () => process.exit(7)); call.async(packedFunc(() => { setImmediate(() => { throw new SyntaxError('x') }); return 1 }, { relay: true })).catch(() => {}); await sleep(5000)`,
    '',
  ],
  'ends by itself with everything left open': [
    `    process.exitCode = 7; arena().allocate(64); echo([make()]); keep(packedFunc(() => 1)); target(() => {}); pools.createPool(64); pools.createFence(); pools.localDriver(); NativeScope.ofShared().share; StringTensor.from(['a', long], { storage: 'malloc' }); P.toDLPack(make()); linker.upcallStub(() => 0, comparison, confined())`,
    '',
  ],
  'ends by itself after errors in callbacks': [
    `    process.exitCode = 7; try { call(() => { (0, eval)('throw new SyntaxError("x")') }) } catch {} try { runTarget(target(() => { null.x })) } catch {}`,
    '',
  ],
}
