import { isInstrumented } from '../../src/diagnostics/debug.ts'

/** Programs that try to end the process through the public API, with what they print instead. */
export interface Attempt {
  readonly code: string
  /** The printed lines: codes of errors, names of errors without a code, and results. */
  readonly outcome: string
}

/** `attempt()` prints what a function gives or throws, and `started()` starts a worker that runs a program. */
export const prelude = `
  import { asScript } from '@tenon/config/as-script'
  import { MemoryLayout, MemorySegment, NativeAllocator, NativeScope, ResourceScope, toCString } from '@tenon/scope'
  import { Linker, SymbolLookup, upcallStub, VaList } from '@tenon/scope/linker'
  import { once } from 'node:events'
  import fs from 'node:fs'
  import { tmpdir } from 'node:os'
  import { setTimeout as sleep } from 'node:timers/promises'
  import vm from 'node:vm'
  import { Worker } from 'node:worker_threads'
  const { int8, int32, int64, address, struct, sequence, element, varHandle } = MemoryLayout
  const confined = () => ResourceScope.ofConfined(), arena = () => NativeScope.ofConfined(), native = (size) => MemorySegment.allocateNative(size, 64)
  const libc = SymbolLookup.ofProcess(), comparison = { result: 'int32', parameters: ['pointer', 'pointer'] }
  const link = (name, result, ...parameters) => Linker.downcall(libc.get(name), { result, parameters })
  const strlen = link('strlen', 'uint64', 'pointer'), memset = link('memset', 'pointer', 'pointer', 'int32', 'uint64')
  const sort = Linker.downcall(libc.get('qsort'), { parameters: ['pointer', 'uint64', 'uint64', 'pointer'] })
  // Calls its comparison once. Sanitizers make qsort() compare more often.
  const search = Linker.downcall(libc.get('bsearch'), { result: 'pointer', parameters: ['pointer', 'pointer', 'uint64', 'uint64', 'pointer'] })
  const begin = (name) => console.log('# ' + name)
  const print = (error) => console.log(error?.code ?? error?.name ?? 'threw ' + String(error))
  const attempt = (use) => { try { const given = use(); console.log('gave ' + String(given).slice(0, 40)); return given } catch (error) { print(error) } }
  const attemptLater = async (use) => { try { console.log('gave ' + String(await use()).slice(0, 40)) } catch (error) { print(error) } }
  const collect = async () => { for (let i = 0; i < 5; i++) { gc(); await sleep(2) } }
  const temporary = (name) => tmpdir() + '/tenon-hostile-' + process.pid + name
  const pair = struct({ quot: int32, rem: int32 })
  const started = (source) => new Worker(asScript(\`
    import { MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
    import { Linker, SymbolLookup, upcallStub } from '@tenon/scope/linker'
    import { parentPort } from 'node:worker_threads'
    const comparison = { result: 'int32', parameters: ['pointer', 'pointer'] }
    const sort = Linker.downcall(SymbolLookup.ofProcess().get('qsort'), { parameters: ['pointer', 'uint64', 'uint64', 'pointer'] })
    const memset = Linker.downcall(SymbolLookup.ofProcess().get('memset'), { result: 'pointer', parameters: ['pointer', 'int32', 'uint64'] })
    \${source}\`), { eval: true })
`

