import { operandSlice } from '../src/index.ts'
import { closeSync, existsSync, openSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ArgumentError, ArgumentRangeError, BoundsError, ReadOnlyError, ScopeClosedError } from '@tenon/core'
import {
  type BufferDescription,
  bufferUsage,
  createImagePool,
  createPool,
  freezePool,
  type Pool,
  shareReadOnly,
} from '@tenon/pools'
import {
  decodeBufferDescription,
  encodeBufferDescription,
  type HidlMemory,
  poolFromHidl,
  poolToHidl,
} from '../src/hidl.ts'
import { createDmaBuf, createSharedMemory, describeDescriptor, sealDescriptor, importPool } from '@tenon/pools/internal'
import { addModel, expectFailure, expectNoLeaks, floats, homes } from './support.ts'

const cpu = bufferUsage.CPU_READ_OFTEN | bufferUsage.CPU_WRITE_OFTEN
const image: BufferDescription = { width: 5, height: 3, layers: 2, format: 'R8G8B8A8_UNORM', usage: cpu, stride: 16 }
const blob: BufferDescription = { width: 64, height: 1, layers: 1, format: 'BLOB', usage: cpu, stride: 64 }

describe('images', () => {
  test.each([
    ['R8G8B8A8_UNORM', 5, 16],
    ['R8G8B8_UNORM', 5, 64],
    ['R5G6B5_UNORM', 33, 64],
    ['R16G16B16A16_FLOAT', 8, 8],
    ['R8_UNORM', 65, 128],
  ] as const)('rows of %s start at multiples of 64 bytes', async (format, width, stride) => {
    await expectNoLeaks(() => {
      using pool = createImagePool({ width, height: 2, format })
      expect(pool.description.stride).toBe(stride)
      expect(pool.memorySize % 64).toBe(0)
    })
  })

  test('rows and layers have the offsets of the layout', async () => {
    await expectNoLeaks(() => {
      using pool = createImagePool({ width: 5, height: 3, layers: 2, format: 'R8G8B8A8_UNORM', label: 'picture' })
      expect([pool.kind, pool.byteSize, pool.rights, pool.rowSize, pool.pixelsSize]).toEqual([
        'device-image',
        0,
        'writable',
        20,
        120,
      ])
      const row = Uint8Array.from({ length: 20 }, (_, i) => i + 1)
      pool.writeRow(1, 2, row)
      expect(pool.readRow(1, 2)).toEqual(row)
      // Layer 1, row 2 of rows of 16 pixels of 4 bytes.
      const memory = new Uint8Array(pool.view().buffer)
      const at = (1 * 3 + 2) * 16 * 4
      expect([...memory.subarray(at, at + 20)]).toEqual([...row])
      expect(memory.subarray(0, at).every((byte) => byte === 0)).toBe(true)
      expect(memory.subarray(at + 20).every((byte) => byte === 0)).toBe(true)
      const pixels = pool.readPixels()
      expect([...pixels.subarray(100)]).toEqual([...row])
      pixels.fill(7, 0, 20)
      pool.writePixels(pixels)
      expect(pool.readRow(0, 0)).toEqual(new Uint8Array(20).fill(7))
      expect(memory[20]).toBe(0)
    })
  })

  test('are used as a whole, and refused in place of linear memory', async () => {
    using pool = createImagePool({ width: 4, height: 1, format: 'R8_UNORM' })
    expect([pool.whole.byteOffset, pool.whole.byteSize]).toEqual([0, 0])
    expect(() => pool.slice(0, 4)).toThrow(BoundsError)
    expect(() => operandSlice(pool, 0, 'TENSOR_FLOAT32', [1])).toThrow(BoundsError)
    expect(() => pool.write(0, Uint8Array.of(1))).toThrow(BoundsError)
    expect(pool.read(0).length).toBe(0)
    await expectFailure(() => freezePool(pool), 'INVALID_ARGUMENT')
    await expectFailure(() => shareReadOnly(pool), 'INVALID_ARGUMENT')
  })

  test('refuse rows and layers that do not exist', () => {
    const pool = createImagePool({ width: 4, height: 2, format: 'R8_UNORM' })
    for (const [layer, row] of [
      [1, 0],
      [0, 2],
      [-1, 0],
      [0, 0.5],
    ] as const) {
      expect(() => pool.readRow(layer, row)).toThrow(ArgumentRangeError)
      expect(() => pool.writeRow(layer, row, new Uint8Array(4))).toThrow(ArgumentRangeError)
    }
    expect(() => pool.writeRow(0, 0, new Uint8Array(3))).toThrow(ArgumentRangeError)
    expect(() => pool.writePixels(new Uint8Array(9))).toThrow(ArgumentRangeError)
    expect(() => pool.writeRow(0, 0, [1] as never)).toThrow(ArgumentError)
    pool.close()
    expect(() => pool.readRow(0, 0)).toThrow(ScopeClosedError)
    expect(() => pool.writePixels(new Uint8Array(8))).toThrow(ScopeClosedError)
  })

  test.each([
    [{ width: 0, height: 1, format: 'R8_UNORM' }],
    [{ width: 1, height: 0, format: 'R8_UNORM' }],
    [{ width: 1, height: 1, layers: 0, format: 'R8_UNORM' }],
    [{ width: 1, height: 1, format: 'BLOB' }],
    [{ width: 1, height: 1, format: 'Y8Cb8Cr8_420' }],
    [{ width: 1, height: 1, format: 'nothing' }],
    [{ width: 2 ** 32, height: 1, format: 'R8_UNORM' }],
    [{ width: 2 ** 20, height: 2 ** 20, format: 'R8_UNORM' }],
  ])('are not made of %s', async (options) => {
    await expectNoLeaks(() => expect(() => createImagePool(options as never)).toThrow(/must/))
  })

  test('cannot be written if their memory is sealed', async () => {
    await expectNoLeaks(() => {
      const attachment = createSharedMemory(16 * 4 * 3 * 2, 'image')
      sealDescriptor(attachment, 16)
      const pool = importPool({ kind: 'device-image', attachment, byteSize: 0, image, keep: true })
      expect(pool.rights).toBe('read-only')
      expect(() => (pool as ReturnType<typeof createImagePool>).writeRow(0, 0, new Uint8Array(20))).toThrow(
        ReadOnlyError,
      )
      pool.close()
    })
  })

  test('memory that is too small for the rows is refused', async () => {
    await expectNoLeaks(async () => {
      const attachment = createSharedMemory(16 * 4 * 3 * 2 - 1, 'image')
      await expectFailure(
        () => importPool({ kind: 'device-image', attachment, byteSize: 0, image, keep: false }),
        'GENERAL_FAILURE',
        'P15',
      )
      closeSync(attachment)
    })
  })
})

