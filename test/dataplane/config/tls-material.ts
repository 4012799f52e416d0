/** Good and bad files for a `tls` section, and the expected message about each. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Tls } from '../../../dataplane/config/tls-files.ts'
import { Certificates } from '../../helpers/certificates.ts'

export const certificates = new Certificates()
const authority = certificates.authority()
export const client = certificates.make({ by: authority })
const other = certificates.make({ by: authority })
const { folder } = certificates
export const garbage = file('garbage.pem', 'no certificate at all\n')
const broken = file('broken.pem', `${block('CERTIFICATE', 'AAAA')}`)
const second = file('second.pem', `${authority.cert}\n${block('CERTIFICATE', 'AAAA')}`)
const brokenKey = file('broken.key', block('PRIVATE KEY', 'AAAA'))
const sealed = file('sealed.key', sealedKey())
export const bundle = file('bundle.pem', `# A comment.\n${authority.cert}\n${other.cert}`)
export const pair = { client_cert_path: client.certFile, client_key_path: client.keyFile }

export const ROWS: readonly (readonly [what: string, tls: Tls, said: readonly string[]])[] = [
  ['a bundle of several certificates', { ca_bundle_path: bundle }, []],
  ['a certificate and its key', pair, []],
  ['everything', { ca_bundle_path: bundle, ...pair, min_version: 'TLSv1.3' }, []],
  ['nothing', {}, []],
  [
    'a bundle that is not there',
    { ca_bundle_path: '/nowhere/ca.pem' },
    ['gw.tls.ca_bundle_path: /nowhere/ca.pem cannot be read (ENOENT)'],
  ],
  [
    'a bundle that is a folder',
    { ca_bundle_path: folder },
    [`gw.tls.ca_bundle_path: ${folder} cannot be read (EISDIR)`],
  ],
  [
    'a bundle without a certificate',
    { ca_bundle_path: garbage },
    [`gw.tls.ca_bundle_path: ${garbage} holds no PEM certificate`],
  ],
  [
    'a key as bundle',
    { ca_bundle_path: client.keyFile },
    [`gw.tls.ca_bundle_path: ${client.keyFile} holds no PEM certificate`],
  ],
  [
    'a broken certificate',
    { ca_bundle_path: broken },
    [`gw.tls.ca_bundle_path: ${broken} holds a certificate that cannot be read (number 1 in it)`],
  ],
  [
    'a broken certificate behind a good one',
    { ca_bundle_path: second },
    [`gw.tls.ca_bundle_path: ${second} holds a certificate that cannot be read (number 2 in it)`],
  ],
  [
    'certificate and key exchanged',
    { client_cert_path: client.keyFile, client_key_path: client.certFile },
    [
      `gw.tls.client_cert_path: ${client.keyFile} holds no PEM certificate`,
      `gw.tls.client_key_path: ${client.certFile} holds no PEM private key`,
    ],
  ],
  [
    'a broken key',
    { ...pair, client_key_path: brokenKey },
    [`gw.tls.client_key_path: ${brokenKey} holds a private key that cannot be read`],
  ],
  [
    'a key with a passphrase',
    { ...pair, client_key_path: sealed },
    [`gw.tls.client_key_path: ${sealed} is encrypted, and its password cannot be asked for`],
  ],
  [
    'the key of another certificate',
    { ...pair, client_key_path: other.keyFile },
    [`gw.tls.client_key_path: ${other.keyFile} is not the key of ${client.certFile}`],
  ],
]

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

function block(label: string, base64: string): string {
  return `-----BEGIN ${label}-----\n${base64}\n-----END ${label}-----\n`
}

function sealedKey(): string {
  const privateKeyEncoding = {
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'x',
  } as const
  const publicKeyEncoding = { type: 'spki', format: 'pem' } as const
  return generateKeyPairSync('ed25519', { privateKeyEncoding, publicKeyEncoding }).privateKey
}
