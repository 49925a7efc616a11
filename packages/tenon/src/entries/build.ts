export * from '@tenon/build'
export { loadInline } from '../authoring/load-inline.ts'
export { watch, type Watch, type WatchOptions } from '../authoring/watch.ts'
