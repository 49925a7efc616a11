import { dtypes, ReadOnlyError, Segment, tensor, tensorType, type Tensor, type DType } from '@tenon/core'
import { READ_ONLY } from '@tenon/core/internal'
import { KernelCrashError } from '@tenon/isolate'
import { kernelLibrary } from '@tenon/kernels'
import { readOnly } from '@tenon/packed-func'
import { SharedMemory } from '@tenon/pools'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { f32, Library, type IsolatedLibrary } from '../src/index.ts'
import { errorOf, fixturePath, outcome, plain } from './isolated.ts'

let library: IsolatedLibrary
let runtime: IsolatedLibrary
let guarded: IsolatedLibrary
const here = Library.open(kernelLibrary('kernels'))
const runtimeHere = Library.open(kernelLibrary('kernels_runtime'))

beforeAll(async () => {
  library = await Library.isolate(kernelLibrary('kernels'))
  runtime = await Library.isolate(kernelLibrary('kernels_runtime'))
  guarded = await Library.isolate(kernelLibrary('kernels'), { guard: true })
})
afterAll(async () => {
  for (const one of [library, runtime, guarded]) await one.closeAsync()
})

const row = (count: number, options = {}): Tensor =>
  tensor(
    'f32',
    [count],
    Float32Array.from({ length: count }, (_, i) => i - 2),
    options,
  )

