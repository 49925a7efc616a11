/** The parts of the header reader that the build tool uses. */
export { renderAbi } from './write/tables.ts'
