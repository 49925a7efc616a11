import { NativeScope } from '@tenon/scope'
import { formatSignature, tensor, type Tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { StringTensor } from '@tenon/tstring'
import { expect, test } from 'vitest'
import { Library } from '../src/library.ts'

const path = kernelLibrary('tf_kernels')

test('Library.kernel() opens kernels of TensorFlow, whose strings are StringTensors', async () => {
  using library = Library.open(path)
  const decorate = library.kernel<StringTensor>('Decorate') as unknown as Record<'async', typeof run> & typeof run
  function run(words: StringTensor, attributes?: object): StringTensor | Promise<StringTensor> {
    throw new Error(`${String(words)} ${String(attributes)}`)
  }
  const words = StringTensor.from(['a', 'b'])
  expect((decorate(words, { suffix: '?' }) as StringTensor).toArray()).toEqual(['a?', 'b?'])
  expect((await decorate.async(words)).toArray()).toEqual(['a!', 'b!'])
  expect(decorate(words)).toBeInstanceOf(StringTensor)
})

test('kernels() lists the operations of a library with their definitions as signatures', () => {
  using library = Library.open(path)
  const decorate = library.kernels().find(({ name }) => name === 'Decorate')!
  expect(decorate.convention).toBe('tensorflow')
  expect(decorate.source).toBe('library')
  expect(formatSignature(decorate)).toContain('(text: string[...text]) -> (decorated: string[...])')
  expect(library.kernels().map(({ name }) => name)).not.toContain('Relu')
})

test('options of other conventions are refused for a kernel of TensorFlow', () => {
  using library = Library.open(path)
  expect(() => library.kernel('Scale', { signature: '(x: f32[n]) -> (y: f32[n])' })).toThrow(
    /signature must not be given to Scale/,
  )
  expect(() => library.kernel('Scale', { convention: 'typed' })).toThrow(/convention must not be given/)
  expect(library.kernel('Scale', { convention: 'tensorflow' }).signature.name).toBe('Scale')
})

test('strings are refused once the scope of memory that they view has closed', () => {
  using library = Library.open(path)
  const decorate = library.kernel('Decorate') as unknown as (words: StringTensor) => StringTensor
  const scope = NativeScope.ofConfined()
  const words = StringTensor.from(['short'], { storage: 'malloc' })
  words.assignView(0, scope.allocate(40))
  expect(decorate(words).byteLength(0)).toBe(41)
  scope.close()
  expect(() => decorate(words)).toThrow(/closed/)
})

test('a kernel that keeps an operand keeps its scope open', () => {
  using library = Library.open(path)
  const keep = library.kernel('Keep')
  const scope = NativeScope.ofConfined()
  keep(tensor('f32', [1], [1], { allocator: scope }))
  expect(() => scope.close()).toThrow(/cannot be closed/)
  const second = keep(tensor([2])) as Tensor
  expect(second.toArray()).toEqual([1])
  // The next call notices that the kernel has dropped the first operand.
  keep(tensor([3]))
  scope.close()
})

test('two opens of one file share its registrations', () => {
  using first = Library.open(path)
  using second = Library.open(path)
  expect(second.kernels().length).toBe(first.kernels().length)
  expect((second.kernel('Scale')(tensor([1])) as Tensor).toArray()).toEqual([2])
})
