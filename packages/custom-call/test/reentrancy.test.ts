import { ArgumentError, ScopeClosedError, ScopeHeldError, tensor, type Tensor } from '@tenon/core'
import { callsInProgress } from '@tenon/core/internal'
import {
  batch,
  customCall,
  f32,
  FunctionTarget,
  ptr,
  s32,
  s64,
  typedHandler,
  Attribute,
  type BatchEntry,
  type PreparedCall,
} from '@tenon/custom-call'
import { NativeScope } from '@tenon/scope'
import { afterEach, describe, expect, test } from 'vitest'
import { kernels, thrownBy } from './kernels.ts'

const handler = typedHandler(kernels, 'broadcast_add')
const vector = f32([4])
const prepare = (): PreparedCall => handler.prepare({ operands: [vector, vector], results: [vector] })
const full = (value: number, allocator?: NativeScope): Tensor =>
  tensor(
    'f32',
    [4],
    Array.from({ length: 4 }, () => value),
    allocator === undefined ? {} : { allocator },
  )

/** An array whose element at `index` is read through a getter. */
function withGetter(tensors: readonly Tensor[], index: number, read: () => Tensor): Tensor[] {
  return Object.defineProperty([...tensors], index, { get: read, enumerable: true, configurable: true })
}

const RUNNING = /is running: a prepared call cannot run inside itself/

afterEach(() => expect(callsInProgress.depth).toBe(0))

describe('operands that run code while they are read', () => {
  const [a, b] = [full(1), full(10)]

  test.each(['operand', 'result'])('a %s cannot run the same call again', (place) => {
    using call = prepare()
    const y = full(0)
    const errors: unknown[] = []
    const reenter = (value: Tensor) => (): Tensor => {
      errors.push(thrownBy(() => call.run([full(500), b], [full(0)])))
      return value
    }
    if (place === 'operand') call.run(withGetter([a, b], 1, reenter(b)), [y])
    else call.run([a, b], withGetter([y], 0, reenter(y)))
    expect(y.toArray()).toStrictEqual([11, 11, 11, 11])
    expect(errors).toStrictEqual([expect.any(ArgumentError)])
    expect(String(errors[0])).toMatch(RUNNING)
    call.run([b, b], [y])
    expect(y.toArray()).toStrictEqual([20, 20, 20, 20])
  })

  test('each of them is read once', () => {
    using call = prepare()
    let count = 0
    const counted = (value: Tensor) => (): Tensor => {
      count++
      return value
    }
    const y = full(0)
    call.run(withGetter([a, b], 0, counted(a)), withGetter([y], 0, counted(y)))
    expect(count).toBe(2)
    expect(thrownBy(() => call.run(withGetter([a, b], 0, counted(tensor('f32', [2]))), [y]))).toBeInstanceOf(
      ArgumentError,
    )
    expect(count).toBe(3)
  })

  test.each(['run', 'runAsync', 'bind', 'batch'] as const)(
    '%s refuses memory that a later operand closes while it is read',
    async (form) => {
      using call = prepare()
      const scope = NativeScope.ofConfined()
      const first = full(1, scope)
      const y = full(0)
      const operands = withGetter([first, b], 1, () => {
        if (scope.isAlive) scope.close()
        return b
      })
      const enter = async (): Promise<unknown> => {
        if (form === 'runAsync') return call.runAsync(operands, [y])
        if (form === 'batch') return batch([{ call, operands, results: [y] }])
        return form === 'run' ? call.run(operands, [y]) : call.bind(operands, [y])
      }
      await expect(enter()).rejects.toThrow(ScopeClosedError)
      expect(y.toArray()).toStrictEqual([0, 0, 0, 0])
      call.run([a, b], [y])
    },
  )

  test.each(['run', 'runAsync', 'bind'] as const)('%s refuses a call that an operand closes', async (form) => {
    const call = prepare()
    const operands = withGetter([a, b], 1, () => {
      if (call.isAlive) call.close()
      return b
    })
    await expect((async () => call[form](operands, [full(0)]) as unknown)()).rejects.toThrow(ScopeClosedError)
  })

  test('memory whose buffer a later operand transfers is refused', () => {
    using call = prepare()
    const first = full(1)
    const { buffer } = first.view()
    const operands = withGetter([first, b], 1, () => {
      ;(buffer as ArrayBuffer).transfer()
      return b
    })
    expect(thrownBy(() => call.run(operands, [full(0)]))).toBeInstanceOf(ScopeClosedError)
  })

  test('an error of a getter is thrown as it is, and the call can run again', () => {
    using call = prepare()
    const mine = new Error('mine')
    const y = full(0)
    const throwing = withGetter([a, b], 1, () => {
      throw mine
    })
    expect(thrownBy(() => call.run(throwing, [y]))).toBe(mine)
    call.run([a, b], [y])
    expect(y.toArray()).toStrictEqual([11, 11, 11, 11])
  })

  test('an array may be a proxy, but a tensor must not be one', () => {
    using call = prepare()
    const y = full(0)
    call.run(new Proxy([a, b], {}), [y])
    expect(y.toArray()).toStrictEqual([11, 11, 11, 11])
    let reads = 0
    const proxy = new Proxy(a, { get: (of, key) => (reads++, Reflect.get(of, key) as unknown) })
    const error = thrownBy(() => call.run([a, proxy], [y]))
    expect(error).toBeInstanceOf(ArgumentError)
    expect(String(error)).toContain('operand 1 of broadcast_add must be a tensor of float32[4], got a Proxy')
    expect(reads).toBe(0)
    expect(() => call.bind([proxy, a], [y])).toThrow(/got a Proxy/)
    expect(() => call.run([a, b], [proxy])).toThrow(/result 0 of broadcast_add must be .*, got a Proxy/)
  })
})

