/** Returns a string as it is written in a signature, without control characters, which a terminal would obey. */
export function quote(text: string): string {
  return JSON.stringify(text).replaceAll(
    /\p{Cc}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
