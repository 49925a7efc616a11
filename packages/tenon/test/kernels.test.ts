import { inspect } from 'node:util'
import {
  ArgumentError,
  LoadError,
  ReadOnlyError,
  ScopeClosedError,
  ScopeHeldError,
  Segment,
  tensor,
  type Tensor,
} from '@tenon/core'
import { READ_ONLY } from '@tenon/core/internal'
import { DeadlineExceededError } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { readOnly, type PackedFunc } from '@tenon/packed-func'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { f32, Library, NativeScope } from '../src/index.ts'
import { thrownBy } from './thrown-by.ts'

const path = kernelLibrary('kernels')

describe('Library.kernels()', () => {
  test('lists the kernels of every convention, sorted by name, without calling anything', () => {
    using library = Library.open(path)
    const kernels = library.kernels()
    const names = kernels.map(({ name }) => name)
    expect(names).toEqual(names.toSorted())
    const softmax = kernels.find(({ name }) => name === 'softmax')
    expect(softmax).toMatchObject({ convention: 'typed', source: 'library', isComplete: true })
    expect(kernels.find(({ name }) => name === 'do_custom_call')).toMatchObject({ convention: 'host' })
    expect(kernels.find(({ name }) => name === 'clip_v3')).toMatchObject({ convention: 'typed', source: 'none' })
    using packed = Library.open(kernelLibrary('packed'))
    expect(packed.kernels().find(({ name }) => name === 'add_one')).toMatchObject({ convention: 'packed' })
  })

  test('a kernel without a signature prints as one line', () => {
    using library = Library.open(path)
    const unsigned = library.kernels().find(({ name }) => name === 'clip_v3')
    expect(inspect(unsigned)).toBe('clip_v3: a typed kernel without a signature')
  })

  test('lists the handlers that the library registers when it is loaded, which kernel() can call', () => {
    const registering = Library.open(kernelLibrary('kernels_runtime'))
    expect(registering.kernels().map(({ name }) => name)).toContain('negate')
    const x = tensor([1, 2])
    const negate = registering.kernel('negate', { signature: '(x: f32[n]) -> (y: f32[n])', registered: true })
    expect(negate(x).toArray()).toEqual([-1, -2])
    expect(
      registering
        .kernel('negate')(x, { results: [x.type] })
        .toArray(),
    ).toEqual([-1, -2])
    registering.close()
  })
})

