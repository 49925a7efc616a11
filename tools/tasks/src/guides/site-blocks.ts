/** A block of code on a page of the built site. */
export interface SiteBlock {
  /** The language that the page shows, such as `ts`. */
  readonly language: string
  /** The name of the file that the page shows above the block. */
  readonly file: string | undefined
  readonly code: string
}

const blockPattern =
  /(?:<p class="file-name">(?<file>[^<]*)<\/p>\s*)?<div class="language-(?<language>[\w-]*)[^"]*"><button[^>]*><\/button>.*?<code>(?<code>.*?)<\/code><\/pre>/gs

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Returns the blocks of a page in order, from the HTML that a browser gets. */
export function siteBlocks(html: string): SiteBlock[] {
  return [...html.matchAll(blockPattern)].map((block) => {
    const { file, language, code } = block.groups as { file?: string; language: string; code: string }
    return { language, file: file === undefined ? undefined : textOf(file), code: `${textOf(code).trimEnd()}\n` }
  })
}

/** The text that a browser shows for a piece of HTML. */
function textOf(html: string): string {
  return html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (entity, hex, decimal, name) => {
      if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex as string, 16))
      if (decimal !== undefined) return String.fromCodePoint(Number(decimal))
      return entities[name as string] ?? entity
    })
}
