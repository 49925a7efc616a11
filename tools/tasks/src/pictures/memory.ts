import { text, line } from '@tenon/bench'

import { area, BLUE, code, type Diagram, GREY, note, ORANGE } from './diagram.ts'

/** The times at which something happens, as places on the line of time. */
const [OPEN, CALL, REFUSED, RETURN, CLOSE, USE, END] = [106, 176, 236, 280, 332, 394, 448]

const LABELS = 14

/** One line of the diagram: the life of an object. */
const life = (y: number, name: string, from: number, to: number, colour: string, words: string): string =>
  [
    text(LABELS, y + 18, name, 'font-weight="600" font-size="12"'),
    area(from, y, to - from, 28, colour),
    text((from + to) / 2, y + 18, words, 'text-anchor="middle" font-size="12"'),
  ].join('\n')

/** A moment of the program, with its number in the list below. */
const moment = (x: number, number: number): string =>
  [
    line(x, 62, x, 212, 'class="grid" stroke-dasharray="3 3"'),
    `<circle cx="${x}" cy="52" r="9" class="back spread"/>`,
    text(x, 56, String(number), 'text-anchor="middle" font-size="12"'),
  ].join('\n')

const STEPS: readonly (readonly [string, string])[] = [
  ['scope = NativeScope.ofConfined()', 'opens the lifetime'],
  ['running = times.async(x)', 'the call holds it'],
  ['scope.close()', 'throws ScopeHeldError'],
  ['await running', 'the hold ends'],
  ['scope.close()', 'frees the memory'],
  ['x.toArray()', 'throws ScopeClosedError'],
]

/** A scope, the memory that it owns, and a call that holds both. */
export const memory: Diagram = {
  name: 'memory',
  title: 'A scope, its memory and a call over time',
  description:
    'A scope is opened and owns the memory of the tensor x. An asynchronous call holds the scope until it returns, and close() throws ScopeHeldError meanwhile. After the call, close() frees the memory, the length of a view becomes 0, and x.toArray() throws ScopeClosedError.',
  height: 328,
  parts: [
    ...[OPEN, CALL, REFUSED, RETURN, CLOSE, USE].map((x, i) => moment(x, i + 1)),
    life(74, 'scope', OPEN, CLOSE, BLUE, 'open'),
    life(74, '', CLOSE, END, GREY, 'closed'),
    life(108, 'memory of x', OPEN + 18, CLOSE, ORANGE, 'owned by the scope'),
    life(142, 'native call', CALL, RETURN, ORANGE, 'uses x'),
    life(176, 'x.view()', OPEN + 18, CLOSE, GREY, 'length 4'),
    life(176, '', CLOSE, END, GREY, 'length 0'),
    ...STEPS.flatMap(([call, effect], i) => [
      note(LABELS, 236 + 16 * i, [String(i + 1)], 'class="faint"'),
      code(LABELS + 16, 236 + 16 * i, call),
      note(290, 236 + 16 * i, [effect]),
    ]),
  ],
}
