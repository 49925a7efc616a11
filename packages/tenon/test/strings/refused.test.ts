import { gcAllocator, tensor, type Segment, type Tensor } from '@tenon/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NativeScope } from '../../src/entries/scope.ts'
import { StringTensor } from '../../src/entries/tstring.ts'
import { Library, type Kernel } from '../../src/index.ts'
import { compileKernels, sizesOf } from './library.ts'

const path = compileKernels()
let library: Library
beforeAll(() => {
  library = Library.open(path)
})
afterAll(() => library.close())

const kernel = (name: string): Kernel<unknown> => library.kernel(name) as unknown as Kernel<unknown>
const words = StringTensor.from(['a', 'a string that needs memory of its own'])
const sizes = (value: unknown): unknown => kernel('sizes')(value as Tensor)

/** A tensor over one struct, which is written by hand. */
function forged(write: (view: DataView) => void, more = 0): { layout: 'tf'; shape: number[]; segment: Segment } {
  const segment = gcAllocator.allocate(24 + more, 64)
  write(segment.view())
  return { layout: 'tf', shape: [1], segment }
}

describe('an operand of strings', () => {
  test.each([
    [
      'of another layout',
      StringTensor.from(['a'], { layout: 'rfc24' }),
      'must be string<tf>[...shape], got string<rfc24>[1]',
    ],
    [
      'of another machine',
      StringTensor.from(['a'], { abi: 'be64' }),
      'must have the byte order and pointers of this machine',
    ],
    ['of numbers', tensor('u8', [1, 24]), 'text of sizes must be a string tensor, got an object of class Tensor'],
    ['of JavaScript', ['a'], 'text of sizes must be a string tensor, got an array'],
    ['of a proxy', new Proxy(words, {}), 'text of sizes must be a string tensor, got a Proxy'],
    [
      'without a known layout',
      { ...plain(words), layout: 'utf16' },
      'layout of text of sizes must be one of tf, rfc16',
    ],
    ['without a segment', { ...plain(words), segment: {} }, 'segment of text of sizes must be a Segment'],
    ['without a shape', { ...plain(words), shape: 2 }, 'shape of text of sizes must be an array of numbers'],
    ['with a negative size', { ...plain(words), shape: [-1] }, 'shape[0] must be'],
    ['with more elements than memory', { ...plain(words), shape: [3] }, 'must have 72 bytes for string<tf>[3], got 48'],
    [
      'at an odd address',
      { ...plain(words), shape: [1], segment: words.segment.asSlice(4, 24) },
      'must start at a multiple of 8',
    ],
  ])('%s is refused', (_, value, message) => {
    expect(() => sizes(value)).toThrow(message)
  })

  test('of another layout names the conversion', () => {
    expect(() => sizes(StringTensor.from(['a'], { layout: 'tflite' }))).toThrow(
      expect.objectContaining({ hint: "Convert the strings: words.to('tf')." }),
    )
  })

  test('in the place of numbers is refused', () => {
    expect(() => kernel('forge')(words)).toThrow(
      'bytes of forge must be a tensor of uint8[n, 24], got an object of class StringTensor',
    )
    const { signature } = kernel('forge')
    expect(signature.operands[0]!.stringLayout).toBeUndefined()
  })

  test.each([
    ['a SMALL that is too large', (view: DataView) => view.setUint8(0, 23 << 2), 'small-size'],
    ['an OFFSET behind its memory', (view: DataView) => offset(view, 8, 24), 'offset-end'],
    ['a VIEW', (view: DataView) => pointer(view, 3, 16n, 0x1000n), 'pointer'],
    ['a LARGE', (view: DataView) => pointer(view, 1, 16n, 0x1000n), 'struct-type'],
  ])('with %s is refused, because the object is not trusted', (_, write, rule) => {
    expect(() => sizes(forged(write))).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ rule, index: 0 }) as unknown }),
    )
  })

  test('with strings inside its segment is accepted, whatever object it is', () => {
    const offsets = forged((view) => {
      offset(view, 4, 24)
      view.setUint32(24, 0x64636261, true)
    }, 4)
    expect((sizes(offsets) as Tensor).toArray()).toEqual([4])
  })

  test.each([
    ['a VIEW elsewhere', (view: DataView) => pointer(view, 3, 16n, 0x1000n), 'pointer'],
    ['a VIEW with an owner', (view: DataView) => view.setBigUint64(16, 0x1000n, true), 'pointer'],
    ['a LARGE', (view: DataView) => pointer(view, 1, 16n, 0x1000n), 'struct-type'],
  ])('whose memory was overwritten with %s is refused', (_, write, rule) => {
    const own = StringTensor.from(['a string that needs memory of its own'])
    write(own.segment.view())
    expect(() => sizes(own)).toThrow(expect.objectContaining({ details: expect.objectContaining({ rule }) as unknown }))
  })

  test('is read once, and checked after all code of the user has run', () => {
    const reads: string[] = []
    const own = StringTensor.from(['a', 'b'])
    const once = (name: 'layout' | 'shape' | 'segment'): PropertyDescriptor => ({
      get: () => (reads.push(name), own[name]),
      enumerable: true,
    })
    const like = Object.defineProperties({}, { layout: once('layout'), shape: once('shape'), segment: once('segment') })
    expect((sizes(like) as Tensor).toArray()).toEqual([1, 1])
    expect(reads).toEqual(['layout', 'shape', 'segment'])

    const scope = NativeScope.ofConfined()
    const closed = StringTensor.from(['a string that needs memory of its own'], { allocator: scope })
    const closing = {
      get alignment(): number {
        scope.close()
        return 8
      },
    }
    expect(() => kernel('sizes')(closed, closing)).toThrow('closed')

    const view = StringTensor.from(['a string that needs memory of its own'])
    const forging = {
      get alignment(): number {
        pointer(view.segment.view(), 3, 16n, 0x1000n)
        return 8
      },
    }
    expect(() => kernel('sizes')(view, forging)).toThrow('rule pointer')
  })

  test('is refused when the owner of its VIEWs has closed', () => {
    const scope = NativeScope.ofConfined()
    const target = StringTensor.from(['short'], { storage: 'malloc' })
    target.assignView(0, scope.allocate(40))
    expect((sizes(target) as Tensor).toArray()).toEqual([40])
    scope.close()
    expect(() => sizes(target)).toThrow('closed')
    target.close()
    expect(() => sizes(target)).toThrow('closed')
  })

  test('is copied by an asynchronous call, during which the caller can change and close it', async () => {
    const scope = NativeScope.ofConfined()
    const own = StringTensor.from(['a string that needs memory of its own'], { allocator: scope })
    const pending = kernel('sizes').async(own)
    // The call has its own copy, so that the caller can change the strings.
    own.set(0, 'b')
    scope.close()
    expect(((await pending) as Tensor).toArray()).toEqual(sizesOf(['a string that needs memory of its own']))
  })
})