describe('Library.kernel()', () => {
  test('calls a typed handler with operands, attributes and options', async () => {
    using library = Library.open(path)
    const softmax = library.kernel('softmax')
    const x = tensor([
      [1, 2],
      [3, 4],
    ])
    const y = softmax(x, { temperature: 2 })
    expectTypeOf(y).toEqualTypeOf<Tensor>()
    expect(y.shape).toEqual([2, 2])
    expect(softmax(x).toArray()[0]).toBeCloseTo(0.2689)
    const into = tensor('f32', [2, 2])
    expect(softmax(x, {}, { into })).toBe(into)
    expect((await softmax.async(x, { temperature: 2 })).toArray()).toEqual(y.toArray())
    const topk = library.kernel<{ values: Tensor; indices: Tensor }>('topk')
    const { values, indices } = topk(tensor([3, 1, 2]), { k: 2 })
    expect([values.toArray(), indices.toArray()]).toEqual([
      [3, 2],
      [0, 2],
    ])
  })

  test('a packed function refuses prepare(), with and without a signature', () => {
    using library = Library.open(kernelLibrary('packed'))
    for (const options of [{ signature: '(x: f32[n]) -> (y: f32[n])' }, {}]) {
      expect(() => library.kernel('add_one', options).prepare([tensor([1])])).toThrow(
        /add_one must be called without prepare\(\)/,
      )
    }
  })

  test('a packed function reads read-only operands if its signature declares them, and refuses other read-only tensors', async () => {
    using library = Library.open(kernelLibrary('packed'))
    const { block, base, byteSize } = tensor([1, 2]).segment
    const sealed = tensor('f32', [2], new Segment(block, base, byteSize, READ_ONLY))
    const addOne = library.kernel('add_one', { signature: '(x: f32[n]) -> (y: f32[n])' })
    expect(addOne(sealed).toArray()).toEqual([2, 3])
    expect((await addOne.async(sealed)).toArray()).toEqual([2, 3])
    expect(() => addOne(sealed, { into: sealed })).toThrow(ReadOnlyError)
    for (const plain of [library.kernel('add_one'), library.packed('add_one')] as unknown as PackedFunc[]) {
      expect(() => plain(sealed, tensor('f32', [2]))).toThrow(ReadOnlyError)
      plain(readOnly(sealed), tensor('f32', [2]))
    }
    expect(sealed.toArray()).toEqual([1, 2])
  })

  test('a packed function with a signature refuses a result that overlaps a part of an operand', async () => {
    using library = Library.open(kernelLibrary('packed'))
    using scope = NativeScope.ofConfined()
    const memory = scope.allocate(64, 16)
    const [x, y] = [0, 4].map((at) => tensor('f32', [4], memory.asSlice(at, 16))) as [Tensor, Tensor]
    await using isolated = await Library.isolate(kernelLibrary('packed'))
    for (const one of [library, isolated]) {
      const addOne = one.kernel('add_one', { signature: '(x: f32[n]) -> (y: f32[n])' })
      expect(() => addOne(x, { into: y })).toThrow(
        'y of add_one must not overlap a part of x of add_one, got 12 common bytes',
      )
      x.set([1, 2, 3, 4])
      expect(addOne(x, { into: x }).toArray()).toEqual([2, 3, 4, 5])
    }
  })

  test('has the signature, the handler and prepare()', () => {
    using library = Library.open(path)
    const softmax = library.kernel('softmax')
    expect(softmax.name).toBe('softmax')
    expect(softmax.signature.attributes.map(({ name }) => name)).toEqual(['temperature'])
    expect(String(softmax.handler)).toBe('TypedHandler softmax (XLA FFI 0.1, Host)')
    using call = softmax.prepare([f32([2, 2])], { temperature: 1 })
    const [x, y] = [
      tensor([
        [0, 0],
        [0, 0],
      ]),
      tensor('f32', [2, 2]),
    ]
    call.run([x], [y])
    expect(y.toArray()).toEqual([0.5, 0.5, 0.5, 0.5])
    call.close()
  })

  test('a kernel without a signature takes its results and attributes behind the operands', () => {
    using library = Library.open(path)
    const clip = library.kernel('clip_v3')
    const x = tensor([-1, 2])
    expect(clip.signature.source).toBe('none')
    expect(clip(x, { results: [x.type], attrs: { low: f32(0), high: f32(1) } }).toArray()).toEqual([0, 1])
    expect(thrownBy(() => clip(x)).sentence).toMatch(/^results must be an array of tensors or types/)
    expect(thrownBy(() => clip(x, {}, {})).sentence).toMatch(/^operand 1 of clip_v3 must be a tensor/)
    using runtime = Library.open(kernelLibrary('kernels_runtime'))
    const four = tensor('s32', [4], [1, 2, 3, 4])
    expect(
      runtime
        .kernel('increment')(four, { results: [four] })
        .toArray(),
    ).toEqual([2, 3, 4, 5])
  })

  test('no convention is guessed', () => {
    using library = Library.open(path)
    const [unmarked] = ['rms_norm_unmarked']
    expect(thrownBy(() => library.kernel(unmarked))).toBeInstanceOf(LoadError)
    expect(thrownBy(() => library.kernel('sofmax')).hint).toBe('Did you mean softmax?')
    expect(thrownBy(() => library.kernel('softmax', { convention: 'host' }))).toBeInstanceOf(ArgumentError)
    expect(thrownBy(() => library.kernel('softmax', { convention: 'magic' as never })).sentence).toMatch(
      /^convention must/,
    )
    expect(thrownBy(() => library.kernel('softmax', { frame: 5 } as never)).hint).toBe('Did you mean frames?')
    expect(thrownBy(() => library.kernel('softmax', { frames: 65 })).sentence).toMatch(/^frames must be a whole number/)
  })

  test('the option signature replaces that of the library', () => {
    using library = Library.open(path)
    const scale = library.kernel('softmax', { signature: '(in: f32[r, c]) -> (out: f32[r, c]); temperature: f32' })
    expect(scale.signature).toMatchObject({ source: 'option', convention: 'typed' })
    expect(thrownBy(() => scale(tensor([[1]]))).sentence).toBe('temperature of softmax must be f32, got no value')
    expect(thrownBy(() => scale(tensor([1]), { temperature: 1 })).sentence).toContain('in of softmax must be')
    const host = library.kernel('do_custom_call', { signature: '(b: f32[m], c: f32[n]) -> (a: f32[n])' })
    expect(host(tensor('f32', [128]), tensor('f32', [2048])).shape).toEqual([2048])
  })

  test('closing the library refuses kernels, calls and functions of every convention', () => {
    const library = Library.open(path)
    const softmax = library.kernel('softmax')
    const x = tensor([[1, 2]])
    softmax(x)
    const packed = Library.open(kernelLibrary('packed'))
    const addOne = packed.packed('add_one')
    const kernel = packed.kernel('add_one')
    expect(packed.packed('add_one')).toBe(addOne)
    library.close()
    packed.close()
    expect(thrownBy(() => softmax(x))).toBeInstanceOf(ScopeClosedError)
    expect(thrownBy(() => library.kernel('softmax'))).toBeInstanceOf(ScopeClosedError)
    expect(thrownBy(() => library.kernels())).toBeInstanceOf(ScopeClosedError)
    expect(thrownBy(() => addOne(x, x))).toBeInstanceOf(ScopeClosedError)
    expect(thrownBy(() => kernel(x, x))).toBeInstanceOf(ScopeClosedError)
    expect(thrownBy(() => packed.packed('add_one'))).toBeInstanceOf(ScopeClosedError)
  })

  test('a pointer among the attributes of a packed function holds its memory open during the call', async () => {
    using library = Library.open(kernelLibrary('packed'))
    const signature = '(x: f32[n]) -> (y: f32[n]); p: pointer'
    const nothing = library.kernel('nothing', { signature, convention: 'packed' })
    const scope = NativeScope.ofConfined()
    const p = tensor('f32', [4], undefined, { allocator: scope })
    const x = tensor([1])
    nothing(x, { p })
    const running = nothing.async(x, { p })
    expect(() => scope.close()).toThrow(ScopeHeldError)
    await running
    scope.close()
    expect(() => nothing(x, { p })).toThrow(ScopeClosedError)
    await expect(nothing.async(x, { p })).rejects.toThrow(ScopeClosedError)
  })

  test('a packed function rejects at its deadline, and when its signal is aborted', async () => {
    using library = Library.open(kernelLibrary('packed'))
    const wait = library.kernel<undefined>('wait_for_signal', { signature: '() -> (); ms: s64' })
    await expect(wait.async({ ms: 20_000 }, { deadline: 10 })).rejects.toBeInstanceOf(DeadlineExceededError)
    const controller = new AbortController()
    const stopped = wait.async({ ms: 20_000 }, { signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(stopped).rejects.toThrow('enough')
    await expect(wait.async({ ms: 1 }, { deadline: -1 })).rejects.toThrow('deadline must be a number of milliseconds')
    await expect(wait.async({ ms: 1 }, { signal: {} as never })).rejects.toThrow('signal must be an AbortSignal')
    expect(await wait.async({ ms: 1 }, { deadline: 10_000 })).toBeUndefined()
    // The functions that were stopped end soon, and hold the library until then.
    await expect.poll(() => library.native.gate.holds).toBe(0)
  })

  test('a packed function is a kernel', async () => {
    using library = Library.open(kernelLibrary('packed'))
    const x = tensor('f32', [2], [1, 2])
    const plain = library.kernel<null>('add_one')
    const y = tensor('f32', [2])
    plain(x, y)
    expect(y.toArray()).toEqual([2, 3])
    const addOne = library.kernel('add_one', { signature: '(x: f32[n]) -> (y: f32[n])' })
    expect(addOne.signature.convention).toBe('packed')
    expect(addOne(x).toArray()).toEqual([2, 3])
    const wrong = { signature: '(x: f32[n]) -> (y: f32[n])', frames: 0 }
    expect(thrownBy(() => library.kernel('add_one', wrong)).sentence).toMatch(
      /^frames must be a whole number from 1 to 64/,
    )
    expect(addOne(x, { into: y })).toBe(y)
    expect((await addOne.async(x)).toArray()).toEqual([2, 3])
    expect(thrownBy(() => addOne(tensor([[1]]))).sentence).toContain('x of add_one must be float32[n]')
    const strlen = library.function('strlen', { result: 'uint64', parameters: ['pointer'] })
    expect(typeof strlen).toBe('function')
  })
})
