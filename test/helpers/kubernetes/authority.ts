/** A certificate authority of a cluster for tests, and the certificates that it signs. */
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

export interface Pair {
  readonly certificate: string
  readonly key: string
}

export interface Authority {
  readonly folder: string
  readonly certificate: string
  /** For a server of these names. */
  server(name: string, alternatives: string): Promise<Pair>
  /** For a user in these groups. */
  client(user: string, groups?: readonly string[]): Promise<Pair>
}

export async function makeAuthority(folder: string): Promise<Authority> {
  const certificate = join(folder, 'ca.crt')
  const key = join(folder, 'ca.key')
  // The host's configuration would add other extensions.
  const config = join(folder, 'openssl.cnf')
  await writeFile(config, '[req]\ndistinguished_name = name\n[name]\n')
  const make = ['req', '-x509', '-config', config, ...KEY, '-days', '30']
  const isAuthority = ['-addext', 'basicConstraints=critical,CA:TRUE']
  const own = ['-subj', '/CN=gw-test', '-keyout', key, '-out', certificate]
  await run('openssl', [...make, ...isAuthority, ...own])
  const sign = async (name: string, subject: string, extensions: readonly string[]) => {
    const pair = { certificate: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) }
    const files = ['-keyout', pair.key, '-out', pair.certificate]
    const by = ['-CA', certificate, '-CAkey', key]
    const more = ['basicConstraints=critical,CA:FALSE', ...extensions].flatMap((extension) => [
      '-addext',
      extension,
    ])
    await run('openssl', [...make, ...by, '-subj', subject, ...more, ...files])
    return pair
  }
  return {
    folder,
    certificate,
    server: (name, alternatives) =>
      sign(name, `/CN=${name}`, ['extendedKeyUsage=serverAuth', `subjectAltName=${alternatives}`]),
    client: (user, groups = []) =>
      sign(
        user.replace(/[^A-Za-z0-9-]/g, '-'),
        `${groups.map((group) => `/O=${group}`).join('')}/CN=${user}`,
        ['extendedKeyUsage=clientAuth'],
      ),
  }
}

/** The key that signs service account tokens. */
export async function makeTokenKeys(folder: string, name = 'tokens'): Promise<Pair> {
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const paths = { certificate: join(folder, `${name}.pub`), key: join(folder, `${name}.key`) }
  await writeFile(paths.certificate, pair.publicKey)
  await writeFile(paths.key, pair.privateKey, { mode: 0o600 })
  return paths
}
