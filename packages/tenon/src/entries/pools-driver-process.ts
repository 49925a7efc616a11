// oxlint-disable-next-line import/no-unassigned-import
import '@tenon/pools/driver-process'
