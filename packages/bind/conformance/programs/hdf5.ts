/** Writes a matrix to a file of HDF5, and reads it back. The types of HDF5 are macros that are known at run time only, so they are in the shim. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { textOf } from 'tenon/scope/bind'
import * as hdf5 from './hdf5/index.js'

const path = join(import.meta.dirname, 'matrix.h5')
const [rows, columns] = [3, 4]
const matrix = Float64Array.from({ length: rows * columns }, (_, i) => i / 8)

assert.ok(hdf5.H5open() >= 0)
const file = hdf5.H5Fcreate(path, hdf5.H5F_ACC_TRUNC(), hdf5.H5P_DEFAULT, hdf5.H5P_DEFAULT)
const space = hdf5.H5Screate_simple(2, BigUint64Array.of(BigInt(rows), BigInt(columns)), null)
const double = hdf5.H5T_NATIVE_DOUBLE()
const data = hdf5.H5Dcreate2(file, 'matrix', double, space, hdf5.H5P_DEFAULT, hdf5.H5P_DEFAULT, hdf5.H5P_DEFAULT)
assert.ok(data > 0n)
assert.equal(hdf5.H5Dwrite(data, double, hdf5.H5S_ALL, hdf5.H5S_ALL, hdf5.H5P_DEFAULT, matrix), 0)
for (const close of [() => hdf5.H5Dclose(data), () => hdf5.H5Sclose(space), () => hdf5.H5Fclose(file)])
  assert.equal(close(), 0)

const again = hdf5.H5Fopen(path, hdf5.H5F_ACC_RDONLY(), hdf5.H5P_DEFAULT)
const names: (string | null)[] = []
hdf5.H5Literate(
  again,
  hdf5.H5_INDEX_NAME,
  hdf5.H5_ITER_INC,
  null,
  (_, name) => {
    names.push(textOf(name))
    return 0
  },
  null,
)
assert.deepEqual(names, ['matrix'])
const stored = hdf5.H5Dopen2(again, 'matrix', hdf5.H5P_DEFAULT)
const read = new Float64Array(rows * columns)
assert.equal(hdf5.H5Dread(stored, double, hdf5.H5S_ALL, hdf5.H5S_ALL, hdf5.H5P_DEFAULT, read), 0)
assert.deepEqual(read, matrix)
// The conversion to single precision is HDF5's.
const single = new Float32Array(rows * columns)
assert.equal(hdf5.H5Dread(stored, hdf5.H5T_NATIVE_FLOAT(), hdf5.H5S_ALL, hdf5.H5S_ALL, hdf5.H5P_DEFAULT, single), 0)
assert.deepEqual([...single], [...matrix])
hdf5.H5Dclose(stored)
hdf5.H5Fclose(again)
