import '@tenon/pools/driver-process'
