/** Makes a number that `JSON.stringify()` writes as it is. TypeScript's library does not know it. */
const rawJSON = (text: string): object => (JSON as unknown as { rawJSON(text: string): object }).rawJSON(text)

/** An integer of 64 bits for `JSON.stringify()`, exact beyond 2^53 too. */
export function integerForJson(value: bigint): unknown {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : rawJSON(String(value))
}
