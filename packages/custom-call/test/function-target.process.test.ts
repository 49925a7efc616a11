import { fileURLToPath } from 'node:url'
import {
  ArgumentError,
  ScopeClosedError,
  ScopeHeldError,
  tensor,
  type Tensor,
  type UnsupportedError,
} from '@tenon/core'
import { asScript } from '@tenon/config/as-script'
import { callsInProgress, liveCallbacks } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import {
  f32,
  FunctionTarget,
  InvalidArgumentError,
  NotFoundError,
  pred,
  s32,
  s64,
  typedHandler,
  UnavailableError,
  UnimplementedError,
  UnknownError,
  XlaError,
  type TargetFunction,
} from '@tenon/custom-call'
import { afterEach, describe, expect, test } from 'vitest'
import { filled, kernels, liveObjects, thrownBy } from './kernels.ts'

const signature = '(x: f32[3]) -> (y: f32[3])'
const types = { operands: [f32([3])], results: [f32([3])] } as const

/** y = 2 x */
const double: TargetFunction = ([x], [y]) => {
  const out = y!.view() as Float32Array
  x!.toArray().forEach((value, i) => (out[i] = 2 * Number(value)))
}

const x = filled([3], (i) => i + 1)

/** Returns the value that a function writes for `x`, or the error that it throws. */
function runOnce(run: TargetFunction): unknown {
  using target = FunctionTarget.open('mine', signature, run)
  using call = target.handler.prepare(types)
  const y = tensor('f32', [3])
  try {
    call.run([x], [y])
  } catch (error) {
    return error
  }
  return y.toArray()
}

/** Likewise, called by a kernel with native memory. */
function runByKernel(run: TargetFunction, elsewhere = false): unknown {
  using target = FunctionTarget.open('mine', signature, run)
  const attrs = { handler: s64(target.address), elsewhere: pred(elsewhere) }
  using call = typedHandler(kernels, 'delegate').prepare({ ...types, attrs })
  const y = tensor('f32', [3])
  try {
    call.run([x], [y])
  } catch (error) {
    return error
  }
  return y.toArray()
}

afterEach(() => {
  expect(callsInProgress.depth).toBe(0)
  expect(liveCallbacks()).toBe(0)
  expect(liveObjects()).toStrictEqual({ errors: 0, futures: 0 })
})

describe('a TypeScript function as a target', () => {
  test('gets the same tensor objects as the run that calls it', () => {
    let seen: readonly Tensor[] = []
    const result = runOnce((operands, results) => {
      seen = operands
      double(operands, results, {})
    })
    expect(result).toStrictEqual([2, 4, 6])
    expect(seen[0]).toBe(x)
  })

  test('can be prepared, bound and called again', () => {
    using target = FunctionTarget.open('double', signature, double)
    using call = target.handler.prepare(types)
    const y = tensor('f32', [3])
    using bound = call.bind([x], [y])
    bound.run()
    expect(y.toArray()).toStrictEqual([2, 4, 6])
    call.run([y], [y])
    expect(y.toArray()).toStrictEqual([4, 8, 12])
    expect(() => target.close()).toThrow(ScopeHeldError)
  })

  test('has the metadata of a handler of 0.1', () => {
    using target = FunctionTarget.open('double', signature, double)
    expect(target.handler.metadata).toMatchObject({ version: '0.1', commandBufferCompatible: false, stateTypeId: 0n })
    expect(target.handler.stages).toStrictEqual(['execute'])
    expect(target.address).toBeGreaterThan(0n)
  })

  test('can be called by native code at its address, with native memory', () => {
    expect(runByKernel(double)).toStrictEqual([2, 4, 6])
  })

  test('loses access to native memory when it returns', () => {
    let kept: Tensor | undefined
    let raw: Float32Array | undefined
    const result = runByKernel(([operand], [y]) => {
      kept = operand
      raw = y!.view() as Float32Array
      raw.fill(7)
    })
    expect(result).toStrictEqual([7, 7, 7])
    expect(() => kept!.toArray()).toThrow(ScopeClosedError)
    expect(raw!.length).toBe(0)
  })

  test('cannot write operands in native memory', () => {
    const seen: boolean[] = []
    runByKernel(([operand], [y]) => {
      seen.push(operand!.segment.readOnly, y!.segment.readOnly)
    })
    expect(seen).toStrictEqual([true, false])
  })

  test('fails if native memory is still held when it returns', () => {
    const holds: Disposable[] = []
    const error = runByKernel(([operand]) => {
      holds.push(operand!.segment.lifetime.acquire())
    })
    expect(error).toBeInstanceOf(UnknownError)
    expect((error as Error).message).toMatch(/the memory that was lent to mine cannot be closed: it is used by 1 hold/)
    holds[0]![Symbol.dispose]()
  })
})

