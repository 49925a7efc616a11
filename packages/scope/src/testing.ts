export { expectNoLeaks, trackLeaks } from './testing/leaks.ts'
