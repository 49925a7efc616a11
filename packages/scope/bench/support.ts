import type { Body } from '@tenon/bench'
import { type MemorySegment, NativeScope } from '@tenon/scope'

/** The number of runs of a body of {@link inScopes} in one scope. */
export const MANY = 512

/** Segments of these sizes, in a scope of their own. */
export function memory<const Sizes extends readonly number[]>(
  ...sizes: Sizes
): { segments: { [Place in keyof Sizes]: MemorySegment }; teardown: () => void } {
  const scope = NativeScope.ofConfined()
  const segments = sizes.map((size) => scope.allocate(size, 64))
  return {
    segments: segments as unknown as { [Place in keyof Sizes]: MemorySegment },
    teardown: () => scope.close(),
  }
}

/** Several raw views of a size, so that the engine does not specialize on a single one. */
export function rawViews(byteSize: number): DataView[] {
  return [1, 2, 3, 4].map(() => new DataView(new ArrayBuffer(byteSize)))
}

/** Runs a body {@link MANY} times in each of as many scopes as needed. */
export function inScopes(body: (scope: ReturnType<typeof NativeScope.ofConfined>) => unknown): Body {
  return compiled(
    `let last
     for (let left = iterations; left > 0; left -= ${MANY}) {
       const scope = open()
       const count = Math.min(left, ${MANY})
       for (let i = 0; i < count; i++) last = body(scope)
       scope.close()
     }
     return last`,
    body,
  )
}

/** Runs a body for the indexes from 0 to `count` repeatedly, and sums its results. */
export function overIndexes(count: number, body: (index: number) => number): Body {
  return compiled(
    `let sum = 0
     for (let left = iterations; left > 0; left -= ${count}) {
       for (let i = 0; i < ${count}; i++) sum = (sum + body(i)) | 0
     }
     return sum`,
    body,
  )
}

/** Runs a body that visits `count` elements itself, and sums its results. */
export function overAll(count: number, body: () => number): Body {
  return compiled(
    `let sum = 0
     for (let left = iterations; left > 0; left -= ${count}) sum = (sum + body()) | 0
     return sum`,
    body,
  )
}

let loops = 0

/** A separate loop for each body, because loops of one source would share the engine's type feedback. */
function compiled(loop: string, body: (...args: never[]) => unknown): Body {
  const source = `return function loop${loops++}(iterations) { ${loop} }`
  return (new Function('body', 'open', source) as (...args: unknown[]) => Body)(body, () => NativeScope.ofConfined())
}
