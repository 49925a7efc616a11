/** The parts of diagrams: boxes, outlines around them, arrows and notes. */
import { card, COLOURS, line, text, type Theme } from '@tenon/bench'

/** The width of a diagram. A phone shows it with letters of about 10 points. */
const DIAGRAM_WIDTH = 460

/** Grey is the user's code, blue is Tenon, orange is native code, and violet is memory that is shared. */
export const [GREY, BLUE, ORANGE, VIOLET] = COLOURS as [string, string, string, string]

/** A diagram, which is drawn once for light and once for dark pages. */
export interface Diagram {
  /** The name of its files in docs/pictures, without the theme. */
  readonly name: string
  readonly title: string
  /** The text for readers who do not see the picture. */
  readonly description: string
  readonly height: number
  /** The elements, from the bottom to the top. */
  readonly parts: readonly string[]
}

/** Draws a diagram for pages of one theme. */
export function drawDiagram({ title, description, height, parts }: Diagram, theme: Theme): string {
  return card({ width: DIAGRAM_WIDTH, height, title, description, theme, parts })
}

/** A rectangle with a title, and a text below the title. */
interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly title: string
  readonly words?: string
  readonly colour: string
}

const BOX_HEIGHT = 42
const CODE = 'font-family="ui-monospace, monospace" font-size="12"'

/** Draws a box of 42 units of height. Words with a bracket or a point within are code. */
export function box({ x, y, width, title, words, colour }: Box): string {
  const middle = x + width / 2
  return [
    area(x, y, width, BOX_HEIGHT, colour),
    text(middle, words === undefined ? y + 26 : y + 18, title, 'text-anchor="middle" font-weight="600"'),
    ...(words === undefined
      ? []
      : [text(middle, y + 34, words, `text-anchor="middle" ${/[({]|\.\w/.test(words) ? CODE : 'font-size="12"'}`)]),
  ].join('\n')
}

/** Draws a filled rectangle without a text. */
export function area(x: number, y: number, width: number, height: number, colour: string): string {
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="5" fill="${colour}" fill-opacity="0.16" stroke="${colour}"/>`
}

/** Draws the outline of a process, or of memory if it is dashed, with its name. */
export function outline(x: number, y: number, width: number, height: number, name: string, dashed = false): string {
  const style = dashed ? 'class="spread" stroke-dasharray="4 3"' : 'class="grid" stroke-width="1.5"'
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="6" fill="none" ${style}/>`,
    text(x + 12, y + 19, name, 'class="faint" font-weight="600"'),
  ].join('\n')
}

/** Draws a horizontal or vertical line with a head at its end. */
export function arrow(x1: number, y1: number, x2: number, y2: number): string {
  const [dx, dy] = [Math.sign(x2 - x1), Math.sign(y2 - y1)]
  const [backX, backY] = [x2 - 7 * dx, y2 - 7 * dy]
  return [
    line(x1, y1, backX, backY, 'class="spread" stroke-width="1.5"'),
    `<path d="M${x2},${y2}L${backX + 4 * dy},${backY + 4 * dx}L${backX - 4 * dy},${backY - 4 * dx}z" style="fill: var(--text)"/>`,
  ].join('\n')
}

/** Writes lines of text, the first one with its base at `y`. */
export function note(x: number, y: number, lines: readonly string[], attributes = ''): string {
  return lines.map((content, i) => text(x, y + 16 * i, content, `font-size="12" ${attributes}`)).join('\n')
}

/** Writes code, which ends or has its middle at `x` if the attributes have an anchor. */
export function code(x: number, y: number, content: string, attributes = ''): string {
  return text(x, y, content, `${CODE} ${attributes}`)
}
