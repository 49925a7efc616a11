import { expect, test } from 'vitest'
import type { StructField } from '../src/native/call/call-plan.ts'
import { planCall } from '../src/native/call/plan.ts'

const float = (offset: number): StructField => ({ offset, kind: 'float32' })
const shape = (byteSize: number, fields: readonly StructField[], byteAlignment = 4) => ({
  byteSize,
  byteAlignment,
  naturalAlignment: byteAlignment,
  fields,
})

test.each(['sysv-x64', 'aapcs64', 'apple-arm64', 'win64'] as const)(
  'a union is passed as the struct with the classes of all its members by %s',
  (abi) => {
    const plan = (type: ReturnType<typeof shape>): unknown =>
      planCall(abi, { result: type, parameters: [type, 'int32', type] })
    // union { float a; struct { float x, y; } b; }
    expect(plan(shape(8, [float(0), float(0), float(4)]))).toEqual(plan(shape(8, [float(0), float(4)])))
    // union { float a[4]; float b; }
    const four = [float(0), float(4), float(8), float(12)]
    expect(plan(shape(16, [float(0), ...four]))).toEqual(plan(shape(16, four)))
    // union { float a; int32_t b; }
    const integer: StructField = { offset: 0, kind: 'int32' }
    expect(plan(shape(4, [float(0), integer]))).toEqual(plan(shape(4, [integer])))
    // union { double a; float b[2]; } has two kinds of floats, so it is no aggregate of one kind, and no integer either.
    const mixed = plan(shape(8, [{ offset: 0, kind: 'float64' }, float(0), float(4)], 8))
    const expected =
      abi === 'sysv-x64' ? [{ offset: 0, kind: 'float64' } as const] : [{ offset: 0, kind: 'int64' } as const]
    expect(mixed).toEqual(plan(shape(8, expected, 8)))
  },
)
