import { ArgumentError, gcAllocator, type Segment, tensor, UnsupportedError, type Tensor } from '@tenon/core'
import { StringTensor } from '@tenon/tstring'
import { expect, test } from 'vitest'
import { donated } from '../src/call/donated.ts'
import { TensorFlowError } from '../src/errors/tensorflow-error.ts'
import { counts, openTestKernel, openTestLibrary, valuesOf } from './open-kernels.ts'

const misuse = (what: number): unknown => openTestKernel('Misuse')(tensor([1]), { what })

/** Returns the error of a call. */
function errorOf(call: () => unknown): TensorFlowError {
  try {
    call()
  } catch (error) {
    if (error instanceof TensorFlowError) return error
    throw error
  }
  throw new Error('the call succeeded')
}

test('operations() lists the operations with a kernel for the CPU', () => {
  const library = openTestLibrary()
  expect(library.operations()).toContain('Peek')
  expect(library.operations()).not.toContain('Relu')
})

test('a kernel computes, and later calls of the same types and attributes give their own results', () => {
  const scale = openTestKernel('Scale')
  const results = [1, 2, 3].map((value) => scale(tensor([value, -value])))
  expect(results.map(valuesOf)).toEqual([
    [2, -2],
    [4, -4],
    [6, -6],
  ])
  expect(valuesOf(scale(tensor([1, 2]), { factor: 3, offsets: [1, 2] }))).toEqual([6, 9])
  expect(valuesOf(scale(tensor([[1, 2, 3]]), { factor: 3 }))).toEqual([3, 6, 9])
  expect(valuesOf(scale(tensor([1, 2])))).toEqual([2, 4])
  expect(scale.signature.name).toBe('Scale')
})

test('a result is aligned to 64 bytes', () => {
  const scale = openTestKernel('Scale')
  for (let i = 1; i < 40; i++) {
    const y = scale(tensor('f32', [i])) as Tensor
    expect(y.segment.address % 64n).toBe(0n)
  }
})

test('the results of a quick call are not those of a call before it', () => {
  const scale = openTestKernel('Scale')
  const kept = scale(tensor([1]))
  for (let i = 0; i < 10; i++) scale(tensor([i]))
  expect(valuesOf(kept)).toEqual([2])
})

test('strings go in and out, of every type and length', () => {
  const decorate = openTestKernel('Decorate')
  const long = 'x'.repeat(300)
  const words = StringTensor.from(['a', '', long, 'ä'.repeat(11)], { shape: [2, 2] })
  const result = decorate(words, { suffix: '?' }) as StringTensor
  expect(result.toArray()).toEqual(['a?', '?', `${long}?`, `${'ä'.repeat(11)}?`])
  expect(result.shape).toEqual([2, 2])
  expect((decorate(StringTensor.from(['b'], { storage: 'malloc' })) as StringTensor).toArray()).toEqual(['b!'])
  expect((decorate(result) as StringTensor).toArray()[1]).toBe('?!')
})

test('packed strings are read in place, also after their bytes have moved', () => {
  const decorate = openTestKernel('Decorate')
  const packed = StringTensor.from(['one', 'a string that a struct does not hold']).to('tf', { storage: 'packed' })
  const moved = gcAllocator.allocate(packed.segment.byteSize, 16)
  new Uint8Array(moved.view().buffer, moved.view().byteOffset, moved.byteSize).set(
    new Uint8Array(packed.tensor().view()),
  )
  const result = decorate({ layout: 'tf', shape: [2], segment: moved }) as StringTensor
  expect(result.toArray()).toEqual(['one!', 'a string that a struct does not hold!'])
})

test('a result of VIEWs of an operand survives the operand', () => {
  const peek = openTestKernel('Peek')
  const long = 'a string that is longer than a struct'
  const result = peek(StringTensor.from([long, 'b'], { storage: 'malloc' })) as StringTensor
  expect(result.toArray()).toEqual([long, 'b'])
})

test('a string result that is the memory of the operand is a copy', () => {
  const words = StringTensor.from(['a', 'a string that is longer than a struct'])
  const same = openTestKernel('Same')(words) as StringTensor
  expect(same.toArray()).toEqual(words.toArray())
  expect(same.segment.address).not.toBe(words.segment.address)
})

