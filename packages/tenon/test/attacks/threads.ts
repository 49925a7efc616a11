import type { Attempts } from './attempt.ts'

/** Threads that change memory, end at bad moments, or receive what they cannot use. */
export const threads: Attempts = {
  'another thread changes strings and numbers while they are read, copied and passed': [
    `    const shared = new SharedArrayBuffer(8192), bytes = new Uint8Array(shared); bytes.set(Buffer.from(long))
    const worker = started('parentPort.once("message", (shared) => { const words = new Uint32Array(shared); parentPort.postMessage(1); for (let i = 0; ; i++) words[i % 2048] = [0, 0xffffffff, 0x41414141, 0x80808080, 24, 0x7fffffff][i % 6] })'); worker.postMessage(shared); await message(worker)
    const until = Date.now() + 300; let reads = 0; while (Date.now() < until) for (const use of [() => echo(bytes), () => echo([bytes, bytes]), () => StringTensor.from([bytes, bytes]).toArray(), () => MemorySegment.ofBuffer(shared).getString(0), () => strlen(MemorySegment.ofBuffer(shared)), () => tenon.decodeNpy(bytes), ...['tf', 'rfc16', 'legacy', 'tflite'].map((layout) => () => StringTensor.ofSegment(bytes, { layout, shape: [8], validate: 'lenient' }).toArray()), () => tensor('f32', [2048], new Float32Array(shared)).toArray(), () => ts.decodeVarint(bytes)]) { try { use() } catch {} reads++ }
    await worker.terminate(); console.log(reads > 100)`,
    'true',
  ],
  'another thread changes an npy image while it is read': [
    `    const image = new Uint8Array(new SharedArrayBuffer(4224)); image.set(tenon.encodeNpy(make()))
    const worker = started('parentPort.once("message", (image) => { parentPort.postMessage(1); for (let i = 0; ; i++) { const at = i * 7 % 130, before = image[at]; image[at] = i; for (let j = 0; j < 40; j++); image[at] = before } })'); worker.postMessage(image); await message(worker)
    const until = Date.now() + 200; let reads = 0; while (Date.now() < until) { try { tenon.decodeNpy(image) } catch {} reads++ }
    await worker.terminate(); console.log(reads > 10)`,
    'true',
  ],
  'everything is posted to another thread': [
    `    const worker = started('parentPort.on("message", (x) => { try { String(x); x?.close?.() } catch {} parentPort.postMessage(typeof x) })'), pool = pools.createPool(64)
    for (const value of [make(), make().segment, library, library.native, add, echo([1]), sum, module, StringTensor.from(['a']), arena(), confined(), pool, pool.slice(0, 8), pools.createFence(), f32(1), type, MemorySegment.allocateNative(8), new P.OpaquePointer(5n), P.rvalue(echo([1])), S.MemoryLayout.int32, strlen, pools.localDriver(), libc, new core.TenonError('X', 'y'), Object.create(make())]) { try { worker.postMessage(value); console.log(await message(worker)) } catch (error) { print(error) } }
    await worker.terminate()`,
    '25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, object, object, 25, object, 25, object, 25, object, object, object, object',
  ],
  'everything is cloned and transferred': [
    `    tally([make(), make().segment, library.native, echo([1]), sum, module, StringTensor.from(['a']), arena(), pools.createPool(64), MemorySegment.allocateNative(8)].map((value) => () => structuredClone(value)))
    tally([() => make().view().buffer, () => MemorySegment.allocateNative(8).unsafeView().buffer, () => StringTensor.from(['a']).bytes(0).buffer, () => pools.createPool(64).view().buffer, () => echo(Buffer.alloc(100)).buffer, () => module.get('make_range')(9).view().buffer].map((make) => () => { const buffer = make(); structuredClone(buffer, { transfer: [buffer] }) }))`,
    '25 10, TENON_ARGUMENT 1, gave 3, 25 2',
  ],
  'getters of attributes and elements terminate the worker': [
    `    for (const source of ['echo(getter([1, 2], 1, () => process.exit(3)))', 'StringTensor.from(getter(["a", long], 1, () => process.exit(3)), { storage: "malloc" })', 'const s = arena(); s.addCloseAction(() => process.exit(3)); s.close()', 'call(() => add([make(), getter([make()], 0, () => process.exit(3))[0]], { results: [type] }))', 'qsort(arena().allocate(64), 4, 8, linker.upcallStub(() => process.exit(3), comparison, confined()))', 'call(() => call(() => runTarget(target(() => process.exit(3)))))']) console.log(await ended(started(source)))`,
    '3, 3, 3, 3, 3, 3',
  ],
  'workers are terminated from the other side of a callback': [
    `    const rounds = 1, sources = ['for (;;) call(() => add([make(), make()], { results: [type] }))', 'for (;;) runTarget(target(() => call((x) => x, [1, long])))', 'for (;;) qsort(arena().allocate(640), 80, 8, linker.upcallStub(() => sum(1, -1), comparison, confined()))', 'for (;;) { const s = arena(); s.addCloseAction(() => echo([1])); StringTensor.from(["a", long], { allocator: s }); s.close() }', 'for (;;) Promise.allSettled([call.async(packedFunc(() => 1, { relay: true })), memset.async(MemorySegment.allocateNative(4096), 1, 4096), add.prepare({ operands: [type, type], results: [type] }).runAsync([make(), make()], [make()])]), await sleep(0)', 'for (;;) { const d = pools.localDriver(); await d.closeAsync() }', 'for (;;) P.fromDLPack(P.toDLPack(make()))']
    for (let round = 0; round < rounds; round++) await Promise.all(sources.map(async (source) => { const worker = started('parentPort.postMessage(1); ' + source); await message(worker); await sleep(Math.random() * 30); await worker.terminate() })); console.log('terminated')`,
    'terminated',
  ],
  'a function of an ended worker is called by every package': [
    `    const worker = started('const f = packedFunc(() => 7, { relay: { timeout: 60_000 } }); P.registerGlobal("attack.ended", f, { override: true }); const t = target(() => {}); parentPort.postMessage(String(t.address)); setInterval(() => f, 1000)'), address = await message(worker), f = P.getGlobal('attack.ended')
    await attemptLater(() => f.async()); await worker.terminate(); await attemptLater(() => f.async()); attempt(() => f()); const c = library.customCall('delegate').prepare({ operands: [type], results: [type], attrs: { handler: s64(BigInt(address)), elsewhere: tenon.pred(true) } }); attempt(() => c.run([make()], [make()])); P.removeGlobal('attack.ended')`,
    'gave 7, TENON_PACKED_FUNC, TENON_PACKED_FUNC, TENON_XLA',
  ],
  'a token of a scope is attached after its worker, its scope and its memory have ended': [
    `    const scope = NativeScope.ofShared(), memory = scope.allocate(64), token = scope.share({ segments: [memory] }); scope.close(); attempt(() => ResourceScope.attach(token))
    const worker = started('const s = NativeScope.ofShared(); parentPort.postMessage(s.share({ segments: [s.allocate(64)] })); s.close()'), late = await message(worker); await ended(worker); attempt(() => ResourceScope.attach(late)); attempt(() => ResourceScope.attach({ ...token, segments: [{ buffer: new ArrayBuffer(8), byteOffset: 4, byteSize: 1e9, flags: 0 }] })); attempt(() => ResourceScope.attach(null))`,
    'TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_ARGUMENT',
  ],
  'two workers use the memory of a scope, detach from it and use it again': [
    `    const scope = NativeScope.ofShared(), memory = scope.allocate(4096, 8), codes = []
    const workers = [1, 2].map(() => started('parentPort.once("message", (token) => { const { scope, segments: [m] } = ResourceScope.attach(token); for (let i = 0; i < 5000; i++) m.setInt32(0, i); memset(m, 1, 4096); scope.detach(); try { m.getInt8(0) } catch (error) { parentPort.postMessage(error.code) } })'))
    for (const worker of workers) { worker.on('message', (code) => codes.push(code)); worker.postMessage(scope.share({ segments: [memory] })) } await Promise.all(workers.map(ended))
    console.log(codes.join(' ')); attempt(() => scope.close()); attempt(() => memory.getInt8(0))`,
    'TENON_SCOPE_CLOSED TENON_SCOPE_CLOSED, gave undefined, TENON_SCOPE_CLOSED',
  ],
}
