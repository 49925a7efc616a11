/** A fenced block of a Markdown page. */
export interface MarkdownBlock {
  /** The first word behind the fence, such as `ts`. Empty without one. */
  readonly language: string
  /** The `name=value` pairs behind the language. A value reaches to the end of its word, or to the closing quotation mark. */
  readonly attributes: Readonly<Record<string, string>>
  readonly code: string
  /** The number of the line with the opening fence, from 1. */
  readonly line: number
}

/** Returns the fenced blocks of a page, in order. */
export function markdownBlocks(page: string): MarkdownBlock[] {
  return [...page.matchAll(/^(?<fence>`{3,}|~{3,})(?<info>.*)\n(?<code>(?:.*\n)*?)\k<fence>$/gm)].map((block) => {
    const { info, code } = block.groups as { info: string; code: string }
    const [language = '', ...words] = info.trim().split(/\s+(?=[\w-]+(?:=|$))/)
    return {
      language,
      attributes: Object.fromEntries(
        words.map((word) => {
          const [name, value = ''] = word.split('=') as [string, string?]
          return [name, value.replace(/^"(.*)"$/, '$1')]
        }),
      ),
      code,
      line: page.slice(0, block.index).split('\n').length,
    }
  })
}