describe('a result of strings', () => {
  test.each(['into', 'results'] as const)('cannot be given with %s', (option) => {
    expect(() => kernel('twice')(words, { [option]: words })).toThrow(`twice of twice must not be given with ${option}`)
    expect(() => kernel('twice')(words, { [option]: { twice: tensor('u8', [2, 24]) } })).toThrow(
      `twice of twice must not be given with ${option}`,
    )
  })

  test('that is damaged is refused', () => {
    const bytes = new Uint8Array(24)
    bytes[0] = 23 << 2
    expect(() => kernel('forge')(tensor('u8', [1, 24], bytes))).toThrow('out of forge must have valid strings')
  })

  test('of a kernel that fails is freed', async () => {
    for (let i = 0; i < 100; i++) {
      expect(() => kernel('fail')(words)).toThrow('no luck')
      await expect(kernel('fail').async(words)).rejects.toThrow('no luck')
    }
  })
})

test('a kernel that returns strings has no prepared calls, and strings have no layouts of axes', () => {
  expect(() => kernel('twice').prepare([words])).toThrow('twice must be called without prepare(), because it returns')
  expect(() => kernel('sizes')(words, { layouts: { operands: { text: 'cm' } } })).toThrow(
    'must not have a layout of axes',
  )
})

function plain({ layout, shape, segment }: StringTensor): object {
  return { layout, shape, segment }
}

function offset(view: DataView, size: number, distance: number): void {
  view.setUint32(0, (size << 2) | 2, true)
  view.setUint32(4, distance, true)
}

/** Writes a VIEW (3) or a LARGE (1). */
function pointer(view: DataView, type: 1 | 3, size: bigint, address: bigint): void {
  view.setBigUint64(0, (size << 2n) | BigInt(type), true)
  view.setBigUint64(type === 3 ? 8 : 16, address, true)
}

test('strings of TensorFlow that a kernel wrote to structs of the RFC are refused, and not freed as blocks of the RFC', async () => {
  const isolated = await Library.isolate(path)
  for (const confused of [kernel('confused'), isolated.kernel('confused') as unknown as Kernel<unknown>]) {
    expect(() => confused(words)).toThrow(
      /must have valid strings, but element 1 breaks the rule pointer|must be valid: check 22 failed at element 1/,
    )
    expect((confused(StringTensor.from(['a'])) as StringTensor).toArray()).toEqual(['aa'])
  }
  await isolated.closeAsync()
})
