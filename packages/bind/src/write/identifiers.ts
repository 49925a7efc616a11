/** Words that a module cannot declare, or that mean something else in one. */
const RESERVED = new Set(
  (
    'arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for function if ' +
    'implements import in instanceof interface let new null package private protected public return static super switch this throw true try ' +
    'typeof undefined var void while with yield Array ArrayBuffer BigInt Boolean Date Error Function Infinity JSON Map Math NaN Number Object ' +
    'Promise Proxy Reflect RegExp Set String Symbol URL Uint8Array globalThis MemorySegment Pointer AllocatorLike Struct StructLayout UnionLayout Handle NativeModule ' +
    'library members any bigint boolean never number object string symbol unknown'
  ).split(' '),
)

/** A name of C that JavaScript does not have, such as `x²`, has the numbers of such characters: `x$b2`. */
export function javaScriptName(name: string): string {
  if (/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name)) return name
  const text = name.replaceAll(/[^\p{ID_Continue}$]/gu, (character) => `$${character.codePointAt(0)!.toString(16)}`)
  return /^[\p{ID_Start}$_]/u.test(text) ? text : `_${text}`
}

/**
 * The name of a C declaration in a module: a word of JavaScript gets a final `_`. Names that begin with `$` are those that the module has for
 * itself. A module that exports `then` cannot be imported with `await import()`.
 */
export const identifier = (declared: string): string => {
  const name = javaScriptName(declared)
  if (name.startsWith('$')) return `_${name}`
  return RESERVED.has(name) || name === 'then' ? `${name}_` : name
}

/** A name in an object: `__proto__` would set the prototype. */
export const objectKey = (name: string): string => (name === '__proto__' ? `['__proto__']` : JSON.stringify(name))

/** A symbol as text: an `asm` label may have any characters. */
export const quoted = (symbol: string): string => (/^[\w$@.]*$/.test(symbol) ? `'${symbol}'` : JSON.stringify(symbol))