describe('a failing TypeScript function never succeeds', () => {
  const boom = new RangeError('no such row')

  test.each([
    ['in a run', runOnce],
    ['called by a kernel', runByKernel],
  ])('what it throws becomes an error, %s', (_, run) => {
    const error = run(() => {
      throw boom
    })
    expect(error).toBeInstanceOf(UnknownError)
    expect(error).toMatchObject({ codeName: 'UNKNOWN', stage: 'execute', cause: boom })
    expect((error as XlaError).details['text']).toBe('no such row')
  })

  test('and keeps the code of an XlaError', () => {
    const error = runOnce(() => {
      throw new NotFoundError({ xlaCode: 5, text: 'no such table', target: 'inner', stage: 'execute' })
    })
    expect(error).toBeInstanceOf(NotFoundError)
    expect((error as XlaError).details['text']).toBe('no such table')
  })

  test.each([['text'], [undefined], [null], [{}], ['with \0 NUL']])('and may throw %j', (value) => {
    const error = runOnce(() => {
      // oxlint-disable-next-line no-throw-literal
      throw value
    })
    expect(error).toBeInstanceOf(UnknownError)
  })

  test('and is refused when it returns a promise, whose rejection is handled', () => {
    const error = runOnce((async () => {
      throw new Error('later')
    }) as never)
    expect(error).toBeInstanceOf(UnimplementedError)
    expect((error as Error).message).toMatch(/mine returned a promise: it must be done when it returns/)
  })

  test('and is refused at once on another thread', () => {
    let calls = 0
    const error = runByKernel(() => {
      calls++
    }, true)
    expect(error).toBeInstanceOf(UnavailableError)
    expect((error as Error).message).toMatch(/from a thread that does not run its JavaScript/)
    expect(calls).toBe(0)
  })

  test('and is refused with a frame of other types', () => {
    using target = FunctionTarget.open('double', signature, double)
    using call = target.handler.prepare({ operands: [f32([4])], results: [f32([3])] })
    const error = thrownBy(() => call.run([tensor('f32', [4])], [tensor('f32', [3])]))
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect((error as Error).message).toMatch(/Wrong size of axis 0 of argument 0: expected 3 but got 4/)
    using other = target.handler.prepare({ operands: [s32([3])], results: [f32([3])] })
    expect(() => other.run([tensor('s32', [3])], [tensor('f32', [3])])).toThrow(/expected F32 but got S32/)
    using attributes = target.handler.prepare({ ...types, attrs: { a: 1n } })
    expect(() => attributes.run([x], [tensor('f32', [3])])).toThrow(/Wrong number of attributes: expected 0 but got 1/)
  })
})

