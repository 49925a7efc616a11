import { type Block, inspectAsText } from '@tenon/core/internal'

/** A segment in a message: its buffer and its place there. */
export interface SegmentToken {
  readonly buffer: ArrayBufferLike
  readonly byteOffset: number
  readonly byteSize: number
  readonly flags: number
}

interface TokenFields {
  readonly tenon: 'shared-scope' | 'confined-scope' | 'implicit-scope'
  readonly name: string | undefined
  readonly segments: readonly SegmentToken[]
}

/** The form in which the sender prints a message. `postMessage` copies the fields alone. */
const printed = {
  toString(this: TokenFields): string {
    const count = `${this.segments.length} ${this.segments.length === 1 ? 'segment' : 'segments'}`
    return `token of ${this.tenon === 'implicit-scope' ? 'an' : 'a'} ${this.tenon.replace('-', ' ')}${this.name === undefined ? '' : ` "${this.name}"`} with ${count}`
  },
}
inspectAsText({ prototype: printed })

export function newToken<Token extends TokenFields>(fields: Token): Token {
  return Object.assign(Object.create(printed) as object, fields)
}

/** A segment for a message, read once. */
export interface Described {
  readonly block: Block
  readonly base: number
  readonly byteSize: number
  readonly flags: number
}

/** The token of a segment whose block is exposed, or has memory of this scope alone. */
export function tokenOf({ block: { view }, base, byteSize, flags }: Described): SegmentToken {
  return { buffer: view.buffer, byteOffset: view.byteOffset + base, byteSize, flags }
}
