import { describe, expect, it } from 'vitest'
import { tensor, type Tensor } from '@tenon/core'
import { packedFunc, type PackedFunc, type PackedFuncError, tensorView } from '../src/index.ts'
import { kernel, thrownBy } from './support.ts'

const call = kernel('call')
const sumInParallel = kernel('sum_in_parallel')
const onThread = kernel('call_on_thread')

const failureOf = async (promise: Promise<unknown>): Promise<PackedFuncError> =>
  (await promise.then(
    () => expect.unreachable(),
    (caught: unknown) => caught,
  )) as PackedFuncError

describe('calls from other threads', () => {
  it('are relayed to the owning thread, with arguments, results and errors', async () => {
    const seen: unknown[] = []
    const add = packedFunc(
      (...values: number[]) => {
        seen.push(values)
        return values.reduce((a, b) => a + b, 0)
      },
      { relay: true },
    )
    expect(await call.async(add, 1, 2, 3)).toBe(6)
    expect(seen).toEqual([[1, 2, 3]])
    const text = packedFunc((value: string) => value + value, { relay: true })
    expect(await call.async(text, 'longer than seven')).toBe('longer than sevenlonger than seven')
    const mine = new RangeError('mine')
    const thrower = packedFunc(
      () => {
        throw mine
      },
      { relay: true },
    )
    expect(await failureOf(call.async(thrower))).toBe(mine)
  })

  it('on the owning thread do not wait', () => {
    expect(
      call(
        packedFunc((x: number) => x + 1, { relay: true }),
        1,
      ),
    ).toBe(2)
  })

  it('from many threads at once each get their own answer', async () => {
    const twice = packedFunc((x: number) => 2 * x, { relay: true })
    const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => call.async(twice, i)))
    expect(answers).toEqual(Array.from({ length: 200 }, (_, i) => 2 * i))
  })

  it('may nest through native code', async () => {
    const down: PackedFunc = packedFunc((n: number) => (n === 0 ? 0 : (call(down, n - 1) as number) + 1), {
      relay: true,
    })
    expect(await call.async(down, 20)).toBe(20)
  })

  it('may pass and return tensors', async () => {
    const x = tensor('float32', [2], [1, 2])
    const same = packedFunc((given: Tensor) => given, { relay: true })
    expect(await call.async(same, x)).toBe(x)
  })

  it('fail at once without relay', async () => {
    const error = await failureOf(call.async(packedFunc(() => 1)))
    expect(error.kind).toBe('ThreadError')
    expect(error.sentence).toContain('can only be called on its own thread')
  })

  it('fail while the owning thread waits for them in native code', () => {
    const error = thrownBy(() => onThread(packedFunc(() => 1, { relay: true }))) as PackedFuncError
    expect(error.kind).toBe('ThreadError')
    expect(error.sentence).toContain('deadlock avoided')
  })

  it('run while the owning thread waits for tasks of a parallel launch', () => {
    const seen = new Set<number>()
    const square = packedFunc(
      (i: number) => {
        seen.add(i)
        // A launch inside a task runs within that task.
        return (sumInParallel((x: number) => x + 1, 1) as number) + i * i - 1
      },
      { relay: true },
    )
    expect(sumInParallel(square, 4)).toBe(0 + 1 + 4 + 9)
    expect([...seen].toSorted()).toEqual([0, 1, 2, 3])
    const error = thrownBy(() => sumInParallel((i: number) => i, 4)) as PackedFuncError
    expect(error.kind).toBe('ThreadError')
  })

  it('fail after their timeout, and never run later', async () => {
    let runs = 0
    const late = packedFunc(() => ++runs, { relay: { timeout: 1 } })
    const failing = failureOf(call.async(late))
    const end = Date.now() + 150
    while (Date.now() < end);
    const error = await failing
    expect([error.kind, error.sentence]).toEqual([
      'ThreadError',
      'timed out: the thread that owns this TypeScript function did not answer',
    ])
    expect(runs).toBe(0)
  })

  it('wait while the owning thread is busy in JavaScript for longer than it may stay in a native call', async () => {
    const patient = packedFunc(() => 'answered', { relay: true })
    const answer = call.async(patient)
    const end = Date.now() + 300
    while (Date.now() < end);
    expect(await answer).toBe('answered')
  })

  it.each([
    [{ relay: 1 }, 'relay must be a boolean or an object, got 1'],
    [{ relay: null }, 'relay must be a boolean or an object, got null'],
    [{ async: 'yes' }, 'async must be a boolean'],
    [{ relay: { timeout: 0 } }, 'timeout must be a whole number of milliseconds'],
    [{ relay: { timeout: 1.5 } }, 'timeout must be a whole number of milliseconds'],
    [{ relay: { timeout: 2 ** 31 } }, 'timeout must be a whole number of milliseconds'],
    [null, 'options must be an object'],
  ])('options %j are refused', (options, sentence) => {
    expect(() => packedFunc(() => 1, options as never)).toThrow(sentence)
  })
})

describe('an asynchronous function', () => {
  it('is waited for by other threads', async () => {
    const later = packedFunc(
      async (x: number) => {
        await new Promise((resolve) => setTimeout(resolve, 20))
        return `${x} and more than seven`
      },
      { async: true },
    )
    expect(await call.async(later, 7)).toBe('7 and more than seven')
    const plain = packedFunc((x: number) => x, { async: true })
    expect(await call.async(plain, 3)).toBe(3)
  })

  it('may throw or reject', async () => {
    const mine = new TypeError('later')
    const rejects = packedFunc(
      async () => {
        await Promise.resolve()
        throw mine
      },
      { async: true },
    )
    expect(await failureOf(call.async(rejects))).toBe(mine)
    const throws = packedFunc(
      () => {
        throw mine
      },
      { async: true },
    )
    expect(await failureOf(call.async(throws))).toBe(mine)
    const lent = packedFunc(async () => tensorView(tensor('float32', [1])), { async: true })
    expect((await failureOf(call.async(lent))).sentence).toContain('which calls only borrow')
  })

  it('may resolve to tensors and functions', async () => {
    const x = tensor('float32', [2], [1, 2])
    expect(await call.async(packedFunc(async () => x, { async: true }))).toBe(x)
    const made = (await call.async(packedFunc(async () => packedFunc(() => 5), { async: true }))) as PackedFunc
    expect(made()).toBe(5)
  })

  it('may settle after its caller has timed out', async () => {
    const late = packedFunc(() => new Promise<number>((resolve) => setTimeout(resolve, 150, 1)), {
      async: true,
      relay: { timeout: 30 },
    })
    expect((await failureOf(call.async(late))).sentence).toContain('did not answer')
    await new Promise((resolve) => setTimeout(resolve, 200))
  })

  it('throws TypeError on its own thread, and if it is not declared asynchronous', () => {
    const error = thrownBy(() => call(packedFunc(async () => 1, { async: true }))) as PackedFuncError
    expect([error.kind, error.message.includes('cannot be called on its own thread')]).toEqual(['TypeError', true])
    expect(() => call(async () => 1)).toThrow('declare it with { async: true }')
  })
})
