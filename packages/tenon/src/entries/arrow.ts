export * from '@tenon/arrow'
