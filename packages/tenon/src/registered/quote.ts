/** A text as a literal of JavaScript that can neither end early nor control a terminal. */
export const quote = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  JSON.stringify(text).replaceAll(/[\x7f-\x9f\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
