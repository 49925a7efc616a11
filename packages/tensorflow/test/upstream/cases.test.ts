/**
 * The cases of TensorFlow's own tests for its C API, written again as a list: the name of the case, a call, and what it expects. The
 * kernels are those of cases.c. Cases that need graphs or shape functions are listed with the reason.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ArgumentError, Tensor, tensor } from '@tenon/core'
import { StringTensor } from '@tenon/tstring'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { donated, TensorFlowError } from '../../src/index.ts'
import { openKernel, type TensorFlowKernel } from '../../src/kernel.ts'
import { TensorFlowLibrary } from '../../src/library.ts'
import { readRegistrations } from '../../src/native/read-registrations.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-tensorflow-'))
let library: TensorFlowLibrary
beforeAll(() => {
  const path = join(directory, 'libcases.so')
  const include = new URL('../../../core/include', import.meta.url).pathname
  const source = new URL('cases.c', import.meta.url).pathname
  execFileSync(process.env['CC'] ?? 'cc', [
    '-O1',
    '-shared',
    '-fPIC',
    '-Wall',
    '-Werror',
    '-I',
    include,
    '-o',
    path,
    source,
  ])
  library = TensorFlowLibrary.open(path)
})
afterAll(() => {
  library.close()
  rmSync(directory, { recursive: true })
})

function kernel(name: string, device?: string): TensorFlowKernel {
  const { native } = library
  const registrations = readRegistrations(native)
  return openKernel({ path: native.path, gate: native.gate, registrations }, name, { device })
}

/** The elements of a result, or the code and the text of an error. */
function outcome(run: () => unknown): unknown {
  try {
    const result = run()
    if (result instanceof StringTensor) return result.get(0)
    return result instanceof Tensor ? [result.dtype, result.shape, result.toArray()] : result
  } catch (error) {
    if (error instanceof TensorFlowError) return [error.codeName, error.text]
    throw error
  }
}

const [two, byte] = [tensor('f64', []), tensor('u8', [], [123])]
const words = (...list: string[]): StringTensor => StringTensor.from(list)

// The sizes of an attribute: -1 for a single value, and the bytes of all strings.
test.each<[name: string, operation: string, value: unknown, expected: string]>([
  ['TestKernelAttr.String', 'String', 'bunny', '-1 5 bunny'],
  ['TestKernelAttr.StringList', 'StringList', ['bugs', 'bunny', 'duck'], '3 13 bugs/4 bunny/5 duck/4'],
  ['TestKernelAttr.Int', 'Int', 1234, '-1 -1 1234'],
  ['TestKernelAttr.IntList', 'IntList', [1, 2, 3, 4], '4 -1 1 2 3 4'],
  ['TestKernelAttr.Float', 'Float', 2.75, '-1 -1 2.75'],
  ['TestKernelAttr.FloatList', 'FloatList', [1.5, 2.75, 3.125], '3 -1 1.5 2.75 3.125'],
  ['TestKernelAttr.Bool', 'Bool', true, '-1 -1 1'],
  ['TestKernelAttr.BoolList', 'BoolList', [true, false, true, false], '4 -1 1 0 1 0'],
  ['TestKernelAttr.Type', 'Type', 'float', '-1 -1 1'],
  ['TestKernelAttr.TypeList', 'TypeList', ['float', 'double', 'half', 'complex128'], '4 -1 1 2 19 18'],
])('%s', (_name, operation, value, expected) => {
  expect(outcome(() => kernel(`TestKernelAttr${operation}`, 'FakeDevice')({ Attr: value }))).toBe(expected)
})

test('TestKernel.TestRegisterKernelBuilder', () => {
  const registered = readRegistrations(library.native).kernels.filter(({ operation }) => operation === 'FooOp')
  expect(registered.map(({ device }) => device)).toEqual(['FakeDeviceName1'])
  const foo = kernel('FooOp', 'FakeDeviceName1')
  expect(outcome(() => foo(two, byte, { SomeDataTypeAttr: 'float' }))).toBe('1 FooOp')
  // Without the device, the kernel is not chosen.
  expect(() => kernel('FooOp')(two, byte, { SomeDataTypeAttr: 'float' })).toThrow(ArgumentError)
})

