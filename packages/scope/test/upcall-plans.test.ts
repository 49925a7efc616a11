import { ScopeClosedError } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeScope, ResourceScope } from '../src/index.ts'
import { type FunctionSignature, Linker, type NativeType, upcallStub } from '../src/linker.ts'

const { int32, struct } = MemoryLayout
const int32ToInt32 = { result: 'int32', parameters: ['int32'] } as const
const KINDS = ['int32', 'float64', 'int64'] as const

/** Every list of one to six parameters of three types: more signatures than plans are kept. */
function signatures(): FunctionSignature[] {
  let lists: NativeType[][] = [[]]
  const all: FunctionSignature[] = []
  for (let length = 1; length <= 6; length++) {
    lists = lists.flatMap((list) => KINDS.map((kind) => [...list, kind]))
    for (const parameters of lists) all.push({ result: 'float64', parameters })
  }
  return all
}

/** Calls a stub with the numbers from 1 on, and returns what it received. */
function received(signature: FunctionSignature, scope: ResourceScope): unknown[] {
  let got: unknown[] = []
  const run = (...values: unknown[]): number => {
    got = values
    return values.length
  }
  const stub = upcallStub(run, signature, scope, { unsafeReuse: true })
  expect(Linker.downcall(stub, signature)(...signature.parameters!.map((_, i) => i + 1))).toBe(got.length)
  return got
}

const expected = ({ parameters }: FunctionSignature): unknown[] =>
  parameters!.map((kind, i) => (kind === 'int64' ? BigInt(i + 1) : i + 1))

/** Calls a stub after its scope has closed. */
const late = (address: bigint): unknown => Linker.downcall(MemorySegment.ofAddress(address), int32ToInt32)(1)

describe('stubs that share a plan', () => {
  test('of more signatures than plans are kept receive the arguments of their own signature', () => {
    const all = signatures()
    for (const round of [all, all.slice(0, 10)]) {
      using scope = ResourceScope.ofConfined()
      for (const signature of round) expect(received(signature, scope)).toEqual(expected(signature))
    }
  })

  test('are apart if only the result, the number of parameters or the struct differs', () => {
    using scope = NativeScope.ofConfined()
    const point = struct({ x: int32, y: int32 })
    const line = struct({ from: int32, to: int32, width: int32 })
    const call = (
      signature: FunctionSignature,
      run: (...values: never[]) => number | void,
      ...values: never[]
    ): unknown => Linker.downcall(upcallStub(run, signature, scope), signature)(...values)
    expect(call({ parameters: ['int32'] }, () => {}, 1 as never)).toBe(undefined)
    expect(call({ result: 'int32', parameters: ['int32'] }, () => 2, 1 as never)).toBe(2)
    expect(call({ result: 'bool', parameters: ['int32'] }, () => true as never, 1 as never)).toBe(true)
    expect(call({ result: 'int32' }, () => 3)).toBe(3)
    const size = (segment: MemorySegment): number => segment.byteSize
    for (const layout of [point, line, point]) {
      const value = scope.allocate(layout.byteSize!, 4)
      expect(call({ result: 'int32', parameters: [layout] }, size, value as never)).toBe(layout.byteSize)
    }
  })

  test('do not receive the options of the stub before', () => {
    const stubs = [
      { refusedResult: -7 },
      undefined,
      { refusedResult: 5, timeout: 1, foreignThread: 'refuse' },
      {},
    ] as const
    const addresses = stubs.map((options) => {
      using scope = ResourceScope.ofConfined()
      return upcallStub((x: number) => x, int32ToInt32, scope, options).address
    })
    expect(addresses.map(late)).toEqual([-7, 0, 5, 0])
  })

  test('return an address that calls are refused with, as a number or a bigint', () => {
    using scope = ResourceScope.ofConfined()
    const lateAddress = (refusedResult: number | bigint): unknown => {
      const own = ResourceScope.ofConfined()
      const signature = { result: 'pointer', parameters: ['int32'] } as const
      const stub = upcallStub(() => MemorySegment.NULL, signature, own, { refusedResult })
      own.close()
      return Linker.downcall(MemorySegment.ofAddress(stub.address), signature)(1).address
    }
    for (const value of [0, 7, 7n, 2 ** 53 - 1, 2n ** 53n, 2n ** 64n - 1n])
      expect(lateAddress(value)).toBe(BigInt(value))
    for (const value of [null, 'a', true, 1.5, -1, -1n, 2n ** 64n, Number.NaN, MemorySegment.NULL, {}])
      expect(() =>
        upcallStub(() => null as never, { result: 'pointer', parameters: [] }, scope, {
          refusedResult: value as never,
        }),
      ).toThrow(/^refusedResult must be a (number or bigint|whole number from 0 to 18446744073709551615), got/)
  })

  test('are made while the options of another one are read', () => {
    const inner = ResourceScope.ofConfined()
    const outer = ResourceScope.ofConfined()
    const made: MemorySegment[] = []
    const options = {
      get refusedResult(): number {
        made.push(upcallStub((x: number) => x + 100, int32ToInt32, inner, { refusedResult: 11 }))
        return 22
      },
    }
    made.push(upcallStub((x: number) => x + 200, int32ToInt32, outer, options))
    expect(made.map((stub) => Linker.downcall(stub, int32ToInt32)(1))).toEqual([101, 201])
    inner.close()
    outer.close()
    expect(made.map(({ address }) => late(address))).toEqual([11, 22])
  })
})

