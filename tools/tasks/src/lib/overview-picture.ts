import { card, COLOURS, line, text, type Theme } from '@tenon/bench'

/** A rectangle with a title, and a sentence below it. */
interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly title: string
  readonly note: string
  readonly colour: string
}

const [GREY, BLUE, ORANGE] = COLOURS as [string, string, string]

/** Draws what runs where: the program, Tenon, its core and a kernel, and a worker with the same kernel. */
export function drawOverview(theme: Theme): string {
  return card({
    height: 352,
    title: 'What runs where',
    description:
      'Your process runs your program, Tenon, its core and, with Library.open(), the kernel. With Library.isolate(), a worker process runs the core and the kernel. Both kernels read and write the memory of the operands and results in place.',
    theme,
    parts: [
      process(20, 390, 'your process (Node.js)'),
      box({ x: 36, y: 82, width: 358, title: 'your program', note: 'softmax(x, { temperature: 2 })', colour: GREY }),
      box({
        x: 36,
        y: 150,
        width: 358,
        title: 'Tenon',
        note: 'checks the arguments, allocates the result',
        colour: BLUE,
      }),
      box({ x: 36, y: 218, width: 150, title: 'core', note: 'enters native code', colour: BLUE }),
      box({ x: 244, y: 218, width: 150, title: 'kernel', note: 'libsoftmax.so', colour: ORANGE }),
      process(530, 210, 'worker (tenon-host)'),
      ...['A crash or endless loop', 'ends only the worker, and', 'the call throws an error.'].map((words, i) =>
        text(546, 94 + 18 * i, words),
      ),
      box({ x: 546, y: 150, width: 178, title: 'core', note: 'receives the call', colour: BLUE }),
      box({ x: 546, y: 218, width: 178, title: 'kernel', note: 'libsoftmax.so', colour: ORANGE }),
      arrow(215, 128, 215, 150),
      arrow(111, 196, 111, 218),
      arrow(186, 241, 244, 241),
      arrow(394, 173, 546, 173),
      arrow(635, 196, 635, 218),
      text(470, 162, 'Library.isolate()', `text-anchor="middle" ${CODE}`),
      text(124, 211, 'Library.open()', CODE),
      '<rect x="20" y="298" width="720" height="38" rx="6" fill="none" class="spread" stroke-dasharray="4 3"/>',
      text(380, 322, 'memory of operands and results, which kernels read and write in place', 'text-anchor="middle"'),
      arrow(319, 264, 319, 298),
      arrow(635, 264, 635, 298),
    ],
  })
}

const CODE = 'font-family="ui-monospace, monospace" font-size="12"'

/** The outline of a process, and its name. */
function process(x: number, width: number, name: string): string {
  return [
    `<rect x="${x}" y="46" width="${width}" height="232" rx="6" fill="none" class="grid" stroke-width="1.5"/>`,
    text(x + 16, 69, name, 'class="faint" font-weight="600"'),
  ].join('\n')
}

function box({ x, y, width, title, note, colour }: Box): string {
  const middle = x + width / 2
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="46" rx="5" fill="${colour}" fill-opacity="0.16" stroke="${colour}"/>`,
    text(middle, y + 19, title, 'text-anchor="middle" font-weight="600"'),
    text(middle, y + 37, note, `text-anchor="middle" ${/[({.]/.test(note) ? CODE : 'font-size="12"'}`),
  ].join('\n')
}

/** A horizontal or vertical line with a head at its end. */
function arrow(x1: number, y1: number, x2: number, y2: number): string {
  const [dx, dy] = [Math.sign(x2 - x1), Math.sign(y2 - y1)]
  const [backX, backY] = [x2 - 7 * dx, y2 - 7 * dy]
  return [
    line(x1, y1, backX, backY, 'class="spread" stroke-width="1.5"'),
    `<path d="M${x2},${y2}L${backX + 4 * dy},${backY + 4 * dx}L${backX - 4 * dy},${backY - 4 * dx}z" style="fill: var(--text)"/>`,
  ].join('\n')
}
