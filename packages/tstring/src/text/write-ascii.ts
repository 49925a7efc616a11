/** The longest string for which writing ASCII character by character is faster than a call. */
const SHORT = 16

/** Writes a short string of ASCII. Returns false for others; the caller overwrites what was written. */
export function writeAscii(bytes: Buffer, at: number, value: string, length: number): boolean {
  if (length > SHORT) return false
  for (let k = 0; k < length; k++) {
    const code = value.charCodeAt(k)
    if (code > 0x7f) return false
    bytes[at + k] = code
  }
  return true
}