test('strings in another layout are refused with what to do', () => {
  const lite = StringTensor.from(['a']).to('tflite')
  expect(() => openTestKernel('Decorate')(lite)).toThrow(/layout tf, got tflite/)
  expect(() => openTestKernel('Decorate')(lite)).toThrow(/words\.to\('tf'\)/)
  const short = { layout: 'tf', shape: [9], segment: gcAllocator.allocate(24) }
  expect(() => openTestKernel('Decorate')(short)).toThrow(/must have 216 bytes for .*, got 24/)
})

test('damaged strings, and those whose memory has closed, are refused before the kernel reads them', async () => {
  const decorate = openTestKernel('Decorate')
  const segment = gcAllocator.allocate(24)
  const view = segment.view()
  view.setBigUint64(0, (16n << 2n) | 3n, true)
  view.setBigUint64(8, 0x1000n, true)
  const forged = { layout: 'tf', shape: [1], segment }
  expect(() => decorate(forged)).toThrow(/rule pointer/)
  await expect(decorate.async(forged)).rejects.toThrow(/rule pointer/)

  const words = StringTensor.from(['a string that is longer than a struct'], { storage: 'malloc' })
  words.close()
  expect(() => decorate(words)).toThrow(/closed/)
})

test('an asynchronous call has a copy of its strings, which the caller can change and close', async () => {
  const words = StringTensor.from(['a string that is longer than a struct'], { storage: 'malloc' })
  const later = openTestKernel('Decorate').async(words)
  words.set(0, 'changed')
  words.close()
  expect(((await later) as StringTensor).toArray()).toEqual(['a string that is longer than a struct!'])
})

test('a result that is the memory of an operand is a tensor over it', () => {
  const x = tensor([1, 2])
  const same = openTestKernel('Same')(x) as Tensor
  expect(same.segment.address).toBe(x.segment.address)
  const bytes = openTestKernel('Reinterpret')(x, { type: 'uint8' }) as Tensor
  expect(String(bytes.type)).toBe('uint8[2, 4]')
  x.set([3, 4])
  expect(valuesOf(same)).toEqual([3, 4])
  expect(bytes.toArray().slice(0, 4)).toEqual([0, 0, 64, 64])
})

test('a list of operands is one array, and a list of results another', () => {
  const join = openTestKernel('Join')
  expect(valuesOf(join([tensor([1, 2]), tensor([3])]))).toEqual([1, 2, 3])
  expect(valuesOf(join([tensor([1, 2])]))).toEqual([1, 2])
  const { ys } = openTestKernel('Split')(tensor([1, 2, 3, 4]), { parts: 2 }) as { readonly ys: readonly Tensor[] }
  expect(ys.map(valuesOf)).toEqual([
    [1, 2],
    [3, 4],
  ])
  expect(() => join(tensor([1]))).toThrow(/xs of Join must be an array of tensors/)
})

test('the kernel with the highest priority is chosen, and a label selects another', () => {
  expect(valuesOf(openTestKernel('Number')(tensor([1])))).toEqual([2])
  expect(valuesOf(openTestKernel('Number', { label: 'special' })(tensor([1])))).toEqual([3])
  expect(() => openTestKernel('Number')(tensor('f16', [1]))).toThrow(ArgumentError)
})

test('a kernel of another device runs in host memory if its definition is given', () => {
  const definition = { inputs: ['features: T'], outputs: ['activations: T'], attrs: ['T: {float, half}'] }
  const relu = openTestKernel('Relu', { definition, device: 'MY_DEVICE' })
  expect(valuesOf(relu(tensor([-1])))).toEqual([-1])
  expect(() => openTestKernel('Relu')).toThrow(/Relu must have a definition/)
})

test('an operation with a resource is refused with the reason', () => {
  expect(() => openTestKernel('Variable')).toThrow(UnsupportedError)
})

test('into receives a result of its shape, and another shape is an error with both', () => {
  const scale = openTestKernel('Scale')
  const y = tensor('f32', [2])
  expect(scale(tensor([1, 2]), {}, { into: y })).toBe(y)
  expect(valuesOf(y)).toEqual([2, 4])
  const error = errorOf(() => scale(tensor([1, 2, 3]), {}, { into: y }))
  expect(error.codeName).toBe('INVALID_ARGUMENT')
  expect(error.text).toMatch(/\[3\].*\[2\]/)
  // A result that the kernel did not allocate is copied.
  const copy = tensor('f32', [2])
  expect(openTestKernel('Same')(tensor([5, 6]), { into: copy })).toBe(copy)
  expect(valuesOf(copy)).toEqual([5, 6])
  expect(valuesOf(scale(tensor([1, 2])))).toEqual([2, 4])
})

