import { socketDoorbell } from '../link/doorbell.ts'
import type { Link } from '../link/link.ts'
import { PortLink } from '../link/port-link.ts'
import { Connection } from './connection.ts'

/** Takes over one end of a channel to a driver. */
export function openConnection(link: Link, reconnects: boolean): Connection {
  try {
    const install = link instanceof PortLink ? (onRing: () => void) => link.listen(onRing) : socketDoorbell
    return new Connection(link, install, reconnects)
  } catch (error) {
    link.close()
    throw error
  }
}