test('TestKernel.TestInputAndOutputCount', () => {
  const results = kernel('BarOp', 'FakeDeviceName2')(two, byte, { SomeDataTypeAttr: 'float' }) as {
    text: StringTensor
    output1: Tensor
  }
  // OUT_OF_RANGE is 11, and the type of uint8 is 4.
  expect(results.text.get(0)).toBe('2 2; input 0 11 11; output 0 11; type 4')
  expect(results.output1.toArray()).toEqual([123])
})

test.each(
  'HALF BFLOAT16 FLOAT DOUBLE UINT64 UINT32 UINT16 UINT8 INT8 INT32 COMPLEX64 COMPLEX128 QINT8 QUINT8 QINT32 QINT16 QUINT16'.split(
    ' ',
  ),
)('TestKernel.TestTypeConstraintTF_%s', (name) => {
  const type = name.toLowerCase()
  const call = (value: string) => () => kernel(`TypeOpDT_${name}`, 'FakeDeviceName1')(two, byte, { T: value })
  expect(outcome(call(type))).toBe('chosen')
  expect(call('bool')).toThrow('got none among those for T = bool')
})

test('TestKernel.TestHostMemory', () => {
  expect(outcome(() => kernel('HostMemoryOp', 'FakeDeviceName1')(two, byte, { T: 'float' }))).toBe('1 1')
})

test.each<[name: string, call: () => unknown, expected: unknown]>([
  // FAILED_PRECONDITION is 9. The stream is null.
  ['DeviceKernelOpTest.TestStream', () => kernel('StreamOp')(), '1 9'],
  [
    'DeviceKernelOpTest.TestAllocateOutputSizeOne',
    () => kernel('AllocateOutputOp')({ shape: [1] }),
    ['float32', [1], [1]],
  ],
  [
    'DeviceKernelOpTest.TestAllocateEmptyOutput',
    () => kernel('AllocateOutputOp')({ shape: [0] }),
    ['float32', [0], []],
  ],
  [
    'DeviceKernelOpTest.TestAllocateOutputSize2x3',
    () => kernel('AllocateOutputOp')({ shape: [2, 3] }),
    ['float32', [2, 3], [1, 2, 3, 4, 5, 6]],
  ],
  ['DeviceKernelOpTest.TestAllocateTempSizeOne', () => kernel('AllocateTempOp')({ shape: [1] }), ['float32', [1], [1]]],
  ['DeviceKernelOpTest.TestAllocateTempEmpty', () => kernel('AllocateTempOp')({ shape: [0] }), ['float32', [0], []]],
  [
    'DeviceKernelOpTest.TestAllocateTempSize2x3',
    () => kernel('AllocateTempOp')({ shape: [2, 3] }),
    ['float32', [2, 3], [1, 2, 3, 4, 5, 6]],
  ],
  [
    'BitcastOpTest.TestUpcast',
    () => kernel('Bitcast')(tensor('u8', [8], Array(8).fill(1)), { type: 'uint64' }),
    ['uint64', [], [72340172838076673n]],
  ],
  [
    'BitcastOpTest.TestDowncast',
    () => kernel('Bitcast')(tensor('u64', [], [1n]), { type: 'uint8' }),
    ['uint8', [8], [1, 0, 0, 0, 0, 0, 0, 0]],
  ],
  [
    'BitcastOpTest.TestCastToSameSize',
    () => kernel('Bitcast')(tensor('u32', [4, 6]), { type: 'uint8' }),
    ['uint8', [4, 6, 4], Array(96).fill(0)],
  ],
  [
    'BitcastOpTest.TestImpossibleCast',
    () => kernel('Bitcast')(tensor('u8', [1]), { type: 'uint32' }),
    ['INVALID_ARGUMENT', 'the last axis does not have the bytes of one element'],
  ],
])('%s', (_name, call, expected) => {
  expect(outcome(call)).toEqual(expected)
})

test('DeviceKernelOpTest.TestForwardInputOrAllocateOutput', () => {
  const forward = kernel('BazOp', 'FakeDeviceName')
  const attributes = { SomeDataTypeAttr: 'float' }
  const call = (x: unknown): { text: StringTensor; output1: Tensor } =>
    forward(x, tensor('f32', [], [1]), attributes) as { text: StringTensor; output1: Tensor }
  const results = call(donated(tensor('f32', [], [123])))
  expect([results.text.get(0), results.output1.toArray()]).toEqual(['code 0; forwarded 0; type 1; rank 0', [123]])
  // An operand that was not donated is not forwarded.
  expect(call(tensor('f32', [], [123])).text.get(0)).toBe('code 0; forwarded -1; type 1; rank 0')
})

