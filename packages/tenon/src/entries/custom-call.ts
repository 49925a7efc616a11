export * from '@tenon/custom-call'
