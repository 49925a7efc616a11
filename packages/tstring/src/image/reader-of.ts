import { isStructLayout, type StructLayout } from '../layouts/layout.ts'
import type { Image } from './image.ts'
import { ArrowReader, LegacyReader, TfliteReader } from './offset-readers.ts'
import type { Reader } from './reader.ts'
import { StructReader } from './struct-reader.ts'

export function readerOf(image: Image): Reader {
  if (isStructLayout(image.layout)) return new StructReader(image as Image & { readonly layout: StructLayout })
  if (image.layout === 'legacy') return new LegacyReader(image)
  return image.layout === 'tflite' ? new TfliteReader(image) : new ArrowReader(image)
}
