/** Pictures as SVG: a card with a title, and what is on it. */

/** The theme of a page for which a picture is drawn. `reader` is the one that the reader's system has. */
export type Theme = 'light' | 'dark' | 'reader'

/** The width of plots, which GitHub shows without scaling them. */
export const WIDTH = 760

const LIGHT = '--back: #ffffff; --text: #24292f; --faint: #57606a; --grid: #d8dee4'
const DARK = '--back: #1b1f24; --text: #d0d7de; --faint: #9198a1; --grid: #3d444d'

const THEMES: Readonly<Record<Theme, readonly string[]>> = {
  light: [`:root { ${LIGHT} }`],
  dark: [`:root { ${DARK} }`],
  reader: [`:root { ${LIGHT} }`, `@media (prefers-color-scheme: dark) { :root { ${DARK} } }`],
}

/** Distinct for readers who do not see all colours, and readable on light and on dark. */
export const COLOURS: readonly string[] = ['#888888', '#2f7fd0', '#d9822b', '#9a5bc0']

/** The content of a picture. */
export interface Card {
  /** {@link WIDTH} if it is undefined. Diagrams are narrower, so that their letters are readable on a phone. */
  readonly width?: number
  readonly height: number
  readonly title: string
  /** A text for readers who do not see the picture. */
  readonly description?: string
  readonly theme?: Theme
  /** The elements on the card, from the bottom to the top. */
  readonly parts: readonly string[]
}

/** Draws a card with a background of its own, so that it can be read on every page. */
export function card({ width = WIDTH, height, title, description, theme = 'reader', parts }: Card): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="system-ui, sans-serif" font-size="13">`,
    '<style>',
    ...THEMES[theme],
    'text { fill: var(--text) } .faint { fill: var(--faint) } .back { fill: var(--back) } .grid { stroke: var(--grid) } .spread { stroke: var(--text) }',
    '</style>',
    `<title>${escape(title)}</title>`,
    ...(description === undefined ? [] : [`<desc>${escape(description)}</desc>`]),
    `<rect class="back" width="${width}" height="${height}" rx="8"/>`,
    text(width / 2, 26, title, 'text-anchor="middle" font-weight="600" font-size="15"'),
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

const escape = (value: string): string => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

export const text = (x: number, y: number, content: string, attributes = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${escape(content)}</text>`

export const line = (x1: number, y1: number, x2: number, y2: number, attributes: string): string =>
  `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" ${attributes}/>`
