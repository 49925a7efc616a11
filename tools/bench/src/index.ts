export { loadAddon } from './addon.ts'
export type { Body, Contestants, Row, Suite } from './suite.ts'
