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

/**
 * The name of a C declaration in a module: a word of JavaScript gets a final `_`. Names that begin with `$` are those that the module has for
 * itself. A module that exports `then` cannot be imported with `await import()`.
 */
export const identifier = (name: string): string => {
  if (name.startsWith('$')) return `_${name}`
  return RESERVED.has(name) || name === 'then' ? `${name}_` : name
}

/** A name in an object: `__proto__` would set the prototype. */
export const objectKey = (name: string): string => (name === '__proto__' ? `['__proto__']` : JSON.stringify(name))

/** A symbol as text: an `asm` label may have any characters. */
export const quoted = (symbol: string): string => (/^[\w$@.]*$/.test(symbol) ? `'${symbol}'` : JSON.stringify(symbol))
