import { inferOf, input, refused, type HostileRequest } from './hostile-request.ts'

const binary = (size: unknown, fields: object = {}): object => {
  const { data: _, ...described } = input(fields) as { data: unknown }
  return { inputs: [{ ...described, parameters: { binary_data_size: size } }] }
}

/** A request with bytes behind its JSON. @param length the header, or undefined for the correct one. */
function withBytes(json: object, bytes: number, length?: string | number, model = 'floats'): Buffer {
  const text = JSON.stringify(json)
  const body = Buffer.concat([Buffer.from(text), Buffer.alloc(bytes)])
  return inferOf(model, body, { 'inference-header-content-length': length ?? text.length })
}

const header = 'Inference-Header-Content-Length must be the bytes of the JSON'

const wrongHeader = (length: string): HostileRequest =>
  refused(`Inference-Header-Content-Length ${length}`, 400, header, withBytes(binary(8), 8, length))

/** Sizes of the JSON and of binary inputs that contradict the body. */
export const headerLengths: readonly HostileRequest[] = [
  ...['-1', 'NaN', '1e3', '0x10', '1.0', '+5', '9999999999999999', '999999999999999', '5 5', 'Infinity', '', '٣'].map(
    wrongHeader,
  ),
  refused('a JSON size one above the body', 400, header, withBytes(binary(8), 0, JSON.stringify(binary(8)).length + 1)),
  refused(
    'two Inference-Header-Content-Lengths',
    400,
    header,
    withBytes(binary(8), 8, '5\r\ninference-header-content-length: 6'),
  ),
  refused('a JSON size within the JSON', 400, 'must be JSON', withBytes(binary(8), 8, 5)),
  refused(
    'a JSON size within the bytes',
    400,
    'must be JSON',
    withBytes(binary(8), 8, JSON.stringify(binary(8)).length + 3),
  ),
  refused(
    'a JSON size of all bytes',
    400,
    'must be JSON',
    withBytes(binary(8), 8, JSON.stringify(binary(8)).length + 8),
  ),
  refused('bytes without the header', 400, 'must be JSON', inferOf('floats', `${JSON.stringify(binary(8))}12345678`)),
  refused('a byte too few', 400, 'must have all bytes', withBytes(binary(8), 7)),
  refused('no bytes', 400, 'must have all bytes', withBytes(binary(8), 0)),
  refused('a byte too many', 400, 'must have no bytes behind', withBytes(binary(8), 9)),
  refused('bytes of no input', 400, 'must have no bytes behind', withBytes({ inputs: [input()] }, 8)),
  refused('a size smaller than the elements', 400, 'binary_data_size of x must be 8', withBytes(binary(4), 4)),
  refused('a size larger than the elements', 400, 'binary_data_size of x must be 8', withBytes(binary(12), 12)),
  ...[-1, 1.5, '8', null, true, 2 ** 53, 1e300, [8], {}].map((size) =>
    refused(`the binary_data_size ${JSON.stringify(size)}`, 400, 'binary_data_size', withBytes(binary(size), 8)),
  ),
  refused('a size that no body has', 413, 'at most 1048576 bytes', withBytes(binary(2 ** 40, { shape: [2 ** 38] }), 8)),
  refused(
    'data and bytes',
    400,
    'must have either data',
    withBytes({ inputs: [{ ...input(), parameters: { binary_data_size: 8 } }] }, 8),
  ),
  refused(
    'neither data nor bytes',
    400,
    'must have either data',
    withBytes({ inputs: [{ name: 'x', datatype: 'FP32', shape: [2] }] }, 0),
  ),
  refused(
    'a boolean that is 2',
    400,
    'element 1 of x must be 0 or 1, got 2',
    (() => {
      const json = JSON.stringify(binary(2, { datatype: 'BOOL' }))
      const body = Buffer.concat([Buffer.from(json), Buffer.from([1, 2])])
      return inferOf('booleans', body, { 'inference-header-content-length': json.length })
    })(),
  ),
  refused(
    'bytes alone that are no elements',
    400,
    'binary_data_size of x must be',
    inferOf('floats', new Uint8Array(7), { 'inference-header-content-length': 0 }),
  ),
  refused(
    'bytes alone for two variable axes',
    400,
    'at most one variable axis',
    inferOf('grid', new Uint8Array(8), { 'inference-header-content-length': 0 }),
  ),
  refused(
    'bytes alone for a batch of two rows',
    400,
    'binary_data_size of x must be',
    inferOf('batched', new Uint8Array(16), { 'inference-header-content-length': 0 }),
  ),
]
