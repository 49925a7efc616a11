import type { Suite } from '@tenon/bench'
import { NativeScope, toCString } from '@tenon/scope'

/** Allocations between opening a scope and closing it. */
const MANY = 512

const text = 'the quick brown fox jumps over 1'

/** Not in `@types/node`: what `Buffer#write` calls. */
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
        const last: unknown[] = [undefined]
        return {
          ours: (iterations) => {
            for (let left = iterations; left > 0; left -= MANY) {
              const scope = NativeScope.ofConfined()
              const count = Math.min(left, MANY)
              for (let i = 0; i < count; i++) last[0] = toCString(text, scope)
              scope.close()
            }
            return last
          },
          peers: {
            'Buffer#utf8Write alone': () => buffer.utf8Write(text, 0),
            'Buffer.from(text + NUL)': () => Buffer.from(`${text}\0`),
          },
        }
      },
    },
  ],
} satisfies Suite
