import { arrow, BLUE, box, type Diagram, GREY, note, ORANGE, outline, VIOLET } from './diagram.ts'

/** An isolated library with two workers, one of which has crashed. */
export const isolation: Diagram = {
  name: 'isolation',
  title: 'An isolated library with two workers',
  description:
    'Library.isolate() in your process gives each call to an idle worker, or to a queue. Each worker is a process of tenon-host with its own copy of the library. When a kernel crashes, exceeds its deadline or takes too much memory, only its worker ends: its call throws an error and a new worker starts. All workers map library.memory, so operands there are not copied.',
  height: 376,
  parts: [
    outline(12, 42, 436, 84, 'your process, which never loads the library'),
    box({ x: 24, y: 70, width: 128, title: 'your program', words: 'times(x)', colour: GREY }),
    box({ x: 192, y: 70, width: 244, title: 'Library.isolate()', words: 'queue, deadlines, retries', colour: BLUE }),
    arrow(152, 91, 192, 91),
    outline(12, 164, 208, 116, 'worker 1'),
    box({ x: 24, y: 190, width: 184, title: 'kernel', words: 'libtimes.so', colour: ORANGE }),
    note(24, 250, ['waits for calls, without', 'starting again for each']),
    outline(240, 164, 208, 116, 'worker 2'),
    box({ x: 252, y: 190, width: 184, title: 'kernel: SIGSEGV', words: 'libtimes.so', colour: '#c0392b' }),
    note(252, 250, ['ends: KernelCrashError. A new', 'worker is there in milliseconds.']),
    arrow(206, 112, 206, 164),
    arrow(344, 112, 344, 164),
    box({
      x: 12,
      y: 318,
      width: 436,
      title: 'library.memory, shared by all of them',
      words: 'operands and results here are not copied; others are copied once',
      colour: VIOLET,
    }),
    arrow(116, 280, 116, 318),
    arrow(344, 280, 344, 318),
  ],
}
