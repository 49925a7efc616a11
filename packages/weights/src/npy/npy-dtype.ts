import { ArgumentError, dtypeInfo, dtypes, type DType } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { NpyFormatError } from './npy-format-error.ts'
import { PythonList, PythonTuple, type PythonLiteral } from './python-literal.ts'

export interface NpyElementType {
  readonly dtype: DType
  readonly bigEndian: boolean
}

const byCode = new Map(
  dtypes.flatMap((info) => (info.numpy === undefined ? [] : [[info.numpy.slice(1), info.name] as const])),
)

const refusals: readonly { readonly pattern: RegExp; readonly what: string; readonly hint: string }[] = [
  {
    pattern: /^\|?O/,
    what: 'Python objects, which are pickled',
    hint: 'Save numbers: np.save(path, x.astype(np.float32)).',
  },
  {
    pattern: /^[<>|=]?[US]\d*$/,
    what: 'strings',
    hint: 'Save their codes instead: np.save(path, x.view(np.uint8)), or np.uint32 for str.',
  },
  {
    pattern: /^[<>|=]?[Mm]8/,
    what: 'dates or durations',
    hint: 'Save the counts behind them: np.save(path, x.view(np.int64)).',
  },
  {
    pattern: /^[<>|=]?(f(12|16)|c(24|32))$/,
    what: 'extended-precision numbers',
    hint: 'Save double precision: np.save(path, x.astype(np.float64)), or np.complex128.',
  },
  {
    pattern: /^[<>|=]?V\d+$/,
    what: 'raw bytes, as NumPy writes types it does not know (bfloat16, float8)',
    hint: 'Save the bits: np.save(path, x.view(np.uint16)) for bfloat16, np.uint8 for 8-bit types.',
  },
]

/** @throws {NpyFormatError} that names the type, if it is not supported */
export function decodeDescr(descr: PythonLiteral): NpyElementType {
  if (descr instanceof PythonList || descr instanceof PythonTuple) {
    throw new NpyFormatError('the elements are structured (records with fields), which are not supported', {
      hint: "Save each field in a file of its own: np.save(path, x['field']).",
    })
  }
  if (typeof descr !== 'string') {
    throw new NpyFormatError(`the header's 'descr' should be a type string, but is ${describe(descr)}`)
  }
  const [, order = '', code = ''] = /^([<>|=]?)(.*)$/s.exec(descr) ?? []
  const dtype = byCode.get(code)
  if (dtype !== undefined) return { dtype, bigEndian: order === '>' }
  const refusal = refusals.find(({ pattern }) => pattern.test(descr))
  const known = `the types that can be read are ${[...byCode.values()].join(', ')}.`
  throw new NpyFormatError(
    `the elements are of type ${describe(descr)}${refusal === undefined ? '' : `: ${refusal.what}`}`,
    {
      hint: refusal === undefined ? known : refusal.hint,
      details: { descr },
    },
  )
}

/** @throws {ArgumentError} if NumPy lacks the type */
export function encodeDescr(dtype: DType): string {
  const { numpy, bits } = dtypeInfo(dtype)
  if (numpy !== undefined) return numpy
  throw new ArgumentError(`dtype must be a type that NumPy has, got ${dtype}`, {
    hint: `Write its bits as ${bits > 8 ? 'uint16' : 'uint8'}, or its values as float32.`,
    details: { dtype },
  })
}