describe('a call as a function whose arguments run code while they are read', () => {
  const b = full(10)
  const small = tensor('f32', [2], [3, 4])

  test('another call of the same function runs beside it', () => {
    const add = customCall(kernels, 'broadcast_add')
    const y = full(0)
    add([b, b], { results: [y] })
    for (const inner of [small, b, small]) {
      let seen: unknown
      const operands = withGetter([b, b], 1, () => {
        seen = (add([inner, inner], { results: [inner.type] }) as Tensor).toArray()[0]
        return b
      })
      add(operands, { results: [y] })
      expect(y.toArray()).toStrictEqual([20, 20, 20, 20])
      expect(seen).toBe(2 * (inner.toArray()[0] as number))
      add([b, b], { results: [y] })
      add([small, small], { results: [small.type] })
    }
  })

  test('an attribute has the value that was read once', () => {
    const saxpy = customCall(kernels, 'saxpy')
    const y = full(0)
    let next = 1
    const attrs = Object.defineProperty({}, 'a', { get: () => f32(next++), enumerable: true }) as Record<
      string,
      Attribute
    >
    saxpy([b, b], { results: [y], attrs })
    expect(y.toArray()[0]).toBe(20)
    // The frame of the first call serves for this value, and for no other.
    saxpy([b, b], { results: [y], attrs: { a: f32(1) } })
    expect(y.toArray()[0]).toBe(20)
    saxpy([b, b], { results: [y], attrs: { a: f32(3) } })
    expect(y.toArray()[0]).toBe(40)
  })
})

test('attributes are read once each if the first ones are those of the previous call', () => {
  const clip = customCall(kernels, 'clip_v3')
  const [x, y] = [tensor('f32', [2], [-1, 7]), tensor('f32', [2])]
  const values = { low: f32(0), high: f32(1) }
  clip([x], { results: [y], attrs: values })
  for (const [low, high] of [
    [0, 1],
    [0, 5],
    [-1, 5],
    [-1, -1],
  ]) {
    const reads: string[] = []
    const counted = new Proxy(
      { low: f32(low!), high: f32(high!) },
      {
        get: (target, name: 'low' | 'high') => (reads.push(name), target[name]),
      },
    )
    clip([x], { results: [y], attrs: counted })
    expect(reads.toSorted()).toStrictEqual(['high', 'low'])
    expect(y.toArray()).toStrictEqual([Math.max(-1, low!), Math.min(7, high!)])
  }
  // Its keys change while it is read. Every value that was read belongs to the call, and no other one.
  let keys = ['low', 'high']
  const changing = new Proxy<Record<string, Attribute>>(
    { ...values },
    {
      get: (_, name) => {
        keys = ['high', 'low', 'third']
        return name === 'low' ? f32(-9) : f32(9)
      },
      has: () => true,
      ownKeys: () => keys,
      getOwnPropertyDescriptor: () => ({ value: undefined, enumerable: true, configurable: true, writable: true }),
    },
  )
  expect(thrownBy(() => clip([x], { results: [y], attrs: changing }))).toBeInstanceOf(Error)
  clip([x], { results: [y], attrs: values })
  expect(y.toArray()).toStrictEqual([0, 1])
})

test('a getter among the attributes that calls the same function leaves the other attributes of its call as they are', () => {
  const clip = customCall(kernels, 'clip_v3')
  const [x, y, inner] = [tensor('f32', [2], [-100, 100]), tensor('f32', [2]), tensor('f32', [2])]
  const low = f32(-1)
  for (const high of [f32(7), f32(1)]) {
    clip([x], { results: [y], attrs: { low, high: f32(1) } })
    const attrs = {
      low,
      get high() {
        clip([x], { results: [inner], attrs: { low: f32(-50), high: f32(9) } })
        return high
      },
    }
    clip([x], { results: [y], attrs })
    expect([y.toArray(), inner.toArray()]).toStrictEqual([
      [-1, high.value],
      [-50, 9],
    ])
  }
  // The last attribute is the only one that is missing.
  const shorter = Object.defineProperty({ low }, 'low', {
    get: () => (clip([x], { results: [inner], attrs: { low: f32(-50), high: f32(9) } }), low),
  })
  clip([x], { results: [y], attrs: { low, high: f32(1) } })
  expect(() => clip([x], { results: [y], attrs: shorter })).toThrow(/attributes/)
})

