/** Joins strings in ONNX Runtime. Its strings are objects of C++, so they are copied once to a string tensor, and once from there. */
import { NativeScope } from 'tenon/scope'
import { StringTensor } from 'tenon/tstring'
import * as ort from '../dist/onnxruntime/index.js'
import { concatModel } from './onnx-model.ts'
import { openSession } from './session.ts'

using open = openSession(concatModel())
const { api, session } = open
const allocator = api.GetAllocatorWithDefaultOptions()

/** Makes a tensor of empty strings in ONNX Runtime. */
const emptyStrings = (count: number): ort.Value =>
  api.CreateTensorAsOrtValue(allocator, BigInt64Array.of(BigInt(count)), ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)

/** Copies strings to a tensor of ONNX Runtime. */
function valueOf(strings: StringTensor): ort.Value {
  const value = emptyStrings(strings.length)
  api.FillStringTensor(value, [...strings])
  return value
}

/**
 * Copies the strings of a tensor of ONNX Runtime to memory of a scope. ONNX Runtime writes the bytes of all strings, behind a table in the layout of
 * TFLite: the number of strings, the offset of each, and the end, in 32 bits.
 */
function stringsOf(value: ort.Value, count: number, scope: NativeScope): StringTensor {
  const byteSize = Number(api.GetStringTensorDataLength(value))
  const table = 4 * (count + 2)
  const memory = scope.allocate(table + byteSize, 4)
  const offsets = new BigUint64Array(count)
  api.GetStringTensorContent(value, memory.asSlice(table, byteSize), offsets)
  memory.setInt32(0, count)
  for (const [i, offset] of [...offsets, BigInt(byteSize)].entries())
    memory.setInt32(4 * (i + 1), table + Number(offset))
  return StringTensor.ofSegment(memory, { layout: 'tflite' })
}

const cities = StringTensor.from(['Ulm', 'Zürich', 'Kraków', ''])
const rivers = StringTensor.from([' an der Donau', ', Limmat', ' nad Wisłą', 'nowhere'])
const values = [valueOf(cities), valueOf(rivers), emptyStrings(cities.length)] as const
await api.Run.async(session, null, ['a', 'b'], values.slice(0, 2), ['y'], [values[2]])

const scope = NativeScope.ofConfined()
const joined = stringsOf(values[2], cities.length, scope)
console.log(`joined:   ${[...joined].join(' | ')}`)
console.log(`found:    ${joined.indexOf('nowhere')}, without a string of JavaScript`)
console.log(`file:     ${joined.segment.byteSize} bytes in the layout of TFLite`)

for (const value of values) value.close()
scope.close()