test('into that cannot be written is refused before the call', () => {
  const scale = openTestKernel('Scale')
  const x = tensor([1, 2, 3])
  expect(() => scale(x, {}, { into: tensor('f64', [3]) })).toThrow(/row-major tensor of float32/)
  expect(() => scale(x, {}, { into: { z: x } })).toThrow(/has no result z/)
  expect(() =>
    scale(tensor('f32', [2], x.segment.asSlice(0, 8)), {}, { into: tensor('f32', [2], x.segment.asSlice(4, 8)) }),
  ).toThrow(/overlap/)
  expect(valuesOf(scale(x, {}, { into: x }))).toEqual([2, 4, 6])
})

test('allocator allocates the results', () => {
  let bytes = 0
  const allocator = {
    allocate: (byteSize: number, alignment?: number): Segment => {
      bytes += byteSize
      return gcAllocator.allocate(byteSize, alignment)
    },
  }
  const scale = openTestKernel('Scale')
  for (let i = 0; i < 2; i++) expect(valuesOf(scale(tensor([1, 2]), {}, { allocator }))).toEqual([2, 4])
  expect(bytes).toBe(16)
  expect((openTestKernel('Decorate')(StringTensor.from(['a']), {}, { allocator }) as StringTensor).get(0)).toBe('a!')
  expect(bytes).toBe(40)
})

test('a donated operand is forwarded, and no other', () => {
  const negate = openTestKernel('Negate')
  const x = tensor([1, 2])
  const first = negate(x) as Record<'y' | 'forwarded', Tensor>
  expect([valuesOf(first.y), first.forwarded.item(), valuesOf(x)]).toEqual([[-1, -2], -1, [1, 2]])
  const second = negate(donated(x)) as typeof first
  expect([valuesOf(second.y), second.forwarded.item(), valuesOf(x)]).toEqual([[-1, -2], 0, [-1, -2]])
  expect(second.y.segment.address).toBe(x.segment.address)
  const third = negate(x) as typeof first
  expect(third.forwarded.item()).toBe(-1)
})

test.each([
  [0, 'INTERNAL', /set no output 0/],
  [1, 'OUT_OF_RANGE', /no input 7/],
  [2, 'OUT_OF_RANGE', /no output -1/],
  [3, 'INVALID_ARGUMENT', /\[2,-1\]/],
  [4, 'INVALID_ARGUMENT', /9223372036854775807/],
  [5, 'OUT_OF_RANGE', /no output 3/],
  [6, 'FAILED_PRECONDITION', /stream/],
  [7, 'UNIMPLEMENTED', /TF_AssignVariable is not supported: Tenon has no resources/],
  [8, 'INTERNAL', /type 3, not 1/],
  [9, 'DATA_LOSS', /the first failure/],
  [10, 'UNKNOWN', /a code without a name/],
  [11, 'NOT_FOUND', /reading x/],
  [12, 'UNKNOWN', /^$/],
] as const)('what a kernel does wrong is an error with its code: %i', (what, codeName, text) => {
  const before = counts().slice(1)
  const error = errorOf(() => misuse(what))
  expect(error.codeName).toBe(codeName)
  expect(error.text).toMatch(text)
  expect(counts().slice(1)).toEqual(before)
})

test('the payloads of a status are details of the error', () => {
  expect(errorOf(() => misuse(9)).details['payloads']).toEqual({ 'type.test/detail': 'first' })
})

test('a kernel that refuses its attributes throws, and is not kept', () => {
  const scale = openTestKernel('Scale')
  const error = errorOf(() => scale(tensor([1]), { factor: 0 }))
  expect(error.text).toBe('factor must not be 0')
  expect(valuesOf(scale(tensor([1])))).toEqual([2])
})

