export * from '@tenon/pools'
