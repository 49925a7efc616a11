/**
 * Loads the library that `TENON_TEST_LOAD_FIRST` names into each test process before the test file, as a program may load
 * libraries before Tenon. The library has to set flush-to-zero, as libraries built with `-ffast-math` do.
 */
const path = process.env['TENON_TEST_LOAD_FIRST']!

try {
  process.dlopen({ exports: {} }, path)
} catch (error) {
  // The library is not an addon. It stays loaded.
  if (!/register/.test((error as Error).message)) throw error
}

const smallest = JSON.parse('5e-324') as number
if (smallest + smallest !== 0) throw new Error(`${path} must set flush-to-zero for the thread that loads it`)
