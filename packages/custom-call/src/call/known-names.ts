import { ArgumentError } from '@tenon/core'
import { didYouMean } from '@tenon/core/internal'

/** Refuses the names of operands or results that a kernel does not have. @throws {ArgumentError} */
export function checkKnownNames(
  kernel: string,
  which: 'operand' | 'result',
  given: object,
  known: readonly string[],
): void {
  for (const name in given) {
    if (known.includes(name)) continue
    throw new ArgumentError(`${kernel} does not have ${which === 'operand' ? 'an' : 'a'} ${which} named ${name}`, {
      hint: didYouMean(name.slice(0, 255), known) ?? `The ${which}s are ${known.join(', ')}.`,
      details: { path: `the ${which}s of ${kernel}`, expected: known, received: name },
    })
  }
}