describe('the lifetime of a function target', () => {
  test('close() throws ScopeHeldError while the function runs', () => {
    let error: unknown
    const target: FunctionTarget = FunctionTarget.open('mine', signature, () => {
      error = thrownBy(() => target.close())
    })
    const call = target.handler.prepare(types)
    call.run([x], [tensor('f32', [3])])
    expect(error).toBeInstanceOf(ScopeHeldError)
    target.close()
    expect(() => call.run([x], [tensor('f32', [3])])).toThrow(/the function mine is closed already/)
    expect(() => target.handler.prepare(types)).toThrow(ScopeClosedError)
    call.close()
  })

  test('a function may call another function, and itself through another call', () => {
    const order: string[] = []
    using inner = FunctionTarget.open('inner', signature, (operands, results) => {
      order.push('inner')
      double(operands, results, {})
    })
    using innerCall = inner.handler.prepare(types)
    using outer = FunctionTarget.open('outer', signature, ([operand], [y]) => {
      order.push('outer')
      innerCall.run([operand!], [y!])
      innerCall.run([y!], [y!])
    })
    using call = outer.handler.prepare(types)
    const y = tensor('f32', [3])
    call.run([x], [y])
    expect(y.toArray()).toStrictEqual([4, 8, 12])
    expect(order).toStrictEqual(['outer', 'inner', 'inner'])
  })

  test('thousands of functions are targets at the same time, and no address is used again', () => {
    const addresses = new Set<bigint>()
    for (let round = 0; round < 2; round++) {
      const targets: FunctionTarget[] = []
      let called = -1
      for (let i = 0; i < 5000; i++) {
        const target = FunctionTarget.open('many', '() -> ()', () => {
          called = i
        })
        targets.push(target)
        addresses.add(target.address)
      }
      for (const i of [0, 4095, 4096, 4999]) {
        using call = targets[i]!.handler.prepare({})
        call.run([], [])
        expect(called).toBe(i)
      }
      for (const target of targets) target.close()
    }
    expect(addresses.size).toBe(10_000)
  })

  if (process.platform !== 'win32') {
    test('targets of workers are closed when the workers end or are terminated', async () => {
      const worker = `
        import { parentPort } from 'node:worker_threads'
        import { FunctionTarget } from '@tenon/custom-call'
        const targets = []
        for (let i = 0; i < 200; i++) targets.push(FunctionTarget.open('mine', '() -> ()', () => {}))
        parentPort.postMessage('made')
        if (process.argv[2] === 'forced') setInterval(() => targets.length, 1000)
      `
      const script = `
        import { once } from 'node:events'
        import { Worker } from 'node:worker_threads'
        import { driverInfo } from '@tenon/core'
        for (const end of ['own', 'forced', 'own', 'forced']) {
          const worker = new Worker(${JSON.stringify(asScript(worker))}, { eval: true, argv: [end] })
          const ended = once(worker, 'exit')
          await once(worker, 'message')
          if (end === 'forced') await worker.terminate()
          await ended
        }
        const { live, dead } = driverInfo().stubs
        console.log('all ended', live, dead)
      `
      const cwd = fileURLToPath(new URL('..', import.meta.url))
      const { code, stdout, stderr } = await runScript(script, { cwd, timeout: 60_000 })
      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'all ended 0 800\n', stderr: '' })
    }, 70_000)
  }

  test.each([
    ['no function', signature, 5, /mine must be a function, got 5/],
    ['no signature', null, double, /signature must be the text of a signature, got null/],
    ['another object', { operands: [], results: [] }, double, /signature must be the text of a signature/],
  ])('%s is refused', (_, wrong, run, message) => {
    const make = (): unknown => FunctionTarget.open('mine', wrong as never, run as never)
    expect(make).toThrow(ArgumentError)
    expect(make).toThrow(message)
  })

  test('an error of a kernel does not get the cause of an earlier error of a function', () => {
    const failed = runOnce(() => {
      throw new Error('first')
    })
    expect((failed as Error).cause).toBeInstanceOf(Error)
    const call = typedHandler(kernels, 'saxpy').prepare({ operands: [f32([1]), f32([1])], results: [f32([1])] })
    const error = thrownBy(() => call.run([tensor('f32', [1]), tensor('f32', [1])], [tensor('f32', [1])]))
    expect(error).toBeInstanceOf(XlaError)
    expect((error as Error).cause).toBeUndefined()
    call.close()
  })
})

test('a signature with strings needs the class of string tensors', () => {
  const open = (): FunctionTarget => FunctionTarget.open('mine', '(text: string[n]) -> (out: string[n])', () => {})
  expect(open).toThrow('the strings of mine need the class StringTensor, which is not loaded')
  expect((thrownBy(open) as UnsupportedError).hint).toContain("Write import '@tenon/tstring'")
})
