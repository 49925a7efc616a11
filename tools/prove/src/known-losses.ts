/** A line in which Tenon does not do what the line expects, with the reason. */
export interface KnownLoss {
  readonly line: string
  readonly contestant: 'tenon' | 'tenon-isolated'
  readonly reason: string
}

const trusted =
  'a library that is opened in the process is trusted with it, like an addon; `Library.isolate()` contains it'
const noCallbacks =
  'functions of JavaScript cannot cross to a worker, except to packed functions with `callbacks: relay`'

/** `pnpm prove` fails for a loss that this list does not have, and for a line of this list that is no loss. */
export const knownLosses: readonly KnownLoss[] = [
  { line: 'crash/null-write', contestant: 'tenon', reason: trusted },
  { line: 'crash/endless-loop', contestant: 'tenon', reason: trusted },
  {
    line: 'hostile/false-size',
    contestant: 'tenon',
    reason:
      'the declaration of a C function does not say that a size belongs to a pointer; the addon was written to check it, and a kernel has no such size',
  },
  { line: 'callbacks/same-thread', contestant: 'tenon-isolated', reason: noCallbacks },
  { line: 'callbacks/other-thread', contestant: 'tenon-isolated', reason: noCallbacks },
  { line: 'callbacks/throws', contestant: 'tenon-isolated', reason: noCallbacks },
  { line: 'leak/callbacks', contestant: 'tenon-isolated', reason: noCallbacks },
  {
    line: 'copies/typed-array',
    contestant: 'tenon-isolated',
    reason: 'only shared memory is the same in the worker: allocate operands in `library.memory`',
  },
]
