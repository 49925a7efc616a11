export * from '@tenon/core/koffi'
