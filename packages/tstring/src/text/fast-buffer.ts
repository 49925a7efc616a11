/**
 * The methods of Node's Buffer below `toString()` and `write()`, which do not check their arguments. A test asserts that
 * every supported version of Node has them.
 */
export interface FastBuffer extends Buffer {
  utf8Slice(start: number, end: number): string
  latin1Slice(start: number, end: number): string
}