describe('the arguments of a stub', () => {
  test('are read once, so that a getter or a later change does not make another signature', () => {
    using scope = ResourceScope.ofConfined()
    const reads: string[] = []
    const parameters: NativeType[] = ['int32']
    const answer = <Value>(name: string, first: Value, later: Value): Value => (reads.push(name) > 2 ? later : first)
    const signature: FunctionSignature = {
      get result() {
        return answer<NativeType>('result', 'int32', 'pointer')
      },
      get parameters() {
        return answer<NativeType[]>('parameters', parameters, ['pointer', 'pointer'])
      },
    }
    const stub = upcallStub((x: number) => x + 1, signature, scope)
    expect(reads.toSorted()).toEqual(['parameters', 'result'])
    parameters[0] = 'pointer'
    expect(Linker.downcall(stub, int32ToInt32)(41)).toBe(42)
  })

  test('may close the scope, and then no stub is alive', () => {
    const before = ResourceScope.stats().liveStubs
    const scope = ResourceScope.ofConfined()
    const run = (): number => 1
    Object.defineProperty(run, 'name', {
      get: () => {
        scope.close()
        return 'closing'
      },
    })
    expect(() => upcallStub(run, { result: 'int32' }, scope)).toThrow(ScopeClosedError)
    expect(ResourceScope.stats().liveStubs).toBe(before)
  })

  test('of a native call are read once as well', () => {
    let reads = 0
    const signature: FunctionSignature = {
      result: 'int32',
      get parameters(): NativeType[] {
        return reads++ === 0 ? ['int32'] : ['pointer']
      },
    }
    using scope = ResourceScope.ofConfined()
    const stub = upcallStub((x: number) => x + 1, int32ToInt32, scope)
    expect(Linker.downcall(stub, signature)(41)).toBe(42)
    expect(reads).toBe(1)
  })
})

test('10,000 stubs of one scope run their own functions, and close together', () => {
  const before = ResourceScope.stats().liveStubs
  const scope = ResourceScope.ofConfined()
  const stubs = Array.from({ length: 10_000 }, (_, i) =>
    upcallStub((x: number) => x + i, int32ToInt32, scope, { unsafeReuse: true, refusedResult: -1 }),
  )
  for (const i of [0, 1, 100, 4095, 4096, 9999]) expect(Linker.downcall(stubs[i]!, int32ToInt32)(1)).toBe(i + 1)
  scope.close()
  expect(ResourceScope.stats().liveStubs).toBe(before)
  expect([0, 9999].map((i) => late(stubs[i]!.address))).toEqual([-1, -1])
})
