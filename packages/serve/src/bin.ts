#!/usr/bin/env node
import { serveCommand } from './command/serve-command.ts'

process.exitCode = await serveCommand(process.argv.slice(2))
// Signals and the libraries of models keep the process running otherwise.
process.exit()
