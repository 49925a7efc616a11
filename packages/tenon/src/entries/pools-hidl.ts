export * from '@tenon/nnapi/hidl'