describe('descriptions', () => {
  test('have 40 bytes, and are decoded as they were encoded', () => {
    for (const description of [image, blob]) {
      const bytes = encodeBufferDescription(description)
      expect(bytes.length).toBe(40)
      expect(decodeBufferDescription(bytes)).toEqual(description)
    }
    const words = new Uint32Array(encodeBufferDescription(image).buffer)
    expect([...words]).toEqual([5, 3, 2, 1, 0x33, 0, 16, 0, 0, 0])
  })

  test.each<readonly [string, Partial<BufferDescription>]>([
    ['no width', { width: 0 }],
    ['no height', { height: 0 }],
    ['no layers', { layers: 0 }],
    ['a width between pixels', { width: 0.5 }],
    ['a stride below the width', { stride: 4 }],
    ['an unknown format', { format: 'nothing' as never }],
    ['a usage of 65 bits', { usage: 2n ** 64n }],
    ['a BLOB with rows', { format: 'BLOB', layers: 1 }],
    ['a BLOB with layers', { format: 'BLOB', height: 1 }],
    ['a BLOB that is sampled', { ...blob, usage: cpu | bufferUsage.GPU_SAMPLED }],
    ['a BLOB for video', { ...blob, usage: cpu | bufferUsage.VIDEO_ENCODE }],
    ['YUV with layers', { format: 'Y8Cb8Cr8_420' }],
    ['YUV as mipmap', { format: 'YCbCr_P010', layers: 1, usage: cpu | bufferUsage.MIPMAP }],
    ['an image for sensors', { usage: cpu | bufferUsage.SENSOR_DIRECT_DATA }],
    ['a protected image for the CPU', { usage: cpu | bufferUsage.PROTECTED }],
    ['a cube map of five by three', { layers: 6, usage: cpu | bufferUsage.CUBE_MAP }],
    ['a cube map of four faces', { height: 5, layers: 4, usage: cpu | bufferUsage.CUBE_MAP }],
  ])('%s is refused', async (_, change) => {
    await expectFailure(() => encodeBufferDescription({ ...image, ...change }), 'INVALID_ARGUMENT', 'P12')
  })

  test('invalid descriptions are refused', async () => {
    const bytes = encodeBufferDescription(image)
    await expectFailure(() => decodeBufferDescription(bytes.subarray(1)), 'INVALID_ARGUMENT', 'P12')
    for (const at of [12, 28, 32, 39]) {
      const wrong = bytes.slice()
      wrong[at] = 0xee
      await expectFailure(() => decodeBufferDescription(wrong), 'INVALID_ARGUMENT', 'P12')
    }
    expect(
      decodeBufferDescription(
        encodeBufferDescription({ ...image, width: 5, height: 5, layers: 6, usage: cpu | bufferUsage.CUBE_MAP }),
      ).layers,
    ).toBe(6)
  })

  test("descriptions of HIDL's hardware buffers are checked", async () => {
    await expectNoLeaks(async () => {
      using picture = createImagePool({ width: 5, height: 3, layers: 2, format: 'R8G8B8A8_UNORM' })
      using linear = createPool(64, { kind: 'device-blob' })
      picture.writeRow(1, 1, new Uint8Array(20).fill(9))
      const memory = poolToHidl(picture)
      expect([memory.name, memory.size, memory.handle!.ints.length]).toEqual(['hardware_buffer', 0, 10])
      using again = poolFromHidl(memory) as ReturnType<typeof createImagePool>
      expect([again.kind, again.description, again.readRow(1, 1)]).toEqual([
        'device-image',
        picture.description,
        new Uint8Array(20).fill(9),
      ])
      const change = (pool: Pool, fields: Partial<HidlMemory>, description?: BufferDescription): HidlMemory => {
        const { name, handle, size } = poolToHidl(pool)
        const ints =
          description === undefined ? handle!.ints : [...new Int32Array(encodeBufferDescription(description).buffer)]
        return { name, handle: { fds: handle!.fds, ints }, size, ...fields }
      }
      await expectFailure(() => poolFromHidl(change(linear, { size: 63 })), 'GENERAL_FAILURE', 'P10')
      await expectFailure(() => poolFromHidl(change(linear, {}, image)), 'GENERAL_FAILURE', 'P10')
      await expectFailure(() => poolFromHidl(change(picture, { size: 1 })), 'INVALID_ARGUMENT', 'P11')
      await expectFailure(() => poolFromHidl(change(picture, {}, blob)), 'GENERAL_FAILURE', 'P11')
      const planar = { ...image, format: 'Y8Cb8Cr8_420', layers: 1 } as const
      await expectFailure(() => poolFromHidl(change(picture, {}, planar)), 'GENERAL_FAILURE', 'P11')
      await expectFailure(() => poolFromHidl(change(picture, {}, { ...image, usage: 3n })), 'GENERAL_FAILURE', 'P12')
      await expectFailure(
        () => poolFromHidl(change(picture, {}, { ...image, width: 4096, stride: 4096 })),
        'GENERAL_FAILURE',
        'P15',
      )
    })
  })
})

