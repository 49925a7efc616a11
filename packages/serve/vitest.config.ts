export { ownProcesses as default } from '@tenon/config/vitest'