/** A summary of scalars as its bytes: the tag is field 1 of each message, and the value field 2. */
const summary = (...parts: [tag: string, value: number][]): string =>
  Buffer.concat(
    parts.map(([tag, value]) => {
      const bytes = Buffer.from([10, tag.length + 7, 10, tag.length, ...Buffer.from(tag), 21, 0, 0, 0, 0])
      bytes.writeFloatLE(value, bytes.length - 4)
      return bytes
    }),
  ).toString()
const summarize = (tags: StringTensor, values: Tensor): unknown => outcome(() => kernel('ScalarSummary')(tags, values))
const three: [string, number][] = [
  ['tag1', 1],
  ['tag2', -0.73],
  ['tag3', 10000],
]
const wrongShape = ['INVALID_ARGUMENT', 'tags and values are not the same shape']

test.each<[name: string, tags: StringTensor, values: Tensor, expected: unknown]>([
  ['SimpleFloat', words('tag1', 'tag2', 'tag3'), tensor([1, -0.73, 10000]), summary(...three)],
  ['SimpleDouble', words('tag1', 'tag2', 'tag3'), tensor('f64', [3], [1, -0.73, 10000]), summary(...three)],
  [
    'SimpleHalf',
    words('tag1', 'tag2', 'tag3'),
    tensor('f16', [3], [1, -2, 10000]),
    summary(['tag1', 1], ['tag2', -2], ['tag3', 10000]),
  ],
  ['Error_WrongDimsTags', StringTensor.from(['tag1', 'tag2'], { shape: [2, 1] }), tensor([1, -2]), wrongShape],
  ['Error_WrongValuesTags', words('tag1', 'tag2'), tensor([[1], [-2]]), wrongShape],
  ['Error_WrongWithSingleTag', words('tag1'), tensor([[1], [-2]]), wrongShape],
])('ScalarSummaryOpTest.%s', (_name, tags, values, expected) => {
  expect(summarize(tags, values)).toEqual(expected)
})

test('ScalarSummaryOpTest.IsRegistered', () => {
  expect(library.operations()).toContain('ScalarSummary')
})

test('OpsTest.TestBasicOpRegistration', () => {
  const { signature } = kernel('SomeOp')
  expect(signature.operands.map(({ name, dtypes }) => [name, ...dtypes])).toEqual([
    ['input1', 'uint8'],
    ['input2', 'uint16'],
  ])
  expect(signature.attributes).toMatchObject([{ name: 'attr1', type: 'string', isOptional: false }])
})

test('OpsTest.TestShapeInference_UnknownShape', () => {
  // The shape function of the operation is kept and not called, so the call succeeds.
  expect(outcome(() => kernel('UnknownShapeOp')(byte, tensor('u32', [])))).toBe('chosen')
})

test('OpsTest.AttributeAccessors', () => {
  const accessors = kernel('AttributeAccessorsOp')
  expect(accessors.signature.attributes).toMatchObject([
    { name: 'foo1', type: 's64' },
    { name: 'foo2', type: 'string', fallback: 'my string' },
  ])
  expect(outcome(() => accessors({ foo1: 2 }))).toBe('chosen')
  expect(() => accessors({ foo1: 1 })).toThrow('foo1 of AttributeAccessorsOp must be at least 2')
})

/** The cases that are not run. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  'They call the shape function of an operation while a graph is built. Tenon has no graphs, and never calls shape functions.':
    [
      'OpsTest.TestShapeInference_IdentityFunction',
      'OpsTest.TestShapeInference_VectorizeFunction',
      'OpsTest.ShapeInferenceWithRank',
      'OpsTest.ShapeInferenceWithRank_UnknownRank',
      'OpsTest.ShapeInferenceConcatenateShapes',
      'OpsTest.DimensionHandleValueKnown',
      'OpsTest.ShapeInferenceSubshape',
      'OpsTest.ShapeInferenceScalarShape',
      'BitcastOpTest.TestShapeInference_LargerShape',
      'BitcastOpTest.TestShapeInference_SmallerShape',
      'BitcastOpTest.TestShapeInference_SameShape',
    ],
  // cases.c calls TF_DeleteKernelBuilder(NULL) while it registers.
  'It has no result: opening the library is the test.': ['TestKernel.DeleteKernelBuilderIsOkOnNull'],
}

test('cases that are left out have a reason', () => {
  expect(Object.values(LEFT_OUT).flat()).toHaveLength(12)
})
