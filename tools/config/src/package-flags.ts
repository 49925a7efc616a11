/**
 * Flags of Node.js for programs that tests start and that import packages by their names. Such programs use the built packages, which load
 * in a third of the time that the sources take. In coverage runs they use the sources, whose lines are counted.
 */
export const packageFlags: readonly string[] =
  process.env['TENON_COVERAGE'] === undefined ? [] : ['--conditions=@tenon/source']
