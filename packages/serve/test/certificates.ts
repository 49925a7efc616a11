import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
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

  /** Revokes certificates, and all that were revoked before. @returns the new list. @param days the time until it expires. */
  revoke(certificates: readonly Certificate[], days: number = 30): string {
    const database = `${this.cert}.index`
    const config = `${this.cert}.cnf`
    const [section, hash] = ['[ca]\ndefault_ca=own\n[own]\n', 'default_md=sha256\n']
    writeFileSync(config, `${section}database=${database}\ncrlnumber=${database}.number\n${hash}`)
    if (!existsSync(database)) {
      writeFileSync(database, '')
      writeFileSync(`${database}.number`, '01\n')
    }
    const run = (...args: string[]): Buffer =>
      execFileSync('openssl', ['ca', '-config', config, '-cert', this.cert, '-keyfile', this.#key, ...args], {
        stdio: 'pipe',
      })
    for (const { cert } of certificates) run('-revoke', cert)
    // A list of the past has no number of days.
    const time = (at: number): string => new Date(at).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
    const now = Date.now()
    const until = ['-crl_lastupdate', time(now - 40 * 86_400_000), '-crl_nextupdate', time(now + days * 86_400_000)]
    return run('-gencrl', ...until).toString()
  }

  /** A certificate for a server of this machine. */
  certifyServer(): Certificate {
    return this.certify('/CN=localhost', 'DNS:localhost,IP:127.0.0.1')
  }
}

const request = (args: readonly string[]): void =>
  void execFileSync('openssl', ['req', '-x509', ...args], { stdio: 'pipe' })