const afterClose: Readonly<Record<string, Attempt>> = {
  'closes memory and stubs in a callback': {
    code: `const memory = arena(), stubs = confined(), array = memory.allocate(800, 8)
      let first = true
      sort(array, 3, 8, upcallStub(() => { if (first) for (const scope of [memory, stubs]) { attempt(() => scope.close()); attempt(() => scope[Symbol.dispose]()) } first = false; return 0 }, comparison, stubs))
      memory.close(); stubs.close()`,
    outcome: 'TENON_SCOPE_HELD, TENON_SCOPE_HELD, TENON_SCOPE_HELD, TENON_SCOPE_HELD',
  },
  'hands memory off in a callback': {
    code: `const memory = arena(), array = memory.allocate(800, 8), stubs = confined()
      search(array, array, 1, 8, upcallStub(() => { attempt(() => memory.handoff([array])); return 0 }, comparison, stubs)); stubs.close()`,
    outcome: 'TENON_SCOPE_HELD',
  },
  'attaches to the memory of a call in a callback, and closes that scope': {
    code: `const memory = arena(), array = memory.allocate(800, 8), stubs = confined()
      const token = () => ({ tenon: 'confined-scope', segments: [{ buffer: array.view().buffer, byteOffset: 0, byteSize: 8, flags: 0 }], transfer: [] })
      search(array, array, 1, 8, upcallStub(() => { attempt(() => ResourceScope.attach(token()).scope.close()); return 0 }, comparison, stubs)); stubs.close()`,
    outcome: 'TENON_ARGUMENT',
  },
  'uses everything of a closing scope': {
    code: `const scope = arena(), memory = scope.allocate(8)
      scope.addCloseAction(() => {
        for (const use of [() => scope.addCloseAction(() => {}), () => scope.close(), () => scope[Symbol.dispose](), () => scope.allocate(8), () => scope.acquire(),
          () => memory.setInt32(0, 1), () => strlen(memory), () => scope.handoff([memory]), () => memory.reinterpret(8, scope).byteSize, () => upcallStub(() => 1, comparison, scope)]) attempt(use)
        void attemptLater(() => memset.async(memory, 1, 8))
        throw null
      })
      attempt(() => scope.close()); attempt(() => memory.getInt32(0)); await attemptLater(() => scope.closeAsync())`,
    outcome:
      'TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, gave undefined, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, gave undefined, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, threw null, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  },
  'uses raw views of closed scopes': {
    code: `const scope = arena(), memory = scope.allocate(64), view = memory.view(), array = memory.unsafeView(Uint8Array)
      scope.close()
      const other = arena().allocate(64).fill(7)
      attempt(() => view.getUint8(0)); array[0] = 1; console.log(array.length, other.getUint8(0))
      const shared = NativeScope.ofShared(), bytes = shared.allocate(64).unsafeView(Uint8Array)
      shared.close(); gc(); bytes[0] = 9; console.log(bytes[0])`,
    outcome: 'TypeError, 0 7, 9',
  },
  'reads files into memory of scopes that close meanwhile': {
    code: `const file = await fs.promises.open('/dev/zero'), path = temporary('read')
      for (let i = 0; i < 40; i++) {
        const own = confined(), pooled = arena()
        const views = [pooled.allocate(1 << 15), MemorySegment.allocateNative(1 << 16, 8, own), MemorySegment.mapFile(path, own, { access: 'write', byteSize: 1 << 20 })].map((one) => one.view())
        const reads = views.map((view) => file.read(view, 0, view.byteLength, 0).catch((error) => error))
        if (i % 2 === 0) await sleep(0)
        own.close(); pooled.close(); if (i % 10 === 0) gc()
        await Promise.all(reads)
      }
      await file.close(); fs.rmSync(path); await collect(); console.log('read')`,
    outcome: 'read',
  },
  'uses segments over memory whose other owner has closed': {
    code: `const owner = arena(), other = confined(), memory = owner.allocate(1 << 20, 8), alias = memory.reinterpret(1 << 20, other)
      owner.close(); attempt(() => alias.fill(1)); attempt(() => memset(alias, 1, 1 << 20)); other.close()
      const files = confined(), again = confined(), mapped = MemorySegment.mapFile('package.json', files, { access: 'copy' }), mappedAlias = mapped.reinterpret(8, again)
      files.close(); attempt(() => memset(mappedAlias, 1, 8)); attempt(() => mappedAlias.fill(1)); again.close()`,
    outcome: 'TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  },
  'calls stubs after their scopes, threads and objects have ended': {
    code: `const array = native(80), stubs = confined(), stub = upcallStub(() => 1, comparison, stubs), place = stub.address
      stubs.close(); attempt(() => sort(array, 3, 8, stub)); sort(array, 3, 8, MemorySegment.ofAddress(place))
      const lost = (() => upcallStub(() => 1, comparison, ResourceScope.ofConfined({ managed: true })).address)()
      await collect(); sort(array, 3, 8, MemorySegment.ofAddress(lost))
      const worker = started("parentPort.postMessage(upcallStub(() => 5, comparison, ResourceScope.ofConfined()).address); setInterval(() => {}, 100)")
      const [theirs] = await once(worker, 'message')
      await worker.terminate(); sort(array, 3, 8, MemorySegment.ofAddress(theirs)); console.log('called')`,
    outcome: 'TENON_SCOPE_CLOSED, called',
  },
}

const callbacks: Readonly<Record<string, Attempt>> = {
  'calls itself without end': {
    code: `const array = native(80), stubs = confined(), stub = upcallStub(() => { sort(array, 2, 8, stub); return 0 }, comparison, stubs)
      attempt(() => sort(array, 2, 8, stub)); stubs.close()`,
    outcome: 'RangeError',
  },
  'returns values of all types': {
    code: `const array = native(80), stubs = confined()
      for (const value of [null, undefined, 1.5, NaN, 2n ** 70n, '1', {}, [], Symbol('a'), () => 1, { valueOf: () => 1 }, true, Promise.resolve(1)]) attempt(() => sort(array, 2, 8, upcallStub(() => value, comparison, stubs)))
      stubs.close()`,
    outcome:
      'TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT',
  },
  'throws values of all types': {
    code: `const array = native(80), stubs = confined()
      for (const value of [null, undefined, 1, Symbol('q'), Object.freeze({}), new Proxy(new Error('a'), { get() { throw 1 } })]) { let thrown; try { sort(array, 2, 8, upcallStub(() => { throw value }, comparison, stubs)) } catch (error) { thrown = [error] } console.log(thrown?.[0] === value) }
      stubs.close()`,
    outcome: 'true, true, true, true, true, true',
  },
  'returns pointers and structs that are closed, or too small': {
    code: `const stubs = confined(), scope = arena(), dead = arena(), gone = dead.allocate(24, 8); dead.close()
      const triple = struct({ a: int64, b: int64, c: int64 }), pointers = { result: 'pointer' }, structs = { result: triple }
      for (const value of [gone, MemorySegment.ofBuffer(new Uint8Array(8)), 123n, null]) attempt(() => Linker.downcall(upcallStub(() => value, pointers, stubs), pointers)().byteSize)
      for (const value of [gone, gone.asSlice(8), null, native(8), MemorySegment.NULL]) attempt(() => Linker.downcall(upcallStub(() => value, structs, stubs), structs)(scope).byteSize)
      let kept
      const call = Linker.downcall(upcallStub((value) => (kept = value), { result: triple, parameters: [triple] }, stubs), { result: triple, parameters: [triple] })
      call(scope, scope.allocate(24, 8).fill(1)); attempt(() => kept.getInt64(0)); stubs.close()`,
    outcome:
      'TENON_SCOPE_CLOSED, gave 0, TENON_ARGUMENT, gave 0, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_SCOPE_CLOSED',
  },
  'closes its own scope during an asynchronous call': {
    code: `const stubs = confined(), stub = upcallStub(() => { attempt(() => stubs.close()); return 0 }, comparison, stubs)
      const array = native(8)
      await search.async(array, array, 1, 8, stub); stubs.close()`,
    outcome: 'TENON_SCOPE_HELD',
  },
  'has many parameters and large structs': {
    code: `const stubs = confined(), many = { result: 'int64', parameters: Array(255).fill('int64') }, large = struct({ a: sequence(int64, 2048) })
      attempt(() => Linker.downcall(upcallStub((...values) => values.reduce((a, b) => a + b), many, stubs), many)(...Array(255).fill(2n)))
      attempt(() => upcallStub(() => 1, { parameters: Array(256).fill('int32') }, stubs))
      const one = { result: 'int64', parameters: [large] }, call = Linker.downcall(upcallStub((value) => value.getInt64(16376), one, stubs), one), value = native(16384)
      value.setInt64(16376, 9n); attempt(() => call(value)); console.log((await Promise.all(Array.from({ length: 20 }, () => call.async(value)))).every((given) => given === 9n)); stubs.close()`,
    outcome: 'gave 510, TENON_ARGUMENT, gave 9, true',
  },
  'declares more parameters than its caller passes': {
    code: `const stubs = confined(), large = struct({ a: sequence(int64, 2048) }), counts = Array(16).fill(0)
      for (const parameters of [Array(255).fill('int32'), Array(255).fill('float64'), [large], [large, large]]) {
        const stub = upcallStub((...values) => values.length, { result: 'int32', parameters }, stubs), call = Linker.downcall(stub, { result: 'int32', parameters: ['int32'] })
        console.log(call(1), new Set(await Promise.all(counts.map(() => call.async(1)))).size)
      }
      const again = { result: 'int32', parameters: Array(255).fill('int32') }, other = started(\`const scope = ResourceScope.ofConfined()
        const inner = upcallStub((...values) => values.length, \${JSON.stringify(again)}, scope), signature = { result: 'int32', parameters: ['int32'] }
        const outer = upcallStub((value) => Linker.downcall(inner, signature)(value), signature, scope)
        parentPort.postMessage(Linker.downcall(outer, signature)(1))\`)
      console.log((await once(other, 'message'))[0]); stubs.close()`,
    outcome: '255 1, 255 1, 1 1, 2 1, 255',
  },
  'allocates results in allocators that close, lie or throw': {
    code: `const div = link('div', pair, 'int32', 'int32'), scope = arena()
      for (const allocator of [(size, alignment) => { const memory = scope.allocate(size, alignment); scope.close(); return memory }, { allocate: () => null }, { get allocate() { throw new TypeError('x') } }, () => native(4), () => libc.get('abs'), () => native(8).asReadOnly(), null, () => MemorySegment.ofAddress(8n).reinterpret(8)])
        attempt(() => div(allocator, 17, 5).byteSize)
      const pending = Array.from({ length: 50 }, (_, i) => div.async((size, alignment) => MemorySegment.allocateNative(size, alignment), i, 3))
      await collect(); console.log((await Promise.all(pending))[49].getInt32(0))`,
    outcome:
      'TENON_SCOPE_CLOSED, TENON_ALLOCATION, TypeError, TENON_ALLOCATION, TENON_ALLOCATION, TENON_READ_ONLY, TENON_ARGUMENT, TENON_ARGUMENT, 16',
  },
}

const memory: Readonly<Record<string, Attempt>> = {
  'transfers the buffers of raw views and of users': {
    code: `const scope = arena(), memory = scope.allocate(8), { buffer } = memory.view()
      structuredClone(buffer.transfer())
      for (const use of [() => strlen(memory), () => memory.fill(1), () => memory.atomicLoad('int32', 0), () => memory.getString(0), () => memory.withView(() => 1), () => scope.handoff([memory])]) attempt(use)
      scope.close(); arena().allocate(8).setInt32(0, 1)
      const users = new ArrayBuffer(64), over = MemorySegment.ofBuffer(users); users.transfer()
      for (const use of [() => strlen(over), () => over.fill(0), () => over.view(), () => over.setString(0, 'a')]) attempt(use)`,
    outcome:
      'TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  },
  ...(isInstrumented
    ? {}
    : {
        // An instrumented arena allocates from the system again.
        'allocates from an arena whose memory was transferred': {
          code: `const scope = arena()
            structuredClone(scope.allocate(8).view().buffer.transfer())
            for (const use of [() => strlen(scope.allocate(8)), () => toCString('a text of more than sixteen characters', scope)]) attempt(use)`,
          outcome: 'TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
        },
      }),
  'uses buffers of other contexts': {
    code: `const context = vm.createContext({}), make = (text) => vm.runInContext(text, context)
      for (const buffer of ['new ArrayBuffer(64)', 'new Uint8Array(64)', 'new SharedArrayBuffer(64)', 'new ArrayBuffer(8, { maxByteLength: 64 })'].map(make)) attempt(() => strlen(MemorySegment.ofBuffer(buffer)))
      attempt(() => { const buffer = make('new ArrayBuffer(64)'), over = MemorySegment.ofBuffer(buffer); buffer.transfer(); return strlen(over) })
      attempt(() => native(8).unsafeView(make('Uint8Array')))
      attempt(() => ResourceScope.attach({ tenon: 'confined-scope', segments: [{ buffer: make('new ArrayBuffer(8, { maxByteLength: 64 })'), byteOffset: 0, byteSize: 8, flags: 0 }], transfer: [] }))`,
    outcome: 'gave 0, gave 0, gave 0, TENON_ARGUMENT, TENON_SCOPE_CLOSED, TENON_ARGUMENT, TENON_ARGUMENT',
  },
  'allocates more than there is': {
    code: `const codes = new Set()
      for (const size of [2 ** 40, 2 ** 47, 2 ** 53 - 1]) for (const make of [() => arena().allocate(size), () => native(size), () => NativeScope.ofShared().allocate(size), () => arena().allocate(8, size)]) try { make(); console.log('gave', size) } catch (error) { codes.add(error.code) }
      console.log([...codes].sort().join(' '))`,
    outcome: 'TENON_ALLOCATION TENON_ARGUMENT',
  },
  'makes pointers near null and beyond the address space': {
    code: `for (const [place, size] of [[0, 1], [8n, 8], [4095, 1], [2 ** 48 - 8, 9], [2 ** 53 - 1, 1], [2n ** 64n - 1n, 0]]) attempt(() => MemorySegment.ofAddress(place).reinterpret(size).byteSize)
      const cell = native(8); cell.setInt64(0, 16n); attempt(() => cell.get(address.withTargetLayout(int32), 0))
      const code = libc.get('strlen'); for (const use of [() => code.getUint8(0), () => code.fill(0).byteSize, () => code.asSlice(0, 1), () => code.getString(0), () => code.withView((view) => view.byteLength)]) attempt(use)`,
    outcome:
      'TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, gave 0, TENON_ARGUMENT, TENON_BOUNDS, gave 0, TENON_BOUNDS, TENON_BOUNDS, gave 0',
  },
  'uses mapped files that shrink, and special files': {
    code: `const path = temporary('shrink'), scope = confined(); fs.writeFileSync(path, Buffer.alloc(1 << 20, 7))
      const mapped = MemorySegment.mapFile(path, scope, { access: 'write' }); fs.truncateSync(path, 0)
      console.log(mapped.getUint8(5000), strlen(mapped), mapped.mismatch(mapped.asReadOnly())); memset(mapped, 1, 1 << 20)
      for (const use of ['force', 'isLoaded', 'load', 'unload']) attempt(() => mapped[use]())
      fs.writeFileSync(path, Buffer.alloc(1 << 20, 7)); console.log(mapped.fill(3).getUint8(9)); scope.close(); fs.rmSync(path)
      for (const special of ['/proc/self/mem', '/dev/zero', '/dev/tty', '/']) attempt(() => MemorySegment.mapFile(special, confined()).byteSize)`,
    outcome:
      '0 0n -1, TENON_NATIVE, gave true, gave undefined, TENON_NATIVE, 3, gave 0, TENON_LOAD, TENON_LOAD, TENON_LOAD',
  },
  'maps a file of 64 TiB': {
    code: `const path = temporary('huge'), scope = confined()
      for (const size of [2 ** 40, 2 ** 43, 2 ** 46, 2 ** 53 - 1]) try { const mapped = MemorySegment.mapFile(path, scope, { access: 'write', byteSize: size }); mapped.setString(size - 100, 'far'); if (mapped.getString(size - 100) !== 'far') console.log('wrong') } catch (error) { if (error.code !== 'TENON_NATIVE') throw error }
      scope.close(); fs.rmSync(path); console.log('done')`,
    outcome: 'done',
  },
  'makes layouts that are too deep or too wide': {
    code: `let deep = int32, wide = int8
      for (let i = 0; i < 3000; i++) deep = sequence(deep, 1)
      for (let i = 0; i < 30; i++) wide = struct({ a: wide, b: wide })
      attempt(() => Linker.downcall(libc.get('abs'), { parameters: [struct({ deep })] })); attempt(() => Linker.downcall(libc.get('abs'), { parameters: [wide] }))
      attempt(() => Linker.downcall(libc.get('abs'), { parameters: [struct({ a: int32, b: sequence(sequence(int32, 0), 2 ** 50) })] }).name)
      attempt(() => varHandle(sequence(int32), element(0, 2 ** 53 - 1)).get(native(8), 0, 1)); attempt(() => native(8).toArray(sequence(struct({}), 3)))`,
    outcome: 'RangeError, TENON_ARGUMENT, gave abs, TENON_ARGUMENT, TENON_ARGUMENT',
  },
  'has arguments whose properties throw': {
    code: `const boom = new Proxy({}, { get() { throw new SyntaxError('boom') }, ownKeys() { throw new SyntaxError('keys') } })
      for (const use of [() => ResourceScope.ofConfined(boom), () => NativeScope.ofShared().share(boom), () => Linker.downcall(libc.get('abs'), boom), () => Linker.downcall(libc.get('abs'), {}, boom), () => upcallStub(() => 1, boom, confined()), () => MemorySegment.mapFile('package.json', confined(), boom), () => toCString('a', arena(), boom), () => ResourceScope.attach(boom), () => struct(boom), () => NativeAllocator.allocate(boom, int32)]) attempt(use)`,
    outcome:
      'SyntaxError, SyntaxError, SyntaxError, SyntaxError, SyntaxError, SyntaxError, SyntaxError, SyntaxError, SyntaxError, SyntaxError',
  },
  'has arguments that close the scope when they are converted': {
    code: `const scope = arena(), memory = scope.allocate(64), number = { valueOf: () => (scope.close(), 0) }, text = { toString: () => (scope.close(), 'utf-8') }
      for (const use of [() => memory.getInt32(number), () => memory.setInt32(0, number), () => memory.asSlice(number), () => memory.fill(number), () => memset(memory, number, 64), () => memset(memory, 1, number), () => memory.atomicStore('int32', 0, number),
        () => memory.getString(0, text), () => memory.setString(0, 'a', { charset: text }), () => memory.atomicLoad(text, 0), () => libc.get(text)]) try { use(); console.log('gave') } catch (error) { if (error.code !== 'TENON_ARGUMENT') print(error) }
      console.log(scope.isAlive)`,
    outcome: 'true',
  },
  'has asynchronous calls with arguments that are wrong or change': {
    code: `const scope = arena(), memory = scope.allocate(1 << 16), values = [memory, 1, 1 << 16], pending = memset.async(...values)
      values.length = 0; gc(); await pending; console.log(memory.getInt8(5))
      for (const bad of [null, 'x', 1.5, 2n ** 70n]) await attemptLater(() => memset.async(memory, bad, 8)); scope.close()`,
    outcome: '1, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT',
  },
  'uses names that no system has': {
    code: `const codes = new Set(), names = ['x'.repeat(100_000), '\\ud800', 'a\\0b', '', null, {}, '/dev/zero', '/proc/self/mem', '.']
      for (const name of names) for (const use of [() => libc.get(name), () => SymbolLookup.ofLibrary(name, confined())]) try { use(); console.log('gave', name) } catch (error) { codes.add(error.code) }
      for (const name of names.slice(1, 5)) try { ResourceScope.ofConfined({ name }) } catch (error) { codes.add(error.code) }
      console.log([...codes].sort().join(' '))`,
    outcome: 'TENON_ARGUMENT TENON_LOAD',
  },
  'patches the prototypes of buffers': {
    code: `vm.runInThisContext("0"); const scope = confined(), memory = MemorySegment.allocateNative(64, 8, scope), view = memory.view(), kept = ArrayBuffer.prototype.transfer
      const detached = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'detached')
      Object.defineProperty(ArrayBuffer.prototype, 'detached', { get: () => false, configurable: true }); ArrayBuffer.prototype.transfer = () => view.buffer
      try { const other = MemorySegment.allocateNative(64, 8, scope); kept.call(other.view().buffer); attempt(() => strlen(other)); scope.close(); attempt(() => view.getUint8(0)) } finally { Object.defineProperty(ArrayBuffer.prototype, 'detached', detached); ArrayBuffer.prototype.transfer = kept }`,
    outcome: 'TENON_SCOPE_CLOSED, TypeError',
  },
}

const threads: Readonly<Record<string, Attempt>> = {
  'terminates workers that use shared and moved memory': {
    code: `const shared = NativeScope.ofShared(), counter = shared.allocate(64, 8)
      const sharing = [1, 2].map(() => started("parentPort.on('message', (token) => { for (;;) { try { const { scope, segments } = ResourceScope.attach(token); segments[0].atomicUpdate('int32', 0, 'add', 1); try { scope.close() } catch { scope.detach() } } catch (error) { if (error.code !== 'TENON_SCOPE_CLOSED') throw error; break } } })"))
      for (const worker of sharing) worker.postMessage(shared.share({ segments: [counter], to: worker }))
      const moving = started("parentPort.on('message', (token) => { const { segments } = ResourceScope.attach(token); for (;;) memset(segments[0], 1, 64) })")
      const moved = arena(), token = moved.handoff([moved.allocate(64, 8)]); moving.postMessage(token, token.transfer)
      await sleep(300); await Promise.all([...sharing, moving].map((worker) => worker.terminate())); gc()
      await attemptLater(() => shared.isAlive ? shared.closeAsync({ deadline: 5000 }).catch((error) => { if (error.code !== 'TENON_SCOPE_CLOSED') throw error }) : undefined)`,
    outcome: 'gave undefined',
  },
  'terminates workers in close actions, waits and asynchronous calls': {
    code: `const shared = NativeScope.ofShared(), word = shared.allocate(64, 8)
      const workers = [
        "const scope = ResourceScope.ofConfined(); scope.addCloseAction(() => { parentPort.postMessage(1); for (;;); }); scope.close()",
        "parentPort.once('message', (token) => { const { segments } = ResourceScope.attach(token); parentPort.postMessage(1); segments[0].atomicWait('int32', 0, 0) })",
        "const scope = ResourceScope.ofConfined(), array = MemorySegment.allocateNative(8000), stub = upcallStub(() => 0, comparison, scope); parentPort.postMessage(1); for (;;) await sort.async(array, 1000, 8, stub)",
        "const scope = NativeScope.ofConfined(), memory = scope.allocate(1 << 18); for (let i = 0; i < 20; i++) memset.async(memory, 1, 1 << 18); parentPort.postMessage(1)",
      ].map(started)
      workers[1].postMessage(shared.share({ segments: [word], to: workers[1] }))
      await Promise.all(workers.map((worker) => once(worker, 'message'))); attempt(() => shared.close())
      await Promise.all(workers.map((worker) => worker.terminate())); attempt(() => shared.close())`,
    outcome: 'TENON_SCOPE_HELD, gave undefined',
  },
  'sends messages to workers that have ended, and forges them': {
    code: `const worker = started('0'); await worker.terminate()
      const shared = NativeScope.ofShared(), moved = arena(), token = moved.handoff([moved.allocate(8)])
      worker.postMessage(shared.share({ to: worker })); worker.postMessage(token, token.transfer); attempt(() => shared.close())
      const control = new SharedArrayBuffer(4096), words = new Int32Array(control), forged = { tenon: 'shared-scope', control, segments: [] }
      for (const state of [0, 1, (6 << 2) | 2, 3]) { words[0] = state; attempt(() => ResourceScope.attach(forged).scope.close()) }
      words.fill(9); attempt(() => ResourceScope.attach(forged))`,
    outcome:
      'gave undefined, gave undefined, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_HELD',
  },
  'waits in closeAsync() for a handle that stays': {
    code: `const shared = NativeScope.ofShared(); ResourceScope.attach(shared.share()); shared.whenClosing().then(() => console.log('closing'))
      await shared.closeAsync({ deadline: 50 }).catch(print)`,
    outcome: 'closing, TENON_SCOPE_HELD',
  },
  'opens more handles, stubs and mappings than there are': {
    code: `const shared = NativeScope.ofShared(), token = shared.share(), handles = []
      attempt(() => { for (;;) handles.push(ResourceScope.attach(token).scope) }); console.log(handles.length); for (const handle of handles) handle.detach(); shared.close()
      const scope = confined(); for (let i = 0; i < 5000; i++) upcallStub(() => 0, comparison, scope); scope.close()
      let last; for (let i = 0; i < 2000; i++) last = MemorySegment.mapFile('package.json', ResourceScope.ofImplicit()); attempt(() => last.getUint8(0)); last = undefined; await collect()`,
    outcome: 'TENON_SCOPE_HELD, 1022, gave 123',
  },
}

/** Attempts that share a process, by topic. */
export const groups: Readonly<Record<string, Readonly<Record<string, Attempt>>>> = {
  'that uses memory after close': afterClose,
  'of callbacks': callbacks,
  'with memory': memory,
  'with threads': threads,
}

const stubThat = (statement: string): string =>
  `const stubs = confined(), stub = upcallStub(() => { ${statement} }, comparison, stubs)`

/** Attempts that end their process. */
export const leaving: Readonly<Record<string, Attempt>> = {
  'exits in a callback': { code: `${stubThat('process.exit(0)')}; sort(native(80), 3, 8, stub)`, outcome: '' },
  'exits in a callback of an asynchronous call': {
    code: `${stubThat('process.exit(0)')}; await sort.async(native(80), 3, 8, stub)`,
    outcome: '',
  },
  'exits in a close action': {
    code: `const scope = confined(); scope.addCloseAction(() => process.exit(0)); scope.close()`,
    outcome: '',
  },
  'exits in a cleanup': {
    code: `const scope = confined(); link('malloc', 'pointer', 'uint64')(64).reinterpret(64, scope, () => process.exit(0)); scope.close()`,
    outcome: '',
  },
  'exits while asynchronous calls run': {
    code: `const memory = arena().allocate(1 << 20); for (let i = 0; i < 50; i++) memset.async(memory, 1, 1 << 20); process.exit(0)`,
    outcome: '',
  },
  'exits in the handler of an error of a callback': {
    code: `process.on('uncaughtException', () => process.exit(0)); ${stubThat("throw new Error('x')")}; await sort.async(native(80), 3, 8, stub)`,
    outcome: '',
  },
  'uses everything in an exit listener': {
    code: `const scope = arena(), memory = scope.allocate(64), stubs = confined(), stub = upcallStub(() => 0, comparison, stubs); memset.async(memory, 1, 64)
      process.on('exit', () => { for (const use of [() => memory.byteSize, () => sort(memory, 4, 8, stub), () => MemorySegment.mapFile('package.json', confined()).isMapped, () => native(8).fill(1).getUint8(0)]) attempt(use) }); process.exit(0)`,
    outcome: 'gave 64, gave undefined, gave true, gave 1',
  },
}