test('a kernel reads its attributes as in TensorFlow', () => {
  const describe = openTestKernel('Describe')
  const attributes = {
    ...{ s: 'text', i: 2 ** 40, f: 0.5, b: true, t: 'int32', shape: [2, -1], ss: ['ab', 'c'], is: [1, 2, 3] },
    ...{ shapes: [[1, 2], undefined], tensor: tensor([1, 2.5]) },
  }
  const lines = (describe(tensor([1]), attributes) as StringTensor).get(0)!.split('\n')
  expect(lines).toEqual([
    ...['s -1 4 0', 'i -1 -1 0', 'f -1 -1 0', 'b -1 -1 0', 't -1 -1 0', 'shape -1 2 0', 'tensor -1 -1 0', 'ss 2 3 0'],
    ...['is 3 -1 0', 'none 0 -1 0', 'shapes 2 2 0', 'missing -1 -1 3', 'int32 -1 3', 'wrong kind 3', 'missing 5'],
    ...[
      'bool 1 type 3 shape 3 0 0',
      'strings ab c',
      'small storage 3',
      'cut tez',
      'list 1 2',
      'tensor 1 2.5',
      'has 1 0',
    ],
    ...['Describe', '/job:localhost/replica:0/task:0/device:CPU:0', 'x', '1 1', ''],
  ])
  const small = { ...attributes, i: -7, shape: [2, 3] }
  const others = (describe(tensor([1]), small) as StringTensor).get(0)!
  expect(others).toContain('int32 -7 0')
  expect(others).toContain('shape 0 2 3')
})

test('memory that a kernel keeps is held open until the kernel drops it', () => {
  const keep = openTestKernel('Keep')
  const first = tensor([1])
  const { gate } = first
  const holds = gate.holds
  keep(first)
  expect(gate.holds).toBe(holds + 1)
  expect(valuesOf(keep(tensor([2])))).toEqual([1])
  expect(valuesOf(keep(tensor([3])))).toEqual([2])
})

test('instances are kept by their attributes, and deleted when they are not', () => {
  const before = counts()[0]!
  const counted = openTestKernel('Counted', { frames: 2 })
  for (const what of [1, 2, 3, 3, 2]) counted(tensor([1]), { what })
  expect(counts()[0]).toBe(before + 2)
  counted.prepare([tensor([1])], { what: 7 })
  expect(counts()[0]).toBe(before + 2)
  expect(() => openTestKernel('Counted', { frames: 0 })).toThrow(/frames must be a whole number from 1 to 64/)
})

test('closing the library deletes the instances, and refuses calls', () => {
  const library = openTestLibrary()
  const before = counts()[0]!
  const counted = library.kernel('Counted')
  counted(tensor([1]))
  expect(counts()[0]).toBe(before + 1)
  library.close()
  expect(counts()[0]).toBe(before)
  expect(() => counted(tensor([1]))).toThrow(/closed/)
})

test('an asynchronous kernel ends on another thread', async () => {
  const later = openTestKernel('Later')
  expect(valuesOf(later(tensor([1, 2])))).toEqual([3, 6])
  expect(valuesOf(later(tensor([1, 2])))).toEqual([3, 6])
  expect(valuesOf(await later.async(tensor([2])))).toEqual([6])
})

test('calls run on other threads at the same time', async () => {
  const [decorate, scale] = [openTestKernel('Decorate'), openTestKernel('Scale')]
  const words = StringTensor.from(['a'])
  const runs = Array.from({ length: 40 }, (_, i) =>
    i % 2 === 0 ? scale.async(tensor([i])).then(valuesOf) : decorate.async(words, { suffix: String(i) }),
  )
  const results = await Promise.all(runs)
  expect(results[38]).toEqual([76])
  expect((results[39] as StringTensor).get(0)).toBe('a39')
})

test('an asynchronous call can fail, be aborted, and miss its deadline', async () => {
  const failing = openTestKernel('Misuse')
  await expect(failing.async(tensor([1]), { what: 9 })).rejects.toThrow(/the first failure/)
  const signal = AbortSignal.abort(new Error('stop'))
  await expect(failing.async(tensor([1]), { what: 9 }, { signal })).rejects.toThrow('stop')
  await expect(failing.async(tensor([1]), { what: 9 }, { deadline: 0 })).rejects.toThrow(/deadline must be/)
  await expect(failing.async(tensor([1]), { what: 9 }, { wrong: 0 })).rejects.toThrow(ArgumentError)
})

test('arguments that contradict the definition are refused', () => {
  const scale = openTestKernel('Scale')
  expect(() => scale()).toThrow(/x of Scale must be a tensor or a string tensor/)
  expect(() => scale(tensor('f64', [1]))).toThrow(ArgumentError)
  expect(() => scale(tensor([1]), { factr: 2 })).toThrow(/Did you mean factor/)
  expect(() => scale(tensor([1]), {}, {}, {})).toThrow(/takes at most 3 arguments/)
  expect(() =>
    scale(
      tensor([
        [1, 2],
        [3, 4],
      ]).transpose(),
    ),
  ).toThrow(/row-major/)
  expect(() => scale(new Proxy(tensor([1]), {}))).toThrow(ArgumentError)
})