describe('operands', () => {
  test('in shared memory are not copied, others once', () => {
    const saxpy = library.kernel('saxpy')
    const copied = (): number => library.metrics().copiedBytes
    const [shared, own] = [row(8, { allocator: library.memory }), row(8)]
    const before = copied()
    saxpy(shared, shared, { a: 2 })
    expect(copied()).toBe(before)
    saxpy(shared, own, { a: 2 })
    expect(copied()).toBe(before + 32)
    using memory = SharedMemory.open()
    const [x, y] = [row(8, { allocator: memory }), row(8, { allocator: memory })]
    expect(saxpy(x, y, { a: 1 }, { into: y })).toBe(y)
    expect(copied()).toBe(before + 32)
    expect(y.toArray()).toEqual([-4, -2, 0, 2, 4, 6, 8, 10])
  })

  test('of other libraries are taken, also for results and by asynchronous calls', async () => {
    const saxpy = library.kernel('saxpy')
    const [x, y] = [Float32Array.of(1, 2), { data: Float32Array.of(10, 20), dims: [2] }]
    expect(saxpy(x as never, y, { a: 2 }).toArray()).toEqual([12, 24])
    await saxpy.async(x as never, y, { a: 1 }, { into: y })
    expect([...y.data]).toEqual([11, 22])
    const packed = await Library.isolate(fixturePath('faulty_packed'))
    const echoed = packed.packed('echo')({ data: x, shape: [2], stride: [1], offset: 0 } as never) as Tensor
    expect(echoed.toArray()).toEqual([1, 2])
    await packed.closeAsync()
  })

  test('results lie in the memory of the library, in `into`, or in that of the allocator', () => {
    const softmax = library.kernel('softmax')
    expect(softmax(row(4)).segment.lifetime).toBe(library.memory)
    const into = row(4)
    expect(softmax(row(4), {}, { into })).toBe(into)
    expect(into.toArray()).toEqual(here.kernel('softmax')(row(4)).toArray())
    using arena = library.memory.arena()
    const y = softmax(row(4), {}, { allocator: arena })
    expect(y.toArray()).toEqual(into.toArray())
    arena.close()
    expect(() => y.toArray()).toThrow('closed')
  })

  test('copies are given back after the call, also if it fails or never begins', async () => {
    await using fresh = await Library.isolate(kernelLibrary('kernels'))
    const softmax = fresh.kernel('softmax')
    using arena = fresh.memory.arena({ byteSize: '1 MiB' })
    const into = tensor('f32', [4096], undefined, { allocator: arena })
    const x = row(4096)
    softmax(x, {}, { into })
    const { usedBytes } = fresh.memory.usage
    for (let i = 0; i < 100; i++) softmax(x, {}, { into })
    await Promise.all(Array.from({ length: 100 }, async () => softmax.async(x, {}, { into })))
    expect(fresh.memory.usage.usedBytes).toBe(usedBytes)
    await Promise.allSettled([
      softmax.async(x, { temperature: 'hot' }, { into }),
      softmax.async(x, {}, { into, deadline: -1 }),
      softmax.async(x, {}, { into, signal: AbortSignal.abort() }),
    ])
    expect(fresh.memory.usage.usedBytes).toBe(usedBytes)
  })

  test('operands may overlap, and a result may have the bytes of an operand', () => {
    const saxpy = library.kernel('saxpy')
    const all = row(24)
    const at = (start: number): Tensor => all.slice([start, start + 8]) as Tensor
    const expected = (y: number): unknown[] => Array.from({ length: 8 }, (_, i) => 3 * (i - 2) + y + i - 2)
    saxpy(at(0), at(4), { a: 3 }, { into: at(16) })
    expect(at(16).toArray()).toEqual(expected(4))
    saxpy(at(0), at(8), { a: 3 }, { into: at(8) })
    expect(at(8).toArray()).toEqual(expected(8))
    const inPlace = '(x: s32[4] @donated) -> (y: s32[4] @alias(x))'
    for (const allocator of [undefined, runtime.memory]) {
      const x = tensor('s32', [4], [1, 2, 3, 4], allocator === undefined ? {} : { allocator })
      expect(runtime.kernel('increment', { signature: inPlace })(x)).toBe(x)
      expect(x.toArray()).toEqual([2, 3, 4, 5])
    }
  })

  test('a result with some bytes of an operand is refused, and copies nothing', async () => {
    const saxpy = library.kernel('saxpy')
    for (const allocator of [undefined, library.memory]) {
      const all = row(24, allocator === undefined ? {} : { allocator })
      const at = (start: number): Tensor => all.slice([start, start + 8]) as Tensor
      const { copiedBytes } = library.metrics()
      for (const start of [4, 12]) {
        const call = [at(8), at(16), { a: 3 }, { into: at(start) }] as const
        const reason = /^z of saxpy must not overlap a part of x of saxpy, got 16 common bytes/
        expect(() => saxpy(...call)).toThrow(reason)
        await expect(saxpy.async(...call)).rejects.toThrow(reason)
        const [{ status }] = (await saxpy.batch([call])) as [PromiseSettledResult<unknown>]
        expect(status).toBe('rejected')
      }
      expect(library.metrics().copiedBytes).toBe(copiedBytes)
    }
  })

  test.each([false, true])('a packed function cannot change a read-only tensor, guard: %s', async (guard) => {
    await using packed = await Library.isolate(kernelLibrary('packed'), { guard })
    const addOne = packed.packed('add_one')
    // Without guard, a worker that has written to shared memory can write to all of it.
    for (const allocator of guard ? [undefined, packed.memory] : [undefined]) {
      const options = allocator === undefined ? {} : { allocator }
      const [x, y] = [row(4, options), row(4, options)]
      const { block, base, byteSize } = y.segment
      const sealed = tensor('f32', [4], new Segment(block, base, byteSize, READ_ONLY))
      await expect(addOne.async(x, sealed)).rejects.toThrow('argument 2: a tensor must be writable')
      for (const from of [x, readOnly(sealed)]) {
        const error = await addOne.async(from, readOnly(sealed)).then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
        // A write to a copy has no effect.
        if (error !== undefined || guard) expect(error).toBeInstanceOf(KernelCrashError)
        expect(y.toArray()).toEqual(row(4).toArray())
      }
      expect(() => addOne(sealed, x)).toThrow(ReadOnlyError)
      expect(() => addOne(readOnly(sealed), sealed)).toThrow(ReadOnlyError)
      addOne(readOnly(sealed), x)
      expect(x.toArray()).toEqual([-1, 0, 1, 2])
      // The signature says that operands are only read.
      const signature = '(x: f32[n]) -> (y: f32[n])'
      expect(packed.kernel('add_one', { signature })(sealed).toArray()).toEqual([-1, 0, 1, 2])
    }
  })

  const xlaTypes = dtypes.filter(({ xla }) => xla !== undefined).map(({ name }) => name)

  test.each(xlaTypes)('all element types cross with their bits: %s', (name: DType) => {
    const bytes = 16
    const type = tensorType(name, [bytes / tensorType(name, [1]).byteSize])
    const make = (): Tensor => {
      const x = tensor(name, type.shape)
      x.block.bytes.set(
        Uint8Array.from({ length: bytes }, (_, i) => (i * 73 + 1) & 0xff),
        x.base,
      )
      return x
    }
    const expected = plain(runtimeHere.kernel('increment')(make(), { results: [type] }))
    expect(plain(runtime.kernel('increment')(make(), { results: [type] }))).toEqual(expected)
  })

  test('more operands than a slot has, and none', () => {
    const sum = library.kernel('optional_sum')
    for (const count of [0, 36, 37, 38, 39, 40, 41, 300]) {
      const more = (): Tensor[] => Array.from({ length: count }, () => row(3))
      expect(sum(row(3), row(3), more()).toArray()).toEqual(
        here.kernel('optional_sum')(row(3), row(3), more()).toArray(),
      )
    }
  })

  test('layouts, alignments and views', () => {
    const square = tensor('f64', [2, 2], [4, 1, 2, 3])
    const cholesky = library.kernel('cholesky')
    const expected = plain(here.kernel('cholesky')(square))
    expect(plain(cholesky(square))).toEqual(expected)
    expect(plain(cholesky(square.toLayout('cm')))).toEqual(expected)
    expect(plain(cholesky(tensor('f64', [2, 2], [4, 1, 2, 3], { allocator: library.memory })))).toEqual(expected)
    for (const args of [
      (): unknown[] => [square.transpose()],
      (): unknown[] => [square, { alignment: 4096 }],
      (): unknown[] => [square, { alignment: 3 }],
      (): unknown[] => [square, { layouts: { operands: { a: [1, 0] } } }],
      (): unknown[] => [tensor('f64', [3, 2])],
    ]) {
      const call = (one: { kernel: Library['kernel'] | IsolatedLibrary['kernel'] }): unknown =>
        outcome(() => one.kernel('cholesky')(...(args() as never[])))
      if (!JSON.stringify(args()).includes('4096')) expect(call(library)).toEqual(call(here))
    }
    const x = row(9).slice([1, 9]) as Tensor
    expect(library.kernel('softmax')(x).toArray()).toEqual(here.kernel('softmax')(x).toArray())
  })

  test('with guard, results and copies end at the end of a page', () => {
    const softmax = guarded.kernel('softmax')
    for (const count of [1, 15, 16, 17, 1024, 5000]) {
      const y = softmax(row(count))
      expect(y.toArray()).toEqual(here.kernel('softmax')(row(count)).toArray())
      expect((4096 - ((y.address + y.type.byteSize) % 4096)) % 4096).toBeLessThan(64)
      const into = row(count)
      softmax(into, {}, { into })
      expect(into.toArray()).toEqual(y.toArray())
    }
  })

  test('memory that is closed is refused, and held while a call uses it', async () => {
    const memory = SharedMemory.open()
    const x = tensor('f32', [4], [1, 2, 3, 4], { allocator: memory })
    const running = library.kernel('softmax').async(x)
    expect(() => memory.close()).toThrow('cannot be closed')
    await running
    memory.close()
    expect(await errorOf(() => library.kernel('softmax')(x))).toMatchObject({ code: 'TENON_SCOPE_CLOSED' })
  })
})

