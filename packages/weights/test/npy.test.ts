import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ArgumentError, dtypes, gcAllocator, tensor, type DType, type Element, type Tensor } from '@tenon/core'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeNpy, encodeNpy } from '../src/npy/npy-array.ts'
import { NpyFormatError } from '../src/npy/npy-format-error.ts'
import { readNpy, writeNpy } from '../src/npy/npy-file.ts'
import { decodeNpyHeader, encodeNpyHeader } from '../src/npy/npy-header.ts'
import { thrownBy } from './thrown-by.ts'

const fixtures = fileURLToPath(new URL('fixtures/', import.meta.url))
const fixture = (name: string): string => join(fixtures, `${name}.npy`)
const named = dtypes.filter((info) => info.numpy !== undefined)

/** The values that make.py wrote for a type. */
function expected(dtype: DType): Element[] {
  const numbers = [0, 1, 2, 3, 4, 5]
  const info = dtypes.find((row) => row.name === dtype)!
  if (info.kind === 'bool') return numbers.map((n) => n % 2 === 1)
  if (info.kind === 'float') return numbers.map((n) => n * 0.5 - 1)
  if (info.kind === 'complex') return numbers.map((n) => [n * 0.5 - 1, 0 - n] as const)
  const whole = info.kind === 'int' ? numbers.map((n) => n - 3) : numbers
  return info.bits === 64 ? whole.map(BigInt) : whole
}

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-npy-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

describe('files that NumPy wrote', () => {
  test('exist for every element type with a NumPy name', () => {
    expect(named.length).toBe(14)
    for (const { name } of named) expect(readdirSync(fixtures)).toContain(`${name}.npy`)
  })

  test.each(named.map(({ name }) => name))('readNpy() reads %s in every order', (name) => {
    const plain = readNpy(fixture(name))
    expect({ dtype: plain.dtype, shape: plain.shape, strides: plain.strides }).toEqual({
      dtype: name,
      shape: [2, 3],
      strides: undefined,
    })
    expect(plain.toArray()).toEqual(expected(name))
    const columns = readNpy(fixture(`${name}-fortran`))
    expect({ strides: columns.strides, values: columns.toArray() }).toEqual({ strides: [1, 2], values: expected(name) })
    const swapped = `${name}-big-endian`
    if (readdirSync(fixtures).includes(`${swapped}.npy`))
      expect(readNpy(fixture(swapped)).toArray()).toEqual(expected(name))
    expect(decodeNpyHeader(readFileSync(fixture(`${name}-fortran`))).fortranOrder).toBe(true)
  })

  test.each([
    ['version-2', [2, 0]],
    ['version-3', [3, 0]],
  ] as const)('readNpy() reads %s', (name, version) => {
    expect(decodeNpyHeader(readFileSync(fixture(name))).version).toEqual(version)
    expect(readNpy(fixture(name)).toArray()).toEqual(expected('float32'))
  })

  test('readNpy() reads three axes in Fortran order as a tensor with strides', () => {
    const counted = Array.from({ length: 24 }, (_, index) => index)
    for (const name of ['cube-fortran', 'cube-fortran-big-endian']) {
      const cube = readNpy(fixture(name))
      expect([cube.shape, cube.strides]).toEqual([
        [2, 3, 4],
        [1, 2, 6],
      ])
      expect(cube.toArray()).toEqual(counted)
    }
  })

  test('readNpy() reads scalars, vectors and arrays without elements', () => {
    expect(readNpy(fixture('scalar')).shape).toEqual([])
    expect(readNpy(fixture('scalar')).toArray()).toEqual([2.5])
    expect(readNpy(fixture('vector')).toArray()).toEqual([0, 1, 2, 3, 4])
    expect(readNpy(fixture('empty')).shape).toEqual([0, 3])
    expect(readNpy(fixture('empty-fortran')).shape).toEqual([3, 0, 2])
    expect(readNpy(fixture('empty')).toArray()).toEqual([])
  })

  test.each([...named.flatMap(({ name }) => [name, `${name}-fortran`]), 'cube-fortran', 'scalar', 'vector', 'empty'])(
    'writeNpy() writes %s byte for byte like NumPy',
    (name) => {
      const copy = join(directory, 'copy.npy')
      writeNpy(copy, readNpy(fixture(name)))
      expect(readFileSync(copy).equals(readFileSync(fixture(name)))).toBe(true)
    },
  )

  test.each([
    ['object', 'Python objects', 'astype'],
    ['unicode', '"<U2": strings', 'view'],
    ['bytes', '"|S2": strings', 'view'],
    ['date', 'dates', 'np.int64'],
    ['duration', 'durations', 'np.int64'],
    ['longdouble', 'extended-precision', 'np.float64'],
    ['raw', 'raw bytes', 'np.uint16'],
    ['structured', 'structured', 'field'],
    ['named', 'structured', 'field'],
  ])('readNpy() refuses elements of kind %s with a hint', (name, what, hint) => {
    const path = fixture(`refused-${name}`)
    const error = thrownBy(() => readNpy(path))
    expect(error).toBeInstanceOf(NpyFormatError)
    expect(error.code).toBe('TENON_NPY_FORMAT')
    expect(error.sentence).toContain(path)
    expect(error.sentence).toContain(what)
    expect(error.hint).toContain(hint)
  })
})

