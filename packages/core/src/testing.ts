export { runScript, type ScriptOptions, type ScriptResult } from './testing/run-script.ts'
