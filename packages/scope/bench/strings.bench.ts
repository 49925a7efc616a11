import type { Suite } from '@tenon/bench'
import { toCString } from '@tenon/scope'
import { inScopes, MANY, memory } from './support.ts'

const text = 'the quick brown fox jumps over 1'
const allowed = { nul: 'allow' } as const

/** The method behind `Buffer#write`, which `@types/node` lacks. */
type Utf8Buffer = Buffer & { utf8Write(text: string, offset: number): number }

export const suite = {
  package: '@tenon/scope',
  rows: [
    {
      name: `C string of 32 characters, ${MANY} in a scope`,
      unit: 'ns',
      target: { 'Buffer.from(text + NUL)': 1.2 },
      setup: () => {
        const buffer = Buffer.alloc(64) as Utf8Buffer
        return {
          ours: inScopes((scope) => toCString(text, scope)),
          peers: {
            'Buffer#utf8Write alone': () => buffer.utf8Write(text, 0),
            'Buffer.from(text + NUL)': () => Buffer.from(`${text}\0`),
          },
        }
      },
    },
    {
      // Buffer#utf8Write does not search for U+0000 either.
      name: `C string of 32 characters, U+0000 allowed, ${MANY} in a scope`,
      unit: 'ns',
      target: { 'Buffer#utf8Write alone': 2 },
      setup: () => {
        const buffer = Buffer.alloc(64) as Utf8Buffer
        return {
          ours: inScopes((scope) => toCString(text, scope, allowed)),
          peers: { 'Buffer#utf8Write alone': () => buffer.utf8Write(text, 0) },
        }
      },
    },
    {
      name: 'write and read a string of 32 characters',
      unit: 'ns',
      target: { 'Buffer#write and toString': 2 },
      setup: () => {
        const { segments, teardown } = memory(64)
        const [segment] = segments
        const buffer = Buffer.alloc(64)
        return {
          ours: () => {
            segment.setString(0, text)
            return segment.getString(0)
          },
          peers: {
            'Buffer#write and toString': () => {
              buffer[buffer.write(text)] = 0
              return buffer.toString('utf8', 0, buffer.indexOf(0))
            },
          },
          teardown,
        }
      },
    },
  ],
} satisfies Suite
