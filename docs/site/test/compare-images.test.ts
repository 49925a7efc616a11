import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PNG } from 'pngjs'
import { compareImages } from '../src/compare-images.ts'

/** A white picture of 100 x 100 pixels with some black ones. */
function picture(black: number, width = 100): Uint8Array {
  const image = new PNG({ width, height: 100 })
  image.data.fill(255)
  for (let i = 0; i < black; i++) image.data.set([0, 0, 0, 255], 4 * (i * 7 + 300))
  return PNG.sync.write(image)
}

test('equal pictures, and those that differ in a single pixel, are unchanged', () => {
  assert.deepEqual(compareImages(picture(10), picture(10)), { share: 0, isChanged: false, picture: undefined })
  assert.equal(compareImages(picture(10), picture(11)).isChanged, false)
})

test('pictures that differ in more pixels, or in their size, are changed', () => {
  const difference = compareImages(picture(10), picture(30))
  assert.equal(difference.isChanged, true)
  assert.equal(PNG.sync.read(Buffer.from(difference.picture!)).width, 100)
  assert.deepEqual(compareImages(picture(10), picture(10, 101)), { share: 1, isChanged: true, picture: undefined })
})