describe('round trips', () => {
  const element = (dtype: DType): fc.Arbitrary<Element> => {
    const { kind, bits } = dtypes.find((row) => row.name === dtype)!
    if (kind === 'bool') return fc.boolean()
    if (kind === 'float')
      return bits === 64 ? fc.double() : bits === 32 ? fc.float() : fc.integer({ min: -2048, max: 2048 })
    if (kind === 'complex')
      return fc.tuple(bits === 64 ? fc.float() : fc.double(), bits === 64 ? fc.float() : fc.double())
    const low = kind === 'int' ? -(2n ** BigInt(bits - 1)) : 0n
    const value = fc.bigInt(low, low + 2n ** BigInt(bits) - 1n)
    return bits === 64 ? value : value.map(Number)
  }
  const array = fc
    .tuple(fc.constantFrom(...named.map(({ name }) => name)), fc.array(fc.nat(5), { maxLength: 4 }))
    .chain(([dtype, shape]) => {
      const length = shape.reduce((product, size) => product * size, 1)
      return fc.record({
        dtype: fc.constant(dtype),
        shape: fc.constant(shape),
        values: fc.array(element(dtype), { minLength: length, maxLength: length }),
      })
    })

  test('decodeNpy() restores the bits that encodeNpy() wrote', () => {
    fc.assert(
      fc.property(array, ({ dtype, shape, values }) => {
        const source = tensor(dtype, shape, values)
        const back = decodeNpy(encodeNpy(source))
        expect({ dtype: back.dtype, shape: back.shape }).toEqual({ dtype, shape })
        expect(Buffer.from(encodeNpy(back)).equals(encodeNpy(source))).toBe(true)
        expect(back.toArray()).toEqual(source.toArray())
      }),
    )
  })

  test('encodeNpy() writes a strided tensor in row-major order', () => {
    fc.assert(
      fc.property(array, fc.boolean(), ({ dtype, shape, values }, reversed) => {
        // Strides of a transposed array: the axes of a row-major one, in reverse.
        const turned = reversed ? shape.toReversed() : shape
        const strides = turned.map((_, axis) => turned.slice(axis + 1).reduce((product, size) => product * size, 1))
        const plain = tensor(dtype, turned, values)
        const source = tensor(dtype, turned.toReversed(), plain.segment, { strides: strides.toReversed() })
        expect(decodeNpy(encodeNpy(source)).toArray()).toEqual(source.toArray())
      }),
    )
  })

  test('writeNpy() writes Fortran order only for tensors that are fully column-major', () => {
    const x = tensor(
      'f32',
      [2, 3, 4],
      Float32Array.from({ length: 24 }, (_, i) => i),
    )
    const written = (source: Tensor): { fortranOrder: boolean; same: boolean } => {
      const bytes = encodeNpy(source)
      return { fortranOrder: decodeNpyHeader(bytes).fortranOrder, same: decodeNpy(bytes).equals(source) }
    }
    const isFortran = [
      [x.toLayout([2, 1, 0]), true],
      [x.toLayout('cm'), false],
      [x.toLayout([1, 2, 0]), false],
      [x.slice(1).toLayout('cm'), true],
      [x.slice(null, null, 0).transpose(), false],
      [x.slice(null, [0, 2]).transpose(), false],
      [x.unsqueeze(1).toLayout([3, 2, 1, 0]), true],
      [x, false],
    ] as const
    for (const [source, fortranOrder] of isFortran) expect(written(source)).toEqual({ fortranOrder, same: true })
  })

  test('a column-major tensor is written in the order of its memory', () => {
    const x = tensor('f64', [2, 2], [1, 2, 3, 4]).toLayout('cm')
    const bytes = encodeNpy(x)
    expect(new Float64Array(new Uint8Array(bytes.subarray(-32)).buffer)).toEqual(new Float64Array([1, 3, 2, 4]))
  })

  test('readNpy() allocates from the allocator', () => {
    const sizes: number[] = []
    const allocator = {
      allocate(byteSize: number, byteAlignment?: number) {
        sizes.push(byteSize)
        return gcAllocator.allocate(byteSize, byteAlignment)
      },
    }
    expect(readNpy(fixture('cube-fortran'), allocator).segment.byteSize).toBe(48)
    expect(sizes).toEqual([48])
  })

  test('encodeNpyHeader() writes version 2.0 if the header is too long for 1.0', () => {
    const shape = Array.from({ length: 30_000 }, () => 1)
    const header = encodeNpyHeader('uint8', shape)
    expect(header.length % 64).toBe(0)
    expect(decodeNpyHeader(header)).toMatchObject({ version: [2, 0], shape, dataOffset: header.length })
  })

  test('encodeNpy() refuses a type that NumPy lacks', () => {
    const error = thrownBy(() => encodeNpy(tensor('bfloat16', [2])))
    expect(error).toBeInstanceOf(ArgumentError)
    expect(error.sentence).toContain('dtype must be a type that NumPy has, got bfloat16')
    expect(error.hint).toContain('uint16')
  })
})

