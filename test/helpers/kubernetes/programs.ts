/**
 * The programs of a cluster: from KUBEBUILDER_ASSETS, or built once from their pinned sources and kept. As a program it
 * builds the named ones and prints their paths; after `--possible` it only prints why it could not.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

interface Family {
  /** The module whose version is that of its programs. */
  readonly module: string
  /** Program to package. */
  readonly programs: Readonly<Record<string, string>>
  readonly stamps?: (version: string) => readonly string[]
}

const KUBERNETES = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-proxy',
  'kube-scheduler',
  'kubectl',
  'kubelet',
]

/**
 * Each has other dependencies, so each is a Go module: the folder of its name. A `prepare.sh` in it writes the module
 * that is built into another folder.
 */
const FAMILIES: Readonly<Record<string, Family>> = {
  etcd: {
    module: 'go.etcd.io/etcd/server/v3',
    programs: { etcd: 'go.etcd.io/etcd/server/v3' },
  },
  kubernetes: {
    module: 'k8s.io/kubernetes',
    programs: Object.fromEntries(KUBERNETES.map((name) => [name, `k8s.io/kubernetes/cmd/${name}`])),
    stamps: stampsOfKubernetes,
  },
  helm: { module: 'helm.sh/helm/v3', programs: { helm: 'helm.sh/helm/v3/cmd/helm' } },
  'kube-score': {
    module: 'github.com/zegl/kube-score',
    programs: { 'kube-score': 'github.com/zegl/kube-score/cmd/kube-score' },
  },
  helm4: { module: 'helm.sh/helm/v4', programs: { helm4: 'helm.sh/helm/v4/cmd/helm' } },
  // Decodes the data for collectors of OpenTelemetry.
  otlp: { module: 'go.opentelemetry.io/proto/otlp', programs: { 'decode-otlp': '.' } },
  // The collector itself, which keeps received data in a file.
  otelcol: {
    module: 'github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter',
    programs: { otelcol: '.' },
  },
  // KEDA's reading of a metrics-api trigger.
  keda: { module: 'github.com/kedacore/keda/v2', programs: { 'keda-sum': '.' } },
  coredns: {
    module: 'github.com/coredns/coredns',
    programs: { coredns: 'github.com/coredns/coredns' },
  },
}

const SOURCES = join(import.meta.dirname, 'programs')
const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gw-test')

/** The programs that the cluster API tier starts. */
export const CONTROL_PLANE = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl']

/** Paths of the programs by name; missing ones are built, which takes minutes once. */
export async function providePrograms(names: readonly string[]): Promise<Record<string, string>> {
  const paths: Record<string, string> = {}
  for (const name of names) paths[name] = await provide(name)
  return paths
}

async function provide(name: string): Promise<string> {
  const { folder, family, version, path } = placeOf(name)
  if (existsSync(path)) return path
  await mkdir(dirname(path), { recursive: true })
  await alone(`${path}.lock`, async () => {
    if (!existsSync(path)) await build(folder, family, version, path)
  })
  return path
}

/** Why these can neither be found nor built here, in one line; undefined if they can. */
export function whyNoPrograms(names: readonly string[]): string | undefined {
  const missing = names.map(placeOf).find(({ path }) => !existsSync(path))
  if (missing === undefined) return undefined
  const { module } = missing.family
  const ask = ['list', '-m', `${module}@${missing.version}`]
  try {
    const { status, stderr } = spawnSync(findGo(), ask, { cwd: tmpdir(), encoding: 'utf8' })
    return status === 0 ? undefined : `no Go module can be had: ${stderr.trim().split('\n')[0]}`
  } catch (error) {
    return String(error).split('\n').filter(Boolean).join(' ')
  }
}

