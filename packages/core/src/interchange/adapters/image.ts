import { inArray, type Found } from '../found.ts'

/** The pixels of an image, row by row: `ImageData` of a canvas, or a `PNG` of pngjs. */
export interface ImagePixels {
  readonly width: number
  readonly height: number
  readonly data: ArrayBufferView
}

/** The result of sharp for `raw().toBuffer({ resolveWithObject: true })`. */
export interface SharpPixels {
  readonly data: ArrayBufferView
  readonly info: { readonly width: number; readonly height: number; readonly channels: number }
}

const isSharp = (value: object): value is SharpPixels => 'info' in value && 'data' in value

export const isImage = (value: object): boolean =>
  isSharp(value) || ('width' in value && 'height' in value && 'data' in value)

/** Reads pixels as a tensor of the shape [height, width, channels]. */
export function readImage(value: object): Found {
  const { data, info } = value as SharpPixels & ImagePixels
  const { width, height, channels } = (info ?? value) as SharpPixels['info']
  // Images of a canvas and of pngjs have 4 channels, and do not say so.
  return inArray('an image', undefined, data, [height, width, channels ?? 4])
}