describe('options', () => {
  test('those that cannot be kept in another process are refused by name', () => {
    const softmax = library.kernel('softmax')
    const call = (options: object): unknown => softmax(row(2), {}, options as never)
    expect(() => call({ stream: 0n })).toThrow(
      'stream must not be given to softmax, which runs on the CPU of another process',
    )
    expect(() => call({ resources: { hostScratch: true } })).toThrow('must not have the option "hostScratch"')
    expect(() => call({ resources: { userData: [] } })).toThrow('must not have the option "userData"')
    expect(() => call({ resources: { deviceOrdinal: 3 } })).not.toThrow()
    expect(() => library.kernel('softmax', { platform: 'CUDA' })).toThrow('the platform of softmax must be Host')
    expect(() => library.kernel('softmax', { allowNewerApi: true })).toThrow('allowNewerApi must not be given')
    const lent = '(x: f32[n]) -> (y: f32[n]); factor: pointer'
    expect(() => library.kernel('clip_v4', { signature: lent })(row(2), { factor: row(2) })).toThrow(
      'factor of clip_v4 must not be an address',
    )
    const prepare = (softmax as never as { prepare(types: unknown[]): unknown }).prepare
    expect(() => prepare([f32([2])])).toThrow('softmax must be called without prepare()')
  })

  test('wrong ones are refused before anything is copied', () => {
    const softmax = library.kernel('softmax')
    const { copiedBytes } = library.metrics()
    const wrong: Readonly<Record<string, unknown[]>> = {
      deadline: [0, -1, Number.NaN, '1s'],
      priority: ['urgent', 1],
      affinity: [1, {}],
      idempotent: ['yes'],
      signal: [{}, new AbortController()],
    }
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values)
        expect(() => softmax(row(2), {}, { [name]: value } as never)).toThrow(`${name} must be`)
    }
    expect(() => softmax(row(2), {}, { priorty: 'high' } as never)).toThrow('Did you mean priority?')
    expect(() => softmax(row(2), { deadline: 5 })).toThrow('softmax does not have an attribute named deadline')
    expect(library.metrics().copiedBytes).toBe(copiedBytes)
  })

  test.each([0.5, 2 ** 40, Infinity])('a call may have the deadline %d ms, as a library may', async (deadline) => {
    await using own = await Library.isolate(kernelLibrary('kernels'), { deadline })
    const call = { deadline: Math.max(deadline, 10_000) }
    expect((await library.kernel('softmax').async(row(2), {}, call)).shape).toEqual([2])
    expect(own.health().state).toBe('ready')
  })

  test('each is read once, and hostile values are errors', async () => {
    const reads: string[] = []
    const counting = new Proxy(
      { deadline: 1000, priority: 'high' },
      {
        get: (target, key) => {
          reads.push(String(key))
          return Reflect.get(target, key) as unknown
        },
      },
    )
    library.kernel('softmax')(row(2), {}, counting as never)
    expect(reads.filter((key) => key === 'deadline')).toHaveLength(1)
    const throwing = {
      get deadline(): number {
        throw new Error('no')
      },
    }
    expect(() => library.kernel('softmax')(row(2), {}, throwing as never)).toThrow('no')
    expect(() => library.kernel('softmax')(new Proxy(row(2), {}) as never)).toThrow('got a Proxy')
    await expect(library.kernel('softmax').batch(null as never)).rejects.toThrow('must be an array of at most')
    const [one, two] = await library.kernel('softmax').batch([null as never, [row(2)]])
    expect(one).toMatchObject({ status: 'rejected' })
    expect(two).toMatchObject({ status: 'fulfilled' })
    expect(await library.kernel('softmax').batch([])).toEqual([])
  })

  test('of Library.isolate() are checked', async () => {
    const isolate = async (options: object): Promise<unknown> => Library.isolate(kernelLibrary('kernels'), options)
    for (const options of [
      { workers: 0 },
      { workers: 65 },
      { deadline: -1 },
      { memory: '12 parsecs' },
      { guard: 1 },
      { callbacks: 'yes' },
      { host: 'deno' },
      { queue: -1 },
      { worker: 2 },
    ]) {
      const error = await errorOf(async () => isolate(options)).catch(() => ({ code: 'none' }))
      expect([options, error.code]).toEqual([options, expect.stringMatching(/^TENON_ARGUMENT/)])
    }
    expect(await errorOf(async () => Library.isolate('/nowhere/libmissing.so'))).toMatchObject({
      code: 'TENON_LOAD',
      sentence: 'the library /nowhere/libmissing.so does not exist',
    })
    expect(await errorOf(async () => Library.isolate(import.meta.filename))).toMatchObject({ code: 'TENON_LOAD' })
    expect(await errorOf(async () => Library.isolate(1 as never))).toMatchObject({ code: 'TENON_ARGUMENT' })
  })
})