/** Its path, or its future path. */
function placeOf(name: string) {
  const found = Object.entries(FAMILIES).find(([, { programs }]) => Object.hasOwn(programs, name))
  if (found === undefined) throw new Error(`No program ${name}; see FAMILIES in programs.ts.`)
  const given = process.env.KUBEBUILDER_ASSETS
  const [folder, family] = found
  const version = versionOf(folder, family.module)
  const isGiven = given && existsSync(join(given, name))
  const path = isGiven ? join(given, name) : join(CACHE, `${folder}-${version}`, name)
  return { folder, family, version, path }
}

function versionOf(folder: string, module: string): string {
  const text = readFileSync(join(SOURCES, folder, 'go.mod'), 'utf8')
  const version = new RegExp(`${module.replaceAll('.', '\\.')} (v\\S+)`).exec(text)?.[1]
  if (version === undefined) throw new Error(`programs/${folder}/go.mod does not pin ${module}.`)
  return version
}

/** Without these kubectl and kubelet report v0.0.0, and skew checks refuse them. */
function stampsOfKubernetes(version: string): string[] {
  const [major = '', minor = ''] = version.replace(/^v/, '').split('.')
  const stamps = { gitVersion: version, gitMajor: major, gitMinor: minor }
  return Object.entries(stamps).map(
    ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
  )
}

async function build(folder: string, family: Family, version: string, path: string) {
  const go = findGo()
  const name = basename(path)
  process.stderr.write(`building ${name} ${version} for ${path} (once; takes minutes)\n`)
  const partial = `${path}.${process.pid}`
  const flags = ['-s -w', ...(family.stamps?.(version) ?? [])].join(' ')
  const target = family.programs[name] ?? ''
  const prepare = join(SOURCES, folder, 'prepare.sh')
  const isPrepared = existsSync(prepare)
  const source = isPrepared ? await mkdtemp(`${partial}-`) : join(SOURCES, folder)
  try {
    if (isPrepared) await run('bash', [prepare, go, source], SOURCES)
    const args = ['build', '-trimpath', '-ldflags', flags, '-o', partial, target]
    await run(go, args, source)
    await rename(partial, path)
  } catch (error) {
    await rm(partial, { force: true })
    const { message } = error as Error
    throw new Error(`${name} could not be built with ${go}:\n${message}`, { cause: error })
  } finally {
    if (isPrepared) await rm(source, { recursive: true, force: true })
  }
}

/** Fails with the end of its output. */
async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false', GOWORK: 'off' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4000)
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(errors)
}

function findGo(): string {
  const found = spawnSync('bash', [join(SOURCES, 'go.sh')], { encoding: 'utf8' })
  if (found.status === 0) return found.stdout.trim()
  throw new Error(
    `The cluster tests build their programs with Go, and no Go was found:\n${found.stderr}\n` +
      'Install Go 1.24 or later, or python3-venv (which brings one), ' +
      'or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver and kubectl.',
  )
}

/** One process at a time; the lock of a dead one is taken over. */
async function alone(lock: string, action: () => Promise<void>): Promise<void> {
  while (!(await taken(lock))) {
    const owner = Number(await readFile(lock, 'utf8').catch(() => ''))
    if (owner > 0 && !isAlive(owner)) await rm(lock, { force: true })
    await delay(500)
  }
  try {
    await action()
  } finally {
    await rm(lock, { force: true })
  }
}

async function taken(lock: string): Promise<boolean> {
  return await writeFile(lock, String(process.pid), { flag: 'wx' }).then(
    () => true,
    () => false,
  )
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

if (import.meta.main && process.argv[2] === '--possible') {
  const why = whyNoPrograms(process.argv.slice(3))
  if (why !== undefined) process.stdout.write(`${why}\n`)
  process.exitCode = why === undefined ? 0 : 1
} else if (import.meta.main) {
  const names = process.argv.length > 2 ? process.argv.slice(2) : CONTROL_PLANE
  for (const [name, path] of Object.entries(await providePrograms(names))) {
    process.stdout.write(`${name} ${path}\n`)
  }
}