// Memory of devices: what a system has that has it. Elsewhere it is emulated, and says so.
const hasDmaBuf = existsSync('/dev/udmabuf') || existsSync('/dev/dma_heap/system')

describe('memory of devices', () => {
  if (!hasDmaBuf)
    test('is emulated where the system has none', async () => {
      await expectNoLeaks(() => {
        expect(createDmaBuf(4096)).toBeUndefined()
        using linear = createPool(64, { kind: 'device-blob' })
        using picture = createImagePool({ width: 1, height: 1, format: 'R8_UNORM' })
        expect([linear.backing, picture.backing]).toEqual(['memfd', 'memfd'])
      })
    })

  if (hasDmaBuf)
    describe.each(homes)('used by a driver %s', (_, start) => {
      test('is a dma-buf, which drivers use like other memory', async () => {
        await expectNoLeaks(async () => {
          await using driver = await start()
          using linear = createPool(8192, { kind: 'device-blob' })
          using picture = createImagePool({ width: 2, height: 1, format: 'R8G8B8A8_UNORM' })
          expect([linear.backing, picture.backing]).toEqual(['dma-buf', 'dma-buf'])
          const info = describeDescriptor(linear.descriptor!)
          expect([info.isDmaBuf, info.byteSize]).toEqual([true, 8192])
          using model = addModel([1, 2])
          using prepared = await driver.prepare(model)
          linear.write(0, new Float32Array([10, 20]))
          prepared.run({ inputs: [linear.slice(0, 8)], outputs: [linear.slice(4096, 8)] })
          expect(floats(linear.read(4096, 8))).toEqual([11, 22])
          await prepared.runAsync({ inputs: [linear.slice(4096, 8)], outputs: [picture.whole] })
          expect(floats(picture.readPixels())).toEqual([12, 24])
          using buffer = await driver.allocate({ roles: [prepared.input(0)] })
          await buffer.copyFrom(linear.slice(0, 8))
          await buffer.copyTo(linear.slice(64, 8))
          expect(floats(linear.read(64, 8))).toEqual([10, 20])
          await expectFailure(() => freezePool(linear), 'INVALID_ARGUMENT')
        })
      })
    })

  test("is recognised by the kernel's facts, not by its name", async () => {
    await expectNoLeaks(async () => {
      const attachment = openSync('/dev/null', 'r+')
      for (const kind of ['device-blob', 'shared'] as const)
        await expectFailure(() => importPool({ kind, attachment, byteSize: 64, keep: false }), 'GENERAL_FAILURE', 'P15')
      closeSync(attachment)
    })
  })
})