describe('an isolated library', () => {
  test('is never loaded in this process', async () => {
    const { readFileSync } = process.getBuiltinModule('node:fs')
    await using faulty = await Library.isolate(fixturePath('faulty'))
    expect(faulty.kernel('faulty')(row(2)).toArray()).toEqual([-4, -2])
    expect(readFileSync('/proc/self/maps', 'utf8')).not.toContain('libfaulty')
  })

  test('prints as one line, and has no kernels or calls after close', async () => {
    const { inspect } = process.getBuiltinModule('node:util')
    const closing = await Library.isolate(kernelLibrary('kernels'), { workers: 2 })
    expect(inspect(closing)).toBe(`IsolatedLibrary ${kernelLibrary('kernels')} (ready)`)
    expect(inspect(closing.kernel('softmax'))).toMatch(/^\[Function: softmax\]$/)
    expect(closing.health().workers).toHaveLength(2)
    const softmax = closing.kernel('softmax')
    const kept = softmax(row(3))
    const running = softmax.async(row(3))
    const closed = closing.closeAsync()
    expect(await errorOf(() => softmax(row(3)))).toMatchObject({ code: 'TENON_SCOPE_CLOSED' })
    await closed
    expect((await running).toArray()).toEqual(kept.toArray())
    expect(inspect(closing)).toContain('(closed)')
    expect(() => closing.kernel('softmax')).toThrow('is closed')
    expect(() => closing.packed('x')).toThrow('is closed')
    expect(() => closing.kernels()).toThrow('is closed')
    await expect(closing.restart()).rejects.toThrow('is closed')
    await closing.closeAsync()
    await closing[Symbol.asyncDispose]()
  })

  test('closeAsync({ deadline }) ends calls that go on', async () => {
    const closing = await Library.isolate(fixturePath('faulty'))
    await expect(closing.closeAsync({ deadline: -1 })).rejects.toThrow('deadline must be')
    await expect(closing.closeAsync({ timeout: 1 } as never)).rejects.toThrow('must not have the option "timeout"')
    const hanging = closing.kernel('faulty').async(row(2), { fault: 8 })
    const failed = errorOf(async () => hanging)
    await closing.closeAsync({ deadline: 100 })
    expect(await failed).toMatchObject({ code: 'TENON_SCOPE_CLOSED' })
    expect(closing.health().state).toBe('closed')
  })

  test('lists the kernels of the file, and refuses unknown names with similar ones', async () => {
    expect(library.kernels().map(({ name }) => name)).toEqual(here.kernels().map(({ name }) => name))
    for (const name of ['softmacks', 'call', '', 'twice_v5\0']) {
      expect(outcome(() => library.kernel(name))).toEqual(outcome(() => here.kernel(name)))
    }
    expect(outcome(() => library.kernel('softmax', { convention: 'host' }))).toEqual(
      outcome(() => here.kernel('softmax', { convention: 'host' })),
    )
  })

  test('a state lives in its worker, and restart() makes new ones', async () => {
    await using one = await Library.isolate(fixturePath('faulty'), { workers: 2 })
    const counter = one.kernel('counter')
    const runs = (): unknown => (counter({}, { affinity: 'a' }) as Tensor).toArray()[0]
    expect([runs(), runs(), runs()]).toEqual([1n, 2n, 3n])
    expect((counter({ start: 10n }, { affinity: 'a' }) as Tensor).toArray()[0]).toBe(11n)
    await one.restart()
    expect(runs()).toBe(1n)
    expect(await errorOf(() => counter({ start: -1n }))).toMatchObject({
      codeName: 'OUT_OF_RANGE',
      stage: 'instantiate',
    })
  })
})
