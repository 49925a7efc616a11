#!/usr/bin/env node
import { reportLostOutput } from './cli/failure.ts'
import { main } from './cli/main.ts'

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that closes the pipe early (`tenon inspect ... | head`) is not an error.
  process.exit(error.code === 'EPIPE' ? 0 : reportLostOutput(error))
})

process.exitCode = await main(process.argv.slice(2))