describe('invalid files', () => {
  const file = (header: string, data = Buffer.alloc(0), prefix = '\x93NUMPY\x01\0'): Buffer => {
    const length = Buffer.alloc(2)
    length.writeUInt16LE(header.length)
    return Buffer.concat([Buffer.from(prefix, 'latin1'), length, Buffer.from(header, 'latin1'), data])
  }
  const good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"

  test('decodeNpy() accepts other spellings of a header in Python', () => {
    const data = Buffer.from(Float32Array.of(1, 2).buffer)
    for (const header of [
      '{"shape":(2,),"descr":"<f4","fortran_order":False}',
      "  { 'fortran_order' : False , 'descr' : '=f4' , 'shape' : ( 2L , ) , }   \n\n",
    ]) {
      expect(decodeNpy(file(header, data)).toArray()).toEqual([1, 2])
    }
  })

  test.each([
    [Buffer.alloc(0), /the file is not a \.npy file/],
    [Buffer.from('PK\x03\x04', 'latin1'), /the file is not a \.npy file/],
    [file(good).subarray(0, 7), /ends after 7 bytes/],
    [file(good).subarray(0, 9), /ends after 9 bytes/],
    [file(good, undefined, '\x93NUMPY\x04\0'), /version should be .* but is 4\.0/],
    [file(good, undefined, '\x93NUMPY\x01\x01'), /but is 1\.1/],
    [file(good).subarray(0, 30), /header should end at byte 68, but the file ends at 30/],
    [file(good, Buffer.alloc(7)), /should end the file at byte 76, but it ends at 75/],
    [file(good, Buffer.alloc(9)), /should end the file at byte 76, but it ends at 77/],
    [file('{}'), /should have the keys descr, fortran_order, shape, but has none/],
    [file("{'descr': '<f4', 'shape': (2,)}"), /but has descr, shape/],
    [file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}"), /but has descr, fortran_order, shape, x/],
    [file("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"), /'descr' twice/],
    [file("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}"), /should be True or False, but is 0/],
    [file("{'descr': '<f4', 'fortran_order': False, 'shape': (2)}"), /should be a tuple of integers, but is 2/],
    [file("{'descr': '<f4', 'fortran_order': False, 'shape': [2]}"), /should be a tuple of integers/],
    [file("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}"), /should have a value at character/],
    [file("{'descr': '<f4', 'fortran_order': False, 'shape': (2.5,)}"), /should have/],
    [file("{'descr': '<f4', 'fortran_order': False, 'shape': ('2',)}"), /axis 0 of the shape should be an integer/],
    [
      file("{'descr': '<f4', 'fortran_order': False, 'shape': (9007199254740993,)}"),
      /axis 0 of the shape should be an integer below 2\^53/,
    ],
    [file("{'descr': '<f4', 'fortran_order': False, 'shape': (94906267, 94906267)}"), /has 2\^53 elements or more/],
    [file("{'descr': '<f4', 'fortran_order': False, 'shape': (94906265, 94906265)}"), /should end the file at byte/],
    [file("{'descr': 4, 'fortran_order': False, 'shape': (2,)}"), /should be a type string, but is 4/],
    [file("{'descr': '<f5', 'fortran_order': False, 'shape': (2,)}"), /elements are of type "<f5"/],
    [
      file("{'descr': __import__('os').system('true'), 'fortran_order': False, 'shape': (2,)}"),
      /should have a value at character 10/,
    ],
    [file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} + 1"), /should have the end/],
    [file(`{'descr': ${'['.repeat(100)}`), /nests more than 32 levels/],
    [
      Buffer.concat([Buffer.from('\x93NUMPY\x02\0\xff\xff\xff\x7f', 'latin1'), Buffer.from(good)]),
      /more than the limit of 1048576/,
    ],
  ])('case %# is refused by decodeNpy() and readNpy()', (bytes, message) => {
    const path = join(directory, 'wrong.npy')
    writeFileSync(path, bytes)
    for (const error of [thrownBy(() => decodeNpy(bytes)), thrownBy(() => readNpy(path))]) {
      expect(error).toBeInstanceOf(NpyFormatError)
      expect(error.sentence).toMatch(message)
    }
  })

  test('an empty array is read whatever its other sizes are', () => {
    const size = 2 ** 53 - 1
    for (const shape of [`(${size}, ${size}, 0)`, `(${'4294967296, '.repeat(40)}0)`])
      for (const order of ['True', 'False']) {
        const read = decodeNpy(file(`{'descr': '<f4', 'fortran_order': ${order}, 'shape': ${shape}, }`))
        expect(read.shape.at(-1)).toBe(0)
        expect(read.toArray()).toEqual([])
      }
  })

  test('the hints recognise a zip archive and a truncated file', () => {
    expect(thrownBy(() => decodeNpy(Buffer.from('PK\x03\x04'))).hint).toContain('readNpz')
    expect(thrownBy(() => decodeNpy(file(good, Buffer.alloc(7)))).hint).toContain('cut off')
    expect(thrownBy(() => decodeNpy(file(good, Buffer.alloc(9)))).hint).toContain('several arrays')
  })

  test("a missing file causes the system's error", () => {
    expect(() => readNpy(join(directory, 'absent.npy'))).toThrow(/ENOENT/)
  })
})
