/** A real gateway process as a pod runs it: mounted folders, a push port, and an operator's key to sign with. */
import { spawn } from 'node:child_process'
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { proofOf } from '../../dataplane/delivery/push-proof.ts'
import {
  type Envelope,
  type KeyChangesDocument,
  type KeyRecord,
  keyIdOf,
  type SignedDocument,
  sign,
} from '../../dataplane/delivery/signed.ts'
import { aDocument, anUpstream, Front } from '../helpers/fake-upstream.ts'
import { freePort } from '../helpers/free-port.ts'
import { collectOutput, isOver, PLENTY, stop, untilExit } from '../helpers/gateway-process.ts'
import { until } from '../helpers/until.ts'
import { withClock } from '../helpers/wall-clock.ts'

type Fields = Readonly<Record<string, unknown>>

const PROGRAM = join(import.meta.dirname, '../../dataplane/main.ts')
export const UID = '5f1c0d9e-5a43-4f5c-9d4b-0a4f4f1f2b11'
const IDENTITY = { uid: UID, namespace: 'ai', name: 'production' }

/** A key pair of an operator. */
export function aSigner(): { readonly privateKey: KeyObject; readonly pem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return { privateKey, pem: publicKey.export({ type: 'spki', format: 'pem' }).toString() }
}

/** The folders of a pod, and documents for it. */
export interface Mounts {
  readonly folder: string
  readonly bundle: string
  readonly trust: string
  readonly secrets: string
  readonly signer: ReturnType<typeof aSigner>
}

export async function makeMounts(): Promise<Mounts> {
  const folder = await mkdtemp(join(tmpdir(), 'gw-pod-'))
  const signer = aSigner()
  const mounts = {
    folder,
    bundle: join(folder, 'bundle'),
    trust: join(folder, 'trust'),
    secrets: join(folder, 'secrets'),
    signer,
  }
  await Promise.all([mounts.bundle, mounts.trust, mounts.secrets].map((path) => mkdir(path)))
  await writeFile(join(mounts.trust, 'one.pem'), signer.pem)
  return mounts
}

/** As the kubelet does: a Secret's files are links through `..data`, which is replaced at once. */
export async function mountSecret(
  { secrets }: Mounts,
  name: string,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  const folder = join(secrets, name)
  const version = `..${process.hrtime.bigint()}`
  await mkdir(join(folder, version), { recursive: true })
  for (const [key, value] of Object.entries(values)) {
    await writeFile(join(folder, version, key), value)
  }
  await symlink(version, join(folder, '..data_tmp'))
  await rename(join(folder, '..data_tmp'), join(folder, '..data'))
  for (const key of Object.keys(values)) {
    await symlink(join('..data', key), join(folder, key)).catch(() => undefined)
  }
}

export interface Numbers {
  readonly sequence: number
  readonly generation?: number
  readonly uid?: string
}

/** A configuration of the gateway; upstreams may omit common fields. */
export function aConfiguration(
  gw: Fields & { readonly upstreams: readonly Fields[] },
  { sequence, generation = 1, uid = UID }: Numbers,
): SignedDocument {
  const { apiVersion, kind } = aDocument({})
  const section = {
    rate_limits: { default: PLENTY },
    ...gw,
    upstreams: gw.upstreams.map(anUpstream),
  }
  return {
    kind: 'Configuration',
    gateway: { ...IDENTITY, uid },
    sequence,
    generation,
    payload: { apiVersion, kind, metadata: { name: 'production', namespace: 'ai' }, gw: section },
  }
}

export function allKeys(
  keys: readonly KeyRecord[],
  { sequence, uid = UID }: Numbers,
): SignedDocument {
  return { kind: 'Keys', gateway: { ...IDENTITY, uid }, sequence, keys }
}

export function someKeys(
  changes: KeyChangesDocument['changes'],
  { sequence, uid = UID }: Numbers,
): SignedDocument {
  return { kind: 'Keys', gateway: { ...IDENTITY, uid }, sequence, changes }
}

export function signed({ signer }: Mounts, document: SignedDocument): Envelope {
  return sign(document, signer.privateKey)
}

type PushPath = '/config' | '/keys' | '/endpoints'

/** The headers with which an operator sends these bytes. */
export function proofFor(
  { signer: { privateKey } }: Mounts,
  path: PushPath,
  body: string | Buffer,
): Readonly<Record<string, string>> {
  const keyId = keyIdOf(createPublicKey(privateKey))
  return proofOf(body, { path, uid: UID }, { privateKey, keyId })
}

/** The same as the head of a raw request. */
export function headFor(mounts: Mounts, path: PushPath, body: string): string {
  const proof = Object.entries(proofFor(mounts, path, body))
  const lines = proof.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return `PUT ${path} HTTP/1.1\r\nHost: pod\r\n${lines}Content-Length: ${body.length}\r\n\r\n`
}

