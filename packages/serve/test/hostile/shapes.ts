import { inferOf, refused, type HostileRequest } from './hostile-request.ts'

const shaped = (
  name: string,
  model: string,
  shape: unknown,
  error: string,
  status = 400,
  datatype = 'FP32',
): HostileRequest =>
  refused(name, status, error, inferOf(model, { inputs: [{ name: 'x', datatype, shape, data: [] }] }))

const cube = (shape: readonly number[], status = 400, error = 'shape'): HostileRequest =>
  shaped(`the shape [${shape.join(', ')}]`, 'cube', shape, error, status, 'FP64')

const tooMany = 'the inputs of a request must have at most 1048576 bytes'

/** Shapes that no tensor has, that the memory does not hold, or that another model has. */
export const shapes: readonly HostileRequest[] = [
  ...[1, 'x', null, {}, true, undefined].map((shape) =>
    shaped(`the shape ${JSON.stringify(shape)}`, 'floats', shape, 'shape must be an array'),
  ),
  ...[-1, 1.5, '1', null, true, [1], {}, 2 ** 53, 1e300, -(2 ** 53)].map((size) =>
    shaped(`the size ${JSON.stringify(size)}`, 'floats', [size], 'shape[0] must be a whole number'),
  ),
  shaped(
    '33 axes',
    'floats',
    Array.from({ length: 33 }, () => 1),
    'at most 32 sizes',
  ),
  shaped(
    '100,000 axes',
    'floats',
    Array.from({ length: 100_000 }, () => 1),
    'at most 32 sizes',
  ),
  shaped(
    '32 axes for one',
    'floats',
    Array.from({ length: 32 }, () => 1),
    'x of floats must',
  ),
  shaped('no axis for one', 'floats', [], 'x of floats must'),
  shaped('one axis for two', 'double', [4], 'x of double must'),
  shaped('a size that the model fixes', 'double', [1, 5], 'x of double must'),
  shaped('no columns', 'double', [1, 0], 'x of double must'),
  cube([2 ** 52, 2 ** 52, 2 ** 52]),
  cube([2 ** 53 - 1, 2 ** 53 - 1, 1]),
  cube([2 ** 32, 2 ** 32, 1]),
  cube([2 ** 31, 2 ** 31, 2]),
  cube([2 ** 53 - 1, 1, 1]),
  cube([2 ** 50, 1, 1]),
  cube([2 ** 40, 1, 1], 413, tooMany),
  cube([2 ** 20, 1, 1], 413, tooMany),
  cube([2 ** 10, 2 ** 10, 1], 413, tooMany),
  cube([131_073, 1, 1], 413, tooMany),
  cube([131_072, 1, 1], 400, 'data of x must be 131072 elements'),
  shaped('more texts than bytes', 'texts', [2 ** 40], 'at most 2097152 strings', 413, 'BYTES'),
  shaped('texts of a shape that overflows', 'texts', [2 ** 53 - 1], 'at most 2097152 strings', 413, 'BYTES'),
  shaped('more texts than the limit of bytes', 'texts', [2 ** 20 + 1], tooMany, 413, 'BYTES'),
]
