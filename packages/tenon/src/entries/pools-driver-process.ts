// oxlint-disable-next-line import/no-unassigned-import
import '@tenon/nnapi/driver-process'
