import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The paths of a certificate and its key. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** Makes certificates with openssl. */
export class Authority {
  readonly #folder: string
  /** The path of its own certificate. */
  readonly cert: string
  readonly #key: string
  #count = 0

  /** @param name the start of the names of its files. */
  constructor(folder: string, name: string = 'ca') {
    this.#folder = folder
    this.cert = join(folder, `${name}.pem`)
    this.#key = join(folder, `${name}.key`)
    const paths = ['-keyout', this.#key, '-out', this.cert]
    request([...KEY, ...paths, '-days', '30', '-subj', `/CN=${name}`])
  }

  /**
   * Makes a certificate.
   *
   * @param names the alternative names, `DNS:localhost,IP:127.0.0.1`, or one with commas, `{ URI: 'a, b' }`. @param days the time until it expires. Past ones have expired.
   */
  certify(subject: string, names?: string | Readonly<Record<string, string>>, days: number = 30): Certificate {
    const path = join(this.#folder, `${++this.#count}-${subject.replaceAll(/\W/g, '_')}`)
    const [cert, key] = [`${path}.pem`, `${path}.key`]
    const config = `${path}.cnf`
    const list = typeof names === 'object' ? Object.entries(names).map(([kind, name]) => `${kind}.1=${name}\n`) : []
    writeFileSync(config, `[names]\nsubjectAltName=${list.length > 0 ? '@list' : names}\n[list]\n${list.join('')}`)
    const signing = `${path}.csr`
    execFileSync('openssl', ['req', '-new', ...KEY, '-keyout', key, '-out', signing, '-subj', subject], {
      stdio: 'pipe',
    })
    const extensions = names === undefined ? [] : ['-extfile', config, '-extensions', 'names']
    const by = ['-CA', this.cert, '-CAkey', this.#key, '-CAcreateserial', '-days', String(days)]
    execFileSync('openssl', ['x509', '-req', '-in', signing, '-out', cert, ...by, ...extensions], { stdio: 'pipe' })
    return { cert, key }
  }

  /** A certificate for a server of this machine. */
  certifyServer(): Certificate {
    return this.certify('/CN=localhost', 'DNS:localhost,IP:127.0.0.1')
  }
}

const request = (args: readonly string[]): void =>
  void execFileSync('openssl', ['req', '-x509', ...args], { stdio: 'pipe' })
