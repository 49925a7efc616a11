import assert from 'node:assert/strict'
import { PNG } from 'pngjs'
import { ArgumentError, type Tensor } from 'tenon'
import {
  adopted,
  afterCopy,
  checkPair,
  collect,
  flat,
  inPlace,
  lent,
  mapNested,
  nest,
  pinnedScopeClosed,
  pixels,
  refused,
  refusedBy,
  reordered,
  scopeClosed,
  tensorCollected,
} from './pair.ts'

const values = pixels(4)

function whole(): PNG {
  const picture = new PNG({ width: 3, height: 2 })
  picture.data.set(flat(values.contiguous))
  return picture
}

const given = (x: PNG): { x: PNG; memory: Buffer } => ({ x, memory: x.data })

/** A part of a picture. */
function part(left: number, width: number): PNG {
  const picture = new PNG({ width, height: 2 })
  whole().bitblt(picture, left, 0, width, 2, 0, 0)
  return picture
}

/** Tenon's memory as the pixels of a picture, which are written as a file and read again. */
function take(t: Tensor): { read(): unknown; memory: Buffer } {
  const picture = new PNG({ width: t.shape[1]!, height: t.shape[0]! })
  const { buffer, byteOffset, byteLength } = t.view() as Uint8Array
  picture.data = Buffer.from(buffer, byteOffset, byteLength)
  return { read: () => nest(PNG.sync.read(PNG.sync.write(picture)).data, t.shape), memory: picture.data }
}

const turned = (picture: unknown): unknown => (picture as { rotate(): unknown }).rotate()

await checkPair({
  dtype: 'u8',
  values,
  toTenon: {
    contiguous: inPlace(() => given(PNG.sync.read(PNG.sync.write(whole())))),
    transposed: refused(() => turned(whole()), /rotate is not a function/),
    sliced: reordered(() => given(part(1, 2))),
    reversed: refused(() => turned(whole()), /rotate is not a function/),
    'no elements': refused(() => adopted(new PNG({ width: 3, height: 0 })), /must be a TypedArray/),
    '0-d': refused(() => adopted(new PNG()), /must be a TypedArray/),
  },
  fromTenon: {
    contiguous: lent(take),
    transposed: afterCopy(take),
    sliced: afterCopy(take),
    'no elements': refusedBy(take, /bad png/),
    '0-d': refusedBy(take, /bad png/),
  },
  lifetimes: [
    {
      closed: 'the picture is collected',
      left: 'the memory stays',
      async check() {
        const y = adopted(PNG.sync.read(PNG.sync.write(whole())))
        await collect()
        assert.deepEqual(y.toNested(), values.contiguous)
      },
    },
    scopeClosed(take, '0', ({ read, memory }) => {
      assert.deepEqual(
        read(),
        mapNested(values.contiguous, () => 0),
      )
      assert.throws(() => adopted(memory), ArgumentError)
    }),
    pinnedScopeClosed(take),
    tensorCollected(take),
  ],
})
