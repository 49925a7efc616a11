import { arrow, BLUE, box, type Diagram, GREY, note, ORANGE, outline } from './diagram.ts'

const LEFT = { x: 24, width: 220 }
const RIGHT = { x: 294, width: 142 }

/** The steps of a call in this process. */
export const call: Diagram = {
  name: 'call',
  title: 'A call in this process',
  description:
    'In JavaScript, the call reads and checks its arguments, holds their lifetimes, allocates the result and writes a frame of registers and stack slots. The invoker, which is machine code of the core, loads the frame and calls the kernel on a stack of native code. The kernel uses the memory of operands and results in place. Afterwards the status is read, the holds are released, and the result is returned or an error is thrown.',
  height: 434,
  parts: [
    outline(12, 42, 244, 380, 'JavaScript'),
    outline(282, 42, 166, 380, 'native code'),
    box({ ...LEFT, y: 70, title: 'your program', words: 'softmax(x)', colour: GREY }),
    box({ ...LEFT, y: 130, title: '1. read and check', words: 'types, shapes, attributes, lifetimes', colour: BLUE }),
    box({ ...LEFT, y: 190, title: '2. hold and allocate', words: 'no memory ends during the call', colour: BLUE }),
    box({ ...LEFT, y: 250, title: '3. write the frame', words: 'registers and stack slots', colour: BLUE }),
    box({ ...RIGHT, y: 250, title: '4. invoker', words: 'loads the frame', colour: BLUE }),
    box({ ...RIGHT, y: 310, title: '5. kernel', words: 'works in place', colour: ORANGE }),
    box({ ...LEFT, y: 310, title: '6. read the status', words: 'an error code becomes an error', colour: BLUE }),
    box({ ...LEFT, y: 370, title: '7. release and return', words: 'the result, or a thrown error', colour: BLUE }),
    note(294, 84, ['The kernel runs on a', 'stack of 8 MiB of its', 'own. A C++ exception', 'stops at the invoker.']),
    arrow(134, 112, 134, 130),
    arrow(134, 172, 134, 190),
    arrow(134, 232, 134, 250),
    arrow(244, 271, 294, 271),
    arrow(365, 292, 365, 310),
    arrow(294, 331, 244, 331),
    arrow(134, 352, 134, 370),
  ],
}
