import { LoadError } from '../../errors/kinds.ts'

/** The versions of koffi that were tested: the first one, and the first one that was not. */
const TESTED = { first: '3.3.4', end: '4.0.0' }

/** Checks the version of koffi, because a package manager may be told to install another one than this package asks for. */
export function checkKoffi(version: string): void {
  const { first, end } = TESTED
  if (compare(version, first) >= 0 && compare(version, end) < 0) return
  throw new LoadError(`koffi must be ${first} or later, and older than ${end}, got ${version}`, {
    hint: 'Remove what makes the package manager install this version, for example an entry of "overrides".',
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
