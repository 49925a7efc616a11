import { tensor, type Tensor } from 'tenon'
import type { TokenizerInfo, XGrammar } from './library.ts'

/** The token that ends a text. */
export const STOP = 0

/** A small vocabulary: the end of a text, the printable characters of ASCII, and some longer tokens. */
export const vocabulary: readonly string[] = [
  '</s>',
  ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)),
  'true',
  'false',
  '{"',
  '":',
]

/** Tells xgrammar the vocabulary. The tokens are raw text, which is its type 0. */
export const tokenizer = ({ TokenizerInfo }: XGrammar): TokenizerInfo =>
  new TokenizerInfo([...vocabulary], 0, vocabulary.length, [STOP], false)

/** A mask with a bit for each token in each row. */
export const masks = (rows: number): Tensor => tensor('int32', [rows, Math.ceil(vocabulary.length / 32)])

/** The tokens whose bits a row of masks has. */
export function allowed(mask: Tensor, row = 0): string[] {
  const words = (mask.toArray() as number[]).slice(row * mask.shape[1]!)
  return vocabulary.filter((_, id) => ((words[id >> 5]! >>> (id & 31)) & 1) === 1)
}
