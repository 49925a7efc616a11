import { arrow, BLUE, box, code, type Diagram, GREY, note, ORANGE, outline, VIOLET } from './diagram.ts'

/** Memory of one owner, and the ways in which others map it. */
export const sharing: Diagram = {
  name: 'sharing',
  title: 'One memory, several programs',
  description:
    'The process that opens a SharedMemory owns it, and only it allocates and frees. A worker thread maps the same chunks with handle(), a worker process of an isolated library maps them by itself, and another program opens them by a name with export(). A tensor is passed as a location: chunk, offset, type and shape.',
  height: 356,
  parts: [
    outline(12, 42, 436, 92, 'the owner'),
    box({
      x: 24,
      y: 70,
      width: 196,
      title: 'SharedMemory.open()',
      words: 'allocates, frees, sets rights',
      colour: BLUE,
    }),
    note(236, 84, ['A tensor is passed to others', 'as a location: its chunk,', 'offset, type and shape.']),
    arrow(122, 112, 122, 160),
    box({
      x: 12,
      y: 160,
      width: 436,
      title: 'chunks',
      words: 'sealed memory without a file, in pages of the system',
      colour: VIOLET,
    }),
    arrow(80, 252, 80, 202),
    arrow(230, 252, 230, 202),
    arrow(380, 252, 380, 202),
    code(88, 232, 'handle()'),
    note(238, 232, ['operands']),
    code(388, 232, 'export()'),
    box({ x: 12, y: 252, width: 136, title: 'worker thread', words: 'ofHandle(handle)', colour: GREY }),
    box({ x: 162, y: 252, width: 136, title: 'isolated kernel', words: 'maps them itself', colour: ORANGE }),
    box({ x: 312, y: 252, width: 136, title: 'other program', words: 'openNamed(name)', colour: GREY }),
    note(12, 316, [
      'All of them read and write the same bytes, and nothing is copied. Only',
      'the owner has the list of free memory, so no other program damages it.',
    ]),
  ],
}
