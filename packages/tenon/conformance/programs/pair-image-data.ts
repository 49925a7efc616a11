import assert from 'node:assert/strict'
import { createCanvas, ImageData, type SKRSContext2D } from '@napi-rs/canvas'
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
  matrix,
  nest,
  pinnedScopeClosed,
  refused,
  refusedBy,
  reordered,
  scopeClosed,
  tensorCollected,
  type Values,
} from './pair.ts'

/** Opaque grey pixels, because a canvas multiplies colours by the alpha channel. */
const values = Object.fromEntries(
  Object.entries(matrix).map(([layout, value]) => [
    layout,
    layout === '0-d' ? 5 : mapNested(value, (one) => [one, one, one, 255]),
  ]),
) as unknown as Values

const whole = (): ImageData => new ImageData(Uint8ClampedArray.from(flat(values.contiguous)), 3, 2)
const given = (x: ImageData): { x: ImageData; memory: Uint8ClampedArray } => ({ x, memory: x.data })

/** Draws pixels on a canvas. */
function draw(image: ImageData): SKRSContext2D {
  const context = createCanvas(image.width, image.height).getContext('2d')
  context.putImageData(image, 0, 0)
  return context
}

/** Tenon's memory as pixels, which are drawn and read again. */
function take(t: Tensor): { image: ImageData; read(): unknown; memory: Uint8ClampedArray } {
  const { buffer, byteOffset, byteLength } = t.view() as Uint8Array
  const image = new ImageData(new Uint8ClampedArray(buffer, byteOffset, byteLength), t.shape[1]!, t.shape[0]!)
  const { width, height } = image
  return { image, read: () => nest(draw(image).getImageData(0, 0, width, height).data, t.shape), memory: image.data }
}

/** Draws the picture by a matrix of a canvas: x' = a x + c y + e, y' = b x + d y + f. */
function drawn(
  width: number,
  height: number,
  ...by: [a: number, b: number, c: number, d: number, e: number, f: number]
): ImageData {
  const context = createCanvas(width, height).getContext('2d')
  context.imageSmoothingEnabled = false
  context.setTransform(...by)
  context.drawImage(draw(whole()).canvas, 0, 0)
  return context.getImageData(0, 0, width, height)
}

await checkPair({
  dtype: 'u8',
  values,
  toTenon: {
    contiguous: inPlace(() => given(draw(whole()).getImageData(0, 0, 3, 2))),
    transposed: reordered(() => given(drawn(2, 3, 0, 1, 1, 0, 0, 0))),
    sliced: reordered(() => given(draw(whole()).getImageData(1, 0, 2, 2))),
    reversed: reordered(() => given(drawn(3, 2, -1, 0, 0, 1, 3, 0))),
    'no elements': refused(() => new ImageData(0, 2), /width is zero/),
    '0-d': refused(() => new ImageData(Uint8ClampedArray.of(5), 1, 1), /not a multiple of 4/),
  },
  fromTenon: {
    contiguous: lent(take),
    transposed: afterCopy(take),
    sliced: afterCopy(take),
    'no elements': refusedBy(take, /height is zero/),
    '0-d': refusedBy(take, /width is zero/),
  },
  lifetimes: [
    {
      closed: 'the canvas and its pixels are collected',
      left: 'the memory stays',
      async check() {
        const y = adopted(draw(whole()).getImageData(0, 0, 3, 2))
        await collect()
        assert.deepEqual(y.toNested(), values.contiguous)
      },
    },
    scopeClosed(take, 'an error of the canvas', ({ read, memory }) => {
      assert.throws(read, /detached/)
      assert.throws(() => adopted(memory), ArgumentError)
    }),
    pinnedScopeClosed(take),
    tensorCollected(take),
  ],
})
