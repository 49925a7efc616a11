import { isSanitized } from '@tenon/config/sanitizer'
import { IsolationError, tensor, type TenonError, type Tensor, KernelDeadlineError } from '@tenon/core'
import { KernelCrashError, KernelMemoryError } from '@tenon/isolate'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Library, type IsolatedKernel, type IsolatedLibrary } from '../src/index.ts'
import { fixturePath } from './isolated.ts'

/** What a kernel does, by the number in csrc/fixture/faulty/faults.h, and the error of its call. */
interface Fault {
  readonly fault: number
  readonly error: typeof KernelCrashError | typeof KernelDeadlineError | typeof KernelMemoryError
  readonly details: Readonly<Record<string, unknown>>
  readonly deadline?: number
  /** The error with exact bounds, if it differs; null if the call succeeds in the other mode. */
  readonly guarded?: Readonly<Record<string, unknown>>
  readonly isOnlyGuarded?: boolean
}

const crash = (fault: number, details: Fault['details']): Fault => ({ fault, error: KernelCrashError, details })

const faults: Readonly<Record<string, Fault>> = {
  'writes to a bad address': crash(1, { signal: 'SIGSEGV', address: '0xdead000', access: 'write' }),
  'writes to a null pointer': crash(33, { signal: 'SIGSEGV', address: '0x8', access: 'write' }),
  'calls abort()': crash(2, { signal: 'SIGABRT' }),
  'overflows the stack': crash(3, { signal: 'SIGSEGV' }),
  'calls exit(3)': crash(4, { exitCode: 3 }),
  'calls _exit(0)': crash(5, { exitCode: 0 }),
  'executes an invalid instruction': crash(6, {}),
  'kills itself': crash(7, { signal: 'SIGKILL' }),
  hangs: { fault: 8, error: KernelDeadlineError, details: { stage: 'killed' }, deadline: 150 },
  spins: { fault: 9, error: KernelDeadlineError, details: { stage: 'killed' }, deadline: 150 },
  'needs too much memory': {
    fault: 10,
    error: KernelMemoryError,
    details: { source: 'rlimit', refusedBytes: 67_108_864 },
  },
  'damages the heap': crash(11, {}),
  'throws on another thread': crash(14, { signal: 'SIGABRT' }),
  'ends its thread': crash(15, {}),
  'divides by zero': crash(21, { signal: 'SIGFPE' }),
  'reads an address that no process has': crash(22, { signal: 'SIGSEGV' }),
  'waits until it is cancelled': {
    fault: 25,
    error: KernelDeadlineError,
    details: { stage: 'cancelled' },
    deadline: 150,
  },
  'reads a page without a file': crash(26, { signal: 'SIGBUS' }),
  'writes to a bad address on another thread': crash(27, { signal: 'SIGSEGV', address: '0xdead000' }),
  'writes past a result': {
    ...crash(17, { signal: 'SIGSEGV', operand: 1, byteOffset: 64, access: 'write' }),
    isOnlyGuarded: true,
  },
  'writes to an operand': {
    ...crash(18, { signal: 'SIGSEGV', operand: 0, byteOffset: 12, access: 'write' }),
    isOnlyGuarded: true,
  },
  'reads before an operand': {
    ...crash(19, { signal: 'SIGSEGV', operand: 0, byteOffset: -4100, access: 'read' }),
    isOnlyGuarded: true,
  },
  'reads past an operand': {
    ...crash(30, { signal: 'SIGSEGV', operand: 0, byteOffset: 64, access: 'read' }),
    isOnlyGuarded: true,
  },
}

const input = (): Tensor =>
  tensor(
    'f32',
    [16],
    Float32Array.from({ length: 16 }, (_, i) => i),
  )
/** AddressSanitizer reserves more memory than a worker with a limit may. */
const limit = isSanitized ? {} : { memory: '128 MiB' }

const DOUBLED = Array.from({ length: 16 }, (_, i) => 2 * i)

type Run = (kernel: IsolatedKernel, args: readonly never[]) => unknown

const forms: Readonly<Record<string, Run>> = {
  sync: (kernel, args) => kernel(...args),
  async: (kernel, args) => kernel.async(...args),
  batch: async (kernel, args) => {
    const x = input() as never
    const [before, fails, after] = await kernel.batch([[x], args, [x]])
    // The call before has its result, and the one behind runs in the next worker.
    expect((before as PromiseFulfilledResult<Tensor>).value.toArray()).toEqual(DOUBLED)
    expect((after as PromiseFulfilledResult<Tensor>).value.toArray()).toEqual(DOUBLED)
    if (fails!.status === 'rejected') throw fails!.reason
    return fails!.value
  },
}

describe.each([false, true])('with guard: %s', (guard) => {
  let library: IsolatedLibrary
  let kernel: IsolatedKernel

  beforeAll(async () => {
    const restart = { limit: 10_000, backoff: 0 }
    library = await Library.isolate(fixturePath('faulty'), { guard, restart, grace: 50, ...limit })
    kernel = library.kernel('faulty')
  })
  afterAll(async () => library.closeAsync())

  const table = Object.entries(faults)
    .filter(([, { isOnlyGuarded }]) => guard || isOnlyGuarded !== true)
    .filter(([, { error }]) => !isSanitized || error !== KernelMemoryError)
  describe.each(Object.keys(forms))('%s', (form) => {
    test.each(table)(
      'a kernel that %s is an error of its call',
      async (_, { fault, error, details, deadline = 20_000 }) => {
        const thrown = (await (async () => forms[form]!(kernel, [input(), { fault }, { deadline }] as never[]))().then(
          (value) => value,
          (reason: unknown) => reason,
        )) as TenonError
        expect(thrown).toBeInstanceOf(error)
        expect(thrown).toBeInstanceOf(IsolationError)
        expect(thrown.details).toMatchObject({ kernel: 'faulty', worker: { index: 0 }, ...details })
        expect(typeof thrown.details['output']).toBe('string')
        // The next call finds a worker that works.
        expect(kernel(input()).toArray()).toEqual(DOUBLED)
      },
    )
  })

  test.each([12, 13, 16, 28])(
    'a kernel that interferes with its process (%i) does not disturb later calls',
    async (fault) => {
      await kernel
        .async(input(), { fault }, { deadline: 2000 })
        .catch((error: unknown) => expect(error).toBeInstanceOf(IsolationError))
      expect(kernel(input()).toArray()).toEqual(DOUBLED)
    },
  )

  test('an error has the output of its call', async () => {
    const error = (await kernel.async(input(), { fault: 24 }).catch((thrown: unknown) => thrown)) as TenonError
    expect(error).toMatchObject({
      code: 'TENON_XLA',
      sentence: 'faulty answered FAILED_PRECONDITION: failed on purpose',
    })
    expect(error.details).toMatchObject({ worker: { index: 0 } })
  })
})
