export type { Body, Contestants, Row, Suite } from './suite.ts'
