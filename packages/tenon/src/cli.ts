#!/usr/bin/env node
import { main } from './cli/main.ts'

// A reader that has seen enough (`tenon inspect ... | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await main(process.argv.slice(2))
