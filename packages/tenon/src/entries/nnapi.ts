export * from '@tenon/nnapi'