/** Writes a file of the bundle by renaming, so that no reader sees half of it. */
export async function mountBundle(
  mounts: Mounts,
  file: 'config.json' | 'lkg-config.json' | 'keys.json.gz' | 'endpoints.json',
  content: Envelope | string,
): Promise<void> {
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  const path = join(mounts.bundle, file)
  await writeFile(`${path}.new`, file.endsWith('.gz') ? gzipSync(text) : text)
  await rename(`${path}.new`, path)
}

const PATHS: Readonly<Record<SignedDocument['kind'], PushPath>> = {
  Configuration: '/config',
  Keys: '/keys',
  Endpoints: '/endpoints',
}

export interface Pushed {
  readonly status: number
  readonly body: ReturnType<typeof JSON.parse>
}

export class PodProcess extends Front {
  readonly mounts: Mounts
  readonly pushUrl: string

  constructor(front: Front, mounts: Mounts, pushUrl: string) {
    super(front.process, front.key)
    this.mounts = mounts
    this.pushUrl = pushUrl
  }

  async put(
    path: PushPath,
    content: Envelope | string | Buffer,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Pushed> {
    const body =
      typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content)
    const proven = { ...proofFor(this.mounts, path, body), ...headers }
    return await ask(`${this.pushUrl}${path}`, { method: 'PUT', headers: proven, body })
  }

  /** Signs and pushes. */
  async push(document: SignedDocument): Promise<Pushed> {
    return await this.put(PATHS[document.kind], signed(this.mounts, document))
  }

  async status() {
    return (await ask(`${this.pushUrl}/config/status`, { method: 'GET' })).body
  }
}

export interface PodOptions {
  readonly mounts: Mounts
  /** The key for requests. */
  readonly key?: string
  /** Overrides the operator's variables; undefined removes a name. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The state that ends the start. */
  readonly until?: 'ready' | 'waiting'
  /** The folders remain after the process has ended. */
  readonly keeps?: boolean
}

export async function startPod(options: PodOptions): Promise<PodProcess> {
  const { mounts, key = 'none', until: state = 'ready' } = options
  const [listen, metrics, admin, push] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ]
  const env = {
    ...process.env,
    UPSTREAM_KEY: 'upstream-credential',
    GW_GATEWAY_UID: UID,
    GW_TRUST_DIR: mounts.trust,
    GW_SECRETS_DIR: mounts.secrets,
    GW_LISTEN_PORT: String(listen),
    GW_METRICS_PORT: String(metrics),
    GW_ADMIN_PORT: String(admin),
    GW_PUSH_PORT: String(push),
    GW_DRAIN_DELAY_SECONDS: '0',
    GW_POD_NAME: 'production-1',
    ...options.env,
  }
  const child = spawn(process.execPath, [PROGRAM, '--bundle', mounts.bundle], {
    env: withClock(env),
  })
  const output = collectOutput(child)
  const exited = untilExit(
    child,
    options.keeps ? await mkdtemp(join(tmpdir(), 'gw-')) : mounts.folder,
  )
  const url = `http://127.0.0.1:${listen}`
  const isThere = async () => {
    const status = await statusOf(`${url}/readyz`)
    return state === 'ready' ? status === 200 : status === 503
  }
  try {
    await until(`the pod is ${state}`, async () => isOver(child) || (await isThere()), 120)
    if (isOver(child)) throw new Error(`It exited with ${child.exitCode ?? child.signalCode}.`)
  } catch (cause) {
    await stop(child, exited)
    throw new Error(`The pod did not become ${state}:\n${output()}`, { cause })
  }
  const front = new Front(
    {
      url,
      metricsUrl: `http://127.0.0.1:${metrics}`,
      adminUrl: `http://127.0.0.1:${admin}`,
      adminHeaders: {},
      configFile: '',
      pid: child.pid ?? 0,
      output,
      signal: (name) => void child.kill(name),
      exited,
      stop: () => stop(child, exited),
    },
    key,
  )
  return new PodProcess(front, mounts, `http://127.0.0.1:${push}`)
}

/** 0 if there was no answer. */
export async function statusOf(address: string): Promise<number> {
  const response = await fetch(address, { signal: AbortSignal.timeout(10_000) }).catch(() => null)
  await response?.body?.cancel()
  return response?.status ?? 0
}

/** Reads the answer even if it comes before the end of the body. */
function ask(
  address: string,
  {
    body,
    ...options
  }: { method: string; headers?: Readonly<Record<string, string>>; body?: string | Buffer },
): Promise<Pushed> {
  return new Promise((resolve, reject) => {
    let isAnswered = false
    const outgoing = request(address, { ...options, agent: false }, (incoming) => {
      isAnswered = true
      let text = ''
      incoming.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      incoming.on('error', reject)
      incoming.on('end', () => {
        resolve({ status: incoming.statusCode ?? 0, body: JSON.parse(text) })
        outgoing.destroy()
      })
    })
    outgoing.on('error', (error) => {
      if (!isAnswered) reject(error)
    })
    outgoing.end(body)
  })
}

export async function removeMounts({ folder }: Mounts): Promise<void> {
  await rm(folder, { recursive: true, force: true })
}
