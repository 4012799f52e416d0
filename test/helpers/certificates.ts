/** Certificates for tests, made by openssl in a separate folder; no machine trusts them. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface CertificateOptions {
  /** Subject alternative names as openssl writes them. */
  readonly names?: string
  /** The start and end of its validity, as YYMMDDHHMMSSZ. */
  readonly from?: string
  readonly until?: string
  /** The authority that signs; absent: self-signed. */
  readonly by?: Certificate
  /** Whether it may sign others. */
  readonly authority?: boolean
}

export interface Certificate {
  readonly certFile: string
  readonly keyFile: string
  readonly cert: string
  readonly key: string
}

export class Certificates {
  readonly folder = mkdtempSync(join(tmpdir(), 'gw-certificates-'))
  #made = 0

  make(options: CertificateOptions = {}): Certificate {
    const { names = 'DNS:localhost,IP:127.0.0.1,IP:::1', authority = false, by } = options
    const { from = '200101000000Z', until = '400101000000Z' } = options
    const name = `c${++this.#made}`
    const base = join(this.folder, name)
    const [certFile, keyFile, request] = [`${base}.pem`, `${base}.key`, `${base}.csr`]
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    openssl('req', '-new', ...curve, '-keyout', keyFile, '-out', request, '-subj', `/CN=${name}`)
    const signer =
      by === undefined
        ? ['-selfsign', '-keyfile', keyFile]
        : ['-cert', by.certFile, '-keyfile', by.keyFile]
    writeFileSync(`${base}.cnf`, configuration(this.folder, names, authority))
    writeFileSync(join(this.folder, 'index.txt'), '')
    openssl(
      ...['ca', '-batch', '-config', `${base}.cnf`, '-in', request, '-out', certFile],
      ...[...signer, '-notext'],
      ...['-startdate', from, '-enddate', until],
    )
    return { certFile, keyFile, cert: read(certFile), key: read(keyFile) }
  }

  authority(): Certificate {
    return this.make({ authority: true })
  }

  remove(): void {
    rmSync(this.folder, { recursive: true })
  }
}

function configuration(folder: string, names: string, authority: boolean): string {
  return `[ca]
default_ca = own
[own]
database = ${folder}/index.txt
new_certs_dir = ${folder}
default_md = sha256
policy = any
unique_subject = no
rand_serial = yes
x509_extensions = extensions
[any]
commonName = supplied
[extensions]
basicConstraints = critical,CA:${authority ? 'TRUE' : 'FALSE'}
${authority ? '' : `subjectAltName = ${names}`}
`
}

function openssl(...words: string[]): void {
  execFileSync('openssl', words, { stdio: 'pipe' })
}

function read(file: string): string {
  return readFileSync(file, 'utf8')
}
