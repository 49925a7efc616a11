import { packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { runScript } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'
import { expect, test } from 'vitest'

/** The prelude of every attempt: kernels, tensors, calls, and ways to misuse them. */
const prelude = `
  import { NativeLibrary, parseSignature, tensor } from '@tenon/core'
  import * as C from '@tenon/custom-call'
  import { NativeScope } from '@tenon/scope'
  const { f32, s32, s64 } = C
  const library = NativeLibrary.open(${JSON.stringify(kernelLibrary('kernels'))})
  const throwing = NativeLibrary.open(${JSON.stringify(kernelLibrary('kernels_cpp'))})
  const add = C.typedHandler(library, 'broadcast_add')
  const wait = C.typedHandler(library, 'wait_for_flag')
  const type = f32([4096])
  const make = (value = 1, allocator) => tensor('f32', [4096], new Float32Array(4096).fill(value), allocator && { allocator })
  const prepare = () => add.prepare({ operands: [type, type], results: [type] })
  const collect = () => { for (let i = 0; i < 4; i++) { globalThis.gc(); Array.from({ length: 50 }, () => new Float32Array(4096).fill(7)) } }
  const getter = (list, index, get) => Object.defineProperty([...list], index, { get, enumerable: true })
  const transfer = (of) => { of.view().buffer.transfer(); collect() }
  const scoped = () => { const scope = NativeScope.ofConfined(); return { scope, x: make(1, scope) } }
  const target = (run) => C.FunctionTarget.open('hostile', '(x: f32[4096]) -> (y: f32[4096])', run)
  const [a, b, y] = [make(1), make(2), make(0)]
  const tries = {}
`

/** Each try either throws a Tenon error or ends, and the process survives. */
const tries = `
  tries['run after the call is closed'] = () => { const c = prepare(); c.close(); c.run([a, b], [y]) }
  tries['run after the library is closed'] = () => {
    const l = NativeLibrary.open(${JSON.stringify(kernelLibrary('kernels'))})
    const c = C.typedHandler(l, 'broadcast_add').prepare({ operands: [type, type], results: [type] })
    l.close(); c.run([a, b], [y])
  }
  tries['run bound after close'] = () => { const c = prepare(); const k = c.bind([a, b], [y]); k.close(); k.run() }
  tries['run batch after close'] = () => { const k = C.batch([{ call: prepare(), operands: [a, b], results: [y] }]); k.close(); k.run() }
  tries['operand of a closed scope'] = () => { const { scope, x } = scoped(); scope.close(); prepare().run([x, b], [y]) }
  tries['result of a closed scope'] = () => { const { scope, x } = scoped(); scope.close(); prepare().run([a, b], [x]) }
  for (const form of ['run', 'runAsync', 'bind']) {
    tries[form + ': getter closes an earlier operand'] = async () => {
      const { scope, x } = scoped()
      const made = await prepare()[form](getter([x, b], 1, () => { if (scope.isAlive) scope.close(); collect(); return b }), [y])
      made?.run()
    }
    tries[form + ': getter transfers an earlier operand'] = async () => {
      const x = make(1)
      const made = await prepare()[form](getter([x, b], 1, () => { transfer(x); return b }), [y])
      made?.run()
    }
    tries[form + ': getter closes the call'] = async () => {
      const c = prepare()
      const made = await c[form](getter([a, b], 1, () => { if (c.isAlive) c.close(); return b }), [y])
      made?.run()
    }
    tries[form + ': getter returns another type'] = async () => {
      let reads = 0
      const made = await prepare()[form](getter([a, b], 1, () => (reads++ ? b : tensor('f32', [2]))), [y])
      made?.run()
    }
    tries[form + ': getter shrinks the array'] = async () => {
      const list = getter([a, b], 0, () => { list.length = 1; return a })
      const made = await prepare()[form](list, [y])
      made?.run()
    }
    tries[form + ': array with a lying length'] = async () => {
      let reads = 0
      const lying = new Proxy([a, b], { get: (of, key) => (key === 'length' ? (reads++ ? 1e9 : 2) : of[key]) })
      const made = await prepare()[form](lying, [y])
      made?.run()
    }
    tries[form + ': proxy of a tensor with another address'] = async () => {
      const made = await prepare()[form]([new Proxy(a, { get: (of, key) => (key === 'lo' || key === 'hi' ? 64 : of[key]) }), b], [y])
      made?.run()
    }
    tries[form + ': array-like operands'] = async () => { (await prepare()[form]({ length: 2, 0: a, 1: b }, { length: 1, 0: y }))?.run() }
    tries[form + ': objects that look like tensors'] = async () => {
      const fake = { ...a, type, lo: 64, hi: 0, gate: { open: true }, device: { type: 1 }, block: { exposed: false }, flags: 0 }
      await prepare()[form]([fake, b], [y])
    }
  }
  tries['getter runs the same call'] = () => { const c = prepare(); c.run(getter([a, b], 1, () => { c.run([b, b], [make()]); return b }), [y]) }
  tries['bound memory is transferred'] = () => { const x = make(1); const k = prepare().bind([a, b], [x]); transfer(x); k.run(); k.run() }
  tries['batch memory is transferred'] = () => {
    const x = make(1); const k = C.batch([{ call: prepare(), operands: [a, b], results: [x] }]); transfer(x); k.run()
  }
  tries['bound memory is collected'] = () => { const k = prepare().bind([make(1), make(2)], [make(0)]); collect(); k.run(); collect(); k.run() }
  tries['prepared call is dropped'] = () => { for (let i = 0; i < 200; i++) prepare(); collect() }
  tries['operands of an asynchronous run are dropped'] = async () => {
    const runs = Array.from({ length: 50 }, () => prepare().runAsync([make(1), make(2)], [make(0)])); collect(); await Promise.all(runs)
  }
  tries['asynchronous run is aborted, and its memory collected'] = async () => {
    const flag = tensor('s32', [])
    const run = wait.prepare({ operands: [s32([])], results: [s32([])] }).runAsync([flag], [tensor('s32', [])], { deadline: 5 })
    await run.catch(() => {}); collect(); flag.view()[0] = 1; await new Promise((f) => setTimeout(f, 20)); collect()
  }
  tries['scope is closed beside an asynchronous run'] = async () => {
    const scope = NativeScope.ofConfined(); const flag = tensor('s32', [], [0], { allocator: scope })
    const run = wait.prepare({ operands: [s32([])], results: [s32([])] }).runAsync([flag], [tensor('s32', [])])
    let error; try { scope.close() } catch (e) { error = e }
    flag.view()[0] = 1; await run; scope.close(); throw error
  }
  tries['function closes itself'] = () => { const t = target(() => t.close()); const c = t.handler.prepare({ operands: [type], results: [type] }); c.run([a], [y]) }
  tries['function closes its call'] = () => { const t = target(() => c.close()); const c = t.handler.prepare({ operands: [type], results: [type] }); c.run([a], [y]) }
  tries['function closes its memory'] = () => {
    const { scope, x } = scoped(); const t = target(() => scope.close()); t.handler.prepare({ operands: [type], results: [type] }).run([x], [y])
  }
  tries['function keeps lent memory'] = () => {
    let kept; const t = target(([x]) => { kept = x.view() })
    const d = C.typedHandler(library, 'delegate').prepare({ operands: [type], results: [type], attrs: { handler: s64(t.address), elsewhere: C.pred(false) } })
    d.run([a], [y]); collect(); return kept[0]
  }
  tries['function recurses without end'] = () => {
    const t = target(([x], [z]) => t.handler.prepare({ operands: [type], results: [type] }).run([x], [z]))
    t.handler.prepare({ operands: [type], results: [type] }).run([a], [y])
  }
  tries['function is called from another thread'] = () => {
    const t = target(() => {})
    C.typedHandler(library, 'delegate').prepare({ operands: [type], results: [type], attrs: { handler: s64(t.address), elsewhere: C.pred(true) } }).run([a], [y])
  }
  tries['function is called after close'] = () => {
    const t = target(() => {}); const { address } = t; t.close(); collect()
    C.typedHandler(library, 'delegate').prepare({ operands: [type], results: [type], attrs: { handler: s64(address), elsewhere: C.pred(false) } }).run([a], [y])
  }
  tries['function runs the garbage collector'] = () => { const t = target(collect); for (let i = 0; i < 3; i++) t.handler.prepare({ operands: [type], results: [type] }).run([make()], [make()]) }
  tries['function throws everything'] = () => {
    for (const value of [null, undefined, 1n, Symbol('s'), {}, [], new Proxy({}, { get() { throw 1 } }), 'x'.repeat(1e6), '\\0', '\\ud800']) {
      const t = target(() => { throw value })
      try { t.handler.prepare({ operands: [type], results: [type] }).run([a], [y]) } catch {}
    }
  }
  for (const symbol of ['throw_string', 'throw_chars', 'throw_null', 'throw_reason', 'throw_bad_alloc', 'throw_long_text']) {
    tries[symbol] = () => C.hostFunction(throwing, symbol).prepare({}).run([], [])
    tries[symbol + ', asynchronous'] = () => C.hostFunction(throwing, symbol).prepare({}).runAsync([], [])
  }
  tries['deleter throws'] = () => C.typedHandler(throwing, { execute: 'throwing_state', instantiate: 'throwing_state_instantiate' }).prepare({}).close()
  tries['deleter throws in the collector'] = async () => {
    process.once('uncaughtException', () => {})
    C.typedHandler(throwing, { execute: 'throwing_state', instantiate: 'throwing_state_instantiate' }).prepare({}); collect()
    await new Promise((f) => setTimeout(f, 20))
  }
  tries['attributes with getters'] = () => {
    let n = 0; const attrs = { get a() { return n++ ? s64(1n) : f32(1) } }
    C.typedHandler(library, 'saxpy').prepare({ operands: [type, type], results: [type], attrs }).run([a, b], [y])
  }
  tries['attributes that contain themselves'] = () => { const attrs = {}; attrs.a = attrs; add.prepare({ operands: [type, type], results: [type], attrs }) }
  tries['attribute array of a transferred buffer'] = () => {
    const list = new Float32Array(8); structuredClone(list.buffer, { transfer: [list.buffer] }); add.prepare({ operands: [type, type], results: [type], attrs: { list } })
  }
  tries['pointer attribute of a closed scope'] = () => { const { scope, x } = scoped(); scope.close(); C.ptr(x) }
  tries['opaque that is resized'] = () => {
    const bytes = new Uint8Array(new ArrayBuffer(8, { maxByteLength: 64 })); bytes.buffer.resize(0); C.str(bytes)
  }
  tries['negative and huge options'] = () => {
    for (const deviceOrdinal of [-1, 2 ** 31, 2 ** 53, Number.NaN, '1']) try { add.prepare({ operands: [type, type], results: [type], deviceOrdinal }) } catch {}
    for (const alignment of [0, 3, 2 ** 40, -64]) try { add.prepare({ operands: [type, type], results: [type], alignment }) } catch {}
  }
  tries['signature read through a proxy'] = () => {
    C.targetCall(new Proxy(parseSignature('x', '(x: f32[n]) -> (y: f32[n])'), {}), add)(a)
  }
  tries['registry entered while it is listed'] = () => {
    const r = new C.TargetRegistry(); r.registerFunction('f', '() -> ()', () => r.unregister('f')); r.prepare('f', {}).run([], [])
  }
`

const cwd = fileURLToPath(new URL('..', import.meta.url))
const options = { cwd, nodeOptions: [...packageFlags, '--no-warnings', '--expose-gc'], timeout: 60_000 }

test('hostile uses of calls end with errors, and never with a signal', { timeout: 70_000 }, async () => {
  const run = `
    for (const [name, attempt] of Object.entries(tries)) {
      console.log(name)
      try { await attempt() } catch (error) {
        if (!/^TENON_/.test(error?.code ?? '') && !(error instanceof RangeError && /stack/.test(error.message))) {
          console.log('  not an error of Tenon:', error)
        }
      }
      collect()
    }
    // Everything still works.
    prepare().run([make(1), make(2)], [y])
    console.log('survived', Object.keys(tries).length, y.toArray()[4095])
  `
  const { code, signal, stdout, stderr, timedOut } = await runScript(prelude + tries + run, options)
  const lines = stdout.trimEnd().split('\n')
  expect({ code, signal, timedOut, stderr, last: lines.at(-1) }).toStrictEqual({
    code: 0,
    signal: null,
    timedOut: false,
    stderr: '',
    last: `survived ${lines.length - 1} 3`,
  })
})
