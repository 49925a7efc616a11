/**
 * Prepares each test process for `--mode coverage`. The processes and workers that tests start write which code ran to the directory
 * `TENON_COVERAGE`. vitest counts for the test process itself, so the variable of Node.js is set after its start.
 */
const directory = process.env['TENON_COVERAGE']
if (directory !== undefined) process.env['NODE_V8_COVERAGE'] = directory

// vitest ends its processes with SIGTERM. The counters of native code are written only by a process that exits. A signal for which a
// test listens is meant for the test.
process.on('SIGTERM', () => {
  if (process.listenerCount('SIGTERM') === 1) process.exit()
})
