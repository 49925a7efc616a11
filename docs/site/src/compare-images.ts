import pixelmatch from 'pixelmatch'
import { PNG } from 'pngjs'

/** The share of the pixels that may differ without a change: antialiasing of single letters, and no more. */
const TOLERANCE = 0.0001

/** The result of the comparison of two screenshots. */
export interface Difference {
  /** The share of the pixels that differ, from 0 to 1. It is 1 if the sizes differ. */
  readonly share: number
  readonly isChanged: boolean
  /** A PNG file in which the pixels that differ are red. Undefined if the sizes differ, or nothing has changed. */
  readonly picture: Uint8Array | undefined
}

/** Compares two PNG files. Pixels differ if their colours do by more than a tenth, as people see them, and not by antialiasing. */
export function compareImages(before: Uint8Array, after: Uint8Array): Difference {
  const [old, current] = [PNG.sync.read(Buffer.from(before)), PNG.sync.read(Buffer.from(after))]
  const { width, height } = old
  if (width !== current.width || height !== current.height) return { share: 1, isChanged: true, picture: undefined }
  const drawn = new PNG({ width, height })
  const count = pixelmatch(old.data, current.data, drawn.data, width, height, { threshold: 0.1 })
  const share = count / (width * height)
  const isChanged = share > TOLERANCE
  return { share, isChanged, picture: isChanged ? PNG.sync.write(drawn) : undefined }
}
