export {
  type BundlerOptions,
  esbuildPlugin,
  type EsbuildPlugin,
  rollupPlugin,
  type RollupPlugin,
} from '../bundler/plugins.ts'