test('a Proxy among the attributes can prepare other calls while a call is prepared', () => {
  const saxpy = typedHandler(kernels, 'saxpy')
  const others: PreparedCall[] = []
  const a = new Proxy(f32(2), {
    getPrototypeOf: () => {
      others.push(saxpy.prepare({ operands: [f32([64]), f32([64])], results: [f32([64])], attrs: { a: f32(7) } }))
      return Attribute.prototype
    },
  })
  const [x, y] = [full(10), full(0)]
  using call = saxpy.prepare({ operands: [x, x], results: [y], attrs: { a } })
  expect(others.length).toBeGreaterThan(1)
  call.run([x, x], [y])
  expect(y.toArray()).toStrictEqual([30, 30, 30, 30])
  for (const other of others) other.close()
})

test('memory whose pointer is an attribute is held open, whatever a getter returns later', () => {
  const [scope, other] = [NativeScope.ofConfined(), NativeScope.ofConfined()]
  const [first, second] = [full(1, scope), full(2, other)]
  let reads = 0
  const attrs = Object.defineProperty({ function: s64(0n) }, 'argument', {
    get: () => ptr(reads++ === 0 ? first : second),
    enumerable: true,
  }) as Record<string, Attribute>
  const call = typedHandler(kernels, 'call_function').prepare({ results: [s32([])], attrs })
  expect([scope, other].map((one) => thrownByClose(one))).toStrictEqual([expect.any(ScopeHeldError), undefined])
  expect(reads).toBe(1)
  call.close()
  scope.close()
})

function thrownByClose(scope: NativeScope): unknown {
  try {
    scope.close()
  } catch (error) {
    return error
  }
  return undefined
}

test('the call of a batch entry is read once', () => {
  using call = prepare()
  const [a, y] = [full(1), full(0)]
  let reads = 0
  const entry = Object.defineProperty({ operands: [a, a], results: [y] }, 'call', {
    get: () => (reads++ === 0 ? call : { bind: () => 'forged' }),
  }) as unknown as BatchEntry
  const steps = batch([entry])
  steps.run()
  expect([y.toArray()[0], reads]).toStrictEqual([2, 1])
  steps.close()
})

describe.each(['bound', 'batch', 'bound.runAsync'] as const)('%s: memory that is bound', (form) => {
  const open = (call: PreparedCall, operands: Tensor[], results: Tensor[]) => {
    const bound = form === 'batch' ? batch([{ call, operands, results }]) : call.bind(operands, results)
    const run = async (): Promise<void> => (form === 'bound.runAsync' ? bound.runAsync() : bound.run())
    return { bound, run }
  }
  const transfer = (of: Tensor): ArrayBuffer => {
    const { buffer } = of.view() as { buffer: ArrayBuffer }
    return buffer.transfer()
  }

  test.each([0, 1, 2])('is refused after the buffer of tensor %i was transferred', async (index) => {
    using call = prepare()
    const tensors = [full(1), full(10), full(0)]
    const [a, b, y] = tensors as [Tensor, Tensor, Tensor]
    const { bound, run } = open(call, [a, b], [y])
    await run()
    expect(y.toArray()).toStrictEqual([11, 11, 11, 11])
    await run()
    transfer(tensors[index]!)
    await expect(run()).rejects.toThrow(ScopeClosedError)
    await expect(run()).rejects.toThrow(/detached through its buffer/)
    bound.close()
  })

  test('may be exposed, before and after', async () => {
    using call = prepare()
    const [a, b, y] = [full(1), full(10), full(0)]
    a.view()
    const { bound, run } = open(call, [a, b], [y])
    for (let i = 0; i < 3; i++) {
      ;(b.view() as Float32Array).fill(i)
      full(5).view()
      await run()
      expect(y.view()[0]).toBe(1 + i)
    }
    bound.close()
  })
})

test('a function that runs its own call again is refused', () => {
  let error: unknown
  const target = FunctionTarget.open('nested', '(x: f32[4]) -> (y: f32[4])', ([x], [y]) => {
    error = thrownBy(() => call.run([x], [y]))
  })
  const call = target.handler.prepare({ operands: [vector], results: [vector] })
  call.run([full(1)], [full(0)])
  expect(String(error)).toMatch(RUNNING)
  call.close()
  target.close()
})

test.each(['prepared call', 'bound call', 'batch'])('a %s is left when the stack of JavaScript is full', (form) => {
  const type = { operands: [vector], results: [vector] } as const
  using target = FunctionTarget.open('nothing', '(x: f32[4]) -> (y: f32[4])', () => {})
  const scope = NativeScope.ofConfined()
  const [x, y] = [full(1, scope), full(2, scope)]
  const call = target.handler.prepare(type)
  const other = form === 'batch' ? batch([{ call, operands: [x], results: [y] }]) : call.bind([x], [y])
  const run = (): void => (form === 'prepared call' ? call.run([x], [y]) : other.run())
  let refused = 0
  // The way back calls with a little more room each time, so every step of a call is where the stack ends once.
  const dive = (): void => {
    try {
      dive()
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
    }
    try {
      run()
    } catch {
      refused++
    }
  }
  dive()
  expect(refused).toBeGreaterThan(0)
  run()
  other.close()
  call.close()
  scope.close()
})
