import type { Body } from './suite.ts'

export type Loop = (iterations: number) => unknown

let loops = 0

/**
 * Returns the loop over a body: the body itself if it takes a count, otherwise a loop compiled for this body alone. Loops
 * compiled from one source would share type feedback, so each source is unique. The result of the body is stored where the
 * engine has to keep it, numbers unboxed.
 */
export async function loopOver(body: Body): Promise<Loop> {
  if (body.length > 0) return body
  const first = (body as () => unknown)()
  const waits = first instanceof Promise
  const isNumber = typeof (await first) === 'number'
  const sink = isNumber ? new Float64Array(1) : [undefined]
  const source = `return ${waits ? 'async ' : ''}function loop${loops++}(iterations) {
    for (let i = 0; i < iterations; i++) sink[0] = ${waits ? 'await ' : ''}body()
  }`
  return (new Function('body', 'sink', source) as (body: Body, sink: ArrayLike<unknown>) => Loop)(body, sink)
}
