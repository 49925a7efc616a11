/**
 * Methods of Node's Buffer beneath `toString()` and `write()`, which spare their argument checks. Every Node that this
 * package runs on has them; a test says so.
 */
export interface FastBuffer extends Buffer {
  utf8Slice(start: number, end: number): string
  latin1Slice(start: number, end: number): string
  /** Writes whole characters only, and as many as fit. Returns the bytes written. */
  utf8Write(text: string, offset: number, length?: number): number
}
