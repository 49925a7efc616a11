export { default } from '@tenon/config/vitest'
