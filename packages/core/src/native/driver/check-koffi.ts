import { wrongType } from '../../errors/check-arguments.ts'
import { LoadError } from '../../errors/kinds.ts'

/** The versions of koffi that were tested: the first one, and the first one that was not. */
const TESTED = { first: '3.3.4', end: '4.0.0' }

/** Checks the version of koffi, because an application that does not use Tenon through koffi may have any version of it. */
export function checkKoffi(koffi: { readonly version: string }): void {
  const version: unknown = (koffi as { readonly version?: unknown } | null | undefined)?.version
  if (typeof version !== 'string') {
    throw wrongType('koffi', 'the module koffi', koffi, "Pass the result of `import koffi from 'koffi'`.")
  }
  const { first, end } = TESTED
  if (compare(version, first) >= 0 && compare(version, end) < 0) return
  throw new LoadError(`koffi must be ${first} or later, and older than ${end}, got ${version}`, {
    hint: `Install koffi ${first} or later, for example with "npm install koffi@${first.split('.')[0]}".`,
    details: { expected: `>=${first} <${end}`, received: version },
  })
}

function compare(left: string, right: string): number {
  const [a, b] = [numbersOf(left), numbersOf(right)]
  const at = a.findIndex((number, i) => number !== b[i])
  return at === -1 ? 0 : a[at]! - b[at]!
}

/** Major, minor and patch. A version for testing, `4.0.0-beta.1`, counts as the version. */
function numbersOf(version: string): number[] {
  return version.split('-')[0]!.split('.').map(Number)
}
