/** The first character of a name of C: names may have any letters. */
export const NAME_START = 'A-Za-z_\u0080-\uffff'

/** The characters of a name of C, for the class of a regular expression. */
export const NAME_PART = '\\w\u0080-\uffff'

/** A text of C, or a character that it has by its number. */
const TEXT_OR_NUMBER = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\\u([\dA-Fa-f]{4})|\\U([\dA-Fa-f]{8})/g

/** Puts the characters of names in the place of their numbers, which gcc writes: `gr\U000000f6sser` is `größer`. Texts stay as they are. */
export function withCharacters(code: string): string {
  if (!/\\u/i.test(code)) return code
  return code.replaceAll(TEXT_OR_NUMBER, (text: string, short?: string, long?: string) => {
    const number = Number.parseInt(short ?? long ?? '', 16)
    return number >= 0x80 && number <= 0x10ffff ? String.fromCodePoint(number) : text
  })
}
