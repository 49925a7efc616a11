export * from '@tenon/pools/hidl'
