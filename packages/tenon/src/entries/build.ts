export * from '@tenon/build'
export { watch, type Watch, type WatchOptions } from '../authoring/watch.ts'
