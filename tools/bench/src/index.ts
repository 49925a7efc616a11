export { loadAddon } from './addon.ts'
export type { AliveRow, AliveSuite } from './alive/suite.ts'
export { addonFunction, type AddonKind, KERNELS, ofNodeFfi, PAGES } from './native-peers.ts'
export type { Body, Contestants, Row, Suite } from './suite.ts'
