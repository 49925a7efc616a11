import { arrow, BLUE, box, type Diagram, GREY, note, ORANGE, outline } from './diagram.ts'

/** The parts of Tenon and the processes in which they run. */
export const overview: Diagram = {
  name: 'overview',
  title: 'Where code runs',
  description:
    'Your process runs your program, Tenon, its core and, with Library.open(), the kernel. With Library.isolate(), a worker process runs the core and the kernel. Both kernels read and write the memory of the operands and results in place.',
  height: 334,
  parts: [
    outline(12, 42, 264, 222, 'your process'),
    box({ x: 24, y: 70, width: 240, title: 'your program', words: 'softmax(x, { temperature: 2 })', colour: GREY }),
    box({ x: 24, y: 136, width: 240, title: 'Tenon', words: 'checks the call, allocates the result', colour: BLUE }),
    box({ x: 24, y: 210, width: 118, title: 'core', words: 'Library.open()', colour: BLUE }),
    box({ x: 164, y: 210, width: 100, title: 'kernel', words: 'libsoftmax.so', colour: ORANGE }),
    outline(296, 42, 152, 222, 'worker process'),
    note(308, 82, ['A crash here is an', 'error of one call.']),
    box({ x: 306, y: 136, width: 132, title: 'core', words: 'Library.isolate()', colour: BLUE }),
    box({ x: 306, y: 210, width: 132, title: 'kernel', words: 'libsoftmax.so', colour: ORANGE }),
    arrow(144, 112, 144, 136),
    arrow(83, 178, 83, 210),
    arrow(142, 231, 164, 231),
    arrow(264, 157, 306, 157),
    arrow(372, 178, 372, 210),
    outline(12, 290, 436, 32, 'memory of operands and results, used in place', true),
    arrow(214, 252, 214, 290),
    arrow(372, 252, 372, 290),
  ],
}
