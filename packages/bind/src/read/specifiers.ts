import type { TokenReader } from './token-reader.ts'

/** The words of a declaration that are neither types nor names. */
export interface Attributes {
  /** Whether the type becomes a vector, or a scalar of another size. */
  readonly changesType: boolean
}

const STORAGE = new Set(
  'extern static register auto constexpr inline __inline __inline__ __forceinline _Noreturn __extension__ _Thread_local thread_local __thread'.split(
    ' ',
  ),
)
const QUALIFIERS = new Set(
  'volatile __volatile __volatile__ restrict __restrict __restrict__ _Nonnull _Nullable _Null_unspecified __unaligned __ptr32 __ptr64'.split(
    ' ',
  ),
)
const CALLING_CONVENTIONS = new Set('__cdecl __stdcall __fastcall __vectorcall __thiscall _cdecl _stdcall'.split(' '))
/** Words that take parentheses, whose text is of no interest. */
const WITH_PARENTHESES = new Set('__attribute__ __attribute __declspec _Alignas alignas __pragma'.split(' '))
const CHANGES_TYPE =
  /\b(?:__)?(?:vector_size|ext_vector_type|mode|neon_vector_type|neon_polyvector_type|address_space)(?:__)?\b/

export const isConst = (word: string): boolean => word === 'const' || word === '__const' || word === '__const__'
export const isStorage = (word: string): boolean => STORAGE.has(word)
export const isThreadLocal = (word: string): boolean =>
  word === '_Thread_local' || word === 'thread_local' || word === '__thread'

/** Takes attributes of all spellings, calling conventions and qualifiers other than `const`. */
export function takeAttributes(reader: TokenReader): Attributes {
  let changesType = false
  for (;;) {
    const { text, kind } = reader.next
    if (kind === 'name' && WITH_PARENTHESES.has(text)) {
      reader.take()
      if (CHANGES_TYPE.test(reader.takeBrackets())) changesType = true
    } else if (text === '[' && reader.second.text === '[') {
      if (CHANGES_TYPE.test(reader.takeBrackets())) changesType = true
    } else if (kind === 'name' && (QUALIFIERS.has(text) || CALLING_CONVENTIONS.has(text) || text === '__extension__')) {
      reader.take()
    } else {
      return { changesType }
    }
  }
}

const BASE_WORDS = new Set(
  (
    'char short int long float double signed __signed __signed__ unsigned _Bool bool _Complex __complex__ __complex _Imaginary __int128 ' +
    '_Float16 _Float32 _Float64 _Float128 _Float32x _Float64x __float128 __float80 __bf16 __fp16 _Decimal32 _Decimal64 _Decimal128 ' +
    '__int128_t __uint128_t __int64 __int32 __int16 __int8 _Accum _Fract _Sat'
  ).split(' '),
)
const SAME_WORD: Readonly<Record<string, string>> = {
  __signed: 'signed',
  __signed__: 'signed',
  bool: '_Bool',
  __complex__: '_Complex',
  __complex: '_Complex',
}
/** Types of one word that are others by definition. */
const SAME_TYPE: Readonly<Record<string, string>> = {
  __int128_t: '__int128',
  __uint128_t: 'unsigned __int128',
  __int8: 'signed char',
  __int16: 'short',
  __int32: 'int',
  __int64: 'long long',
  _Float32: 'float',
  _Float64: 'double',
  _Float32x: 'double',
}

/** Whether a word is part of the name of a scalar type, such as `unsigned`. */
export const isBaseWord = (word: string): boolean => BASE_WORDS.has(word)

/**
 * The canonical spelling of a scalar type from its words in any order: `unsigned long` for `long unsigned int`. Undefined if they do not
 * make one.
 */
export function scalarName(words: readonly string[]): string | undefined {
  const counts = new Map<string, number>()
  for (const word of words) {
    const same = SAME_WORD[word] ?? word
    counts.set(same, (counts.get(same) ?? 0) + 1)
  }
  const take = (word: string): number => {
    const count = counts.get(word) ?? 0
    counts.delete(word)
    return count
  }
  const [isUnsigned, isSigned, long, isShort, complex] = [
    take('unsigned'),
    take('signed'),
    take('long'),
    take('short'),
    take('_Complex'),
  ]
  take('int')
  const rest = [...counts.keys()]
  if (rest.length > 1 || isUnsigned + isSigned > 1 || isShort > 1 || long > 2 || (isShort > 0 && long > 0))
    return undefined
  const [word] = rest
  const suffix = complex > 0 ? ' _Complex' : ''
  const sign = isUnsigned ? 'unsigned ' : ''
  if (word === 'char') return long + isShort > 0 ? undefined : isSigned ? 'signed char' : `${sign}char${suffix}`
  if (word === 'double')
    return isUnsigned + isSigned + isShort > 0 || long > 1 ? undefined : `${long ? 'long ' : ''}double${suffix}`
  if (word === '__int128') return `${sign}__int128`
  if (word !== undefined) {
    if (isUnsigned + isSigned + long + isShort > 0)
      return SAME_TYPE[word] && isUnsigned ? `unsigned ${SAME_TYPE[word]}` : undefined
    return `${SAME_TYPE[word] ?? word}${suffix}`
  }
  // GNU C reads `_Complex` alone as `double _Complex`.
  if (complex > 0 && isUnsigned + isSigned + long + isShort + words.filter((name) => name === 'int').length === 0)
    return 'double _Complex'
  return `${sign}${isShort ? 'short' : long === 2 ? 'long long' : long === 1 ? 'long' : 'int'}${suffix}`
}
