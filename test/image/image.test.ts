/** The image, built on a stand-in base: small, the same each time, and its programs run as they do in a pod. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import manifest from '../../package.json' with { type: 'json' }
import { freePort } from '../helpers/free-port.ts'
import { provideBase } from '../helpers/image/base.ts'
import { type BuildOptions, buildImage, importBase } from '../helpers/image/build.ts'
import { makeBill } from '../helpers/image/sbom.ts'
import { answers, until } from '../helpers/until.ts'

const BASE = 'localhost/gw-base:test'
/** By folder; `dev` where nothing but development needs it. */
const lock: { readonly packages: Readonly<Record<string, { readonly dev?: boolean }>> } =
  JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'))

const SIZE_MAX = 60_000_000
const folder = mkdtempSync(join(tmpdir(), 'gw-image-test-'))
const storage = join(folder, 'storage')
const root = join(folder, 'root')
/** A copy: what is edited while the tests run must not get between the two builds. */
const context = join(folder, 'context')
const PARTS = [
  'Dockerfile',
  '.dockerignore',
  'package.json',
  'package-lock.json',
  'LICENSE',
  'dataplane',
  'crds',
  'operator',
  'cli',
]

interface Layer {
  readonly id: string
  readonly file: string
  readonly bytes: number
}

interface Image {
  readonly name: string
  readonly layers: readonly Layer[]
  readonly config: {
    readonly User: string
    readonly Env: readonly string[]
    readonly Entrypoint: readonly string[]
    readonly Labels: Readonly<Record<string, string>>
  }
  readonly architecture: string
}

let image: Image

function build(name: string, target: Partial<BuildOptions> = { base: BASE }): Image {
  const output = join(folder, `${name}.tar`)
  buildImage({
    image: `localhost/gw:${name}`,
    ...target,
    storage,
    output,
    tool: 'buildah',
    context,
  })
  const unpacked = join(folder, name)
  mkdirSync(unpacked)
  run('tar', ['-xf', output, '-C', unpacked])
  const read = (file: string) => JSON.parse(readFileSync(join(unpacked, file), 'utf8'))
  const [{ Config, Layers, RepoTags }] = read('manifest.json')
  const { config, rootfs, architecture } = read(Config)
  const layers = rootfs.diff_ids.map((id: string, index: number) => {
    const file = join(unpacked, Layers[index])
    return { id, file, bytes: readFileSync(file).length }
  })
  return { name: RepoTags[0], layers, config, architecture }
}

function run(program: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  })
  assert.equal(status, 0, `${program} ${args.join(' ')}:\n${stderr}`)
  return stdout
}

/** As a container runs it: in the image's files, its user, its variables and nothing else, /proc and an own /tmp. */
function containerOf(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const variables = [
    ...image.config.Env,
    ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
  ]
  const script = [
    'mount --bind "$0" "$0"',
    'mount -o remount,bind,ro "$0"',
    'mount --bind /proc "$0/proc"',
    'mount -t tmpfs -o mode=1777 tmpfs "$0/tmp"',
    'mount --bind "$0.mount" "$0/mnt"',
    'exec chroot --userspec=65532:65532 --groups= "$0" "$@"',
  ].join(' && ')
  const command = ['/usr/bin/env', '-i', ...variables, ...args]
  return ['unshare', ['--mount', 'sh', '-c', script, root, ...command]] as const
}

function inContainer(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const [program, given] = containerOf(args, env)
  return spawnSync(program, given, { encoding: 'utf8' })
}

const entry = (...args: readonly string[]) => [...image.config.Entrypoint, ...args]

before(() => {
  // A commit between the two builds would be another hour.
  process.env.SOURCE_DATE_EPOCH = '1780000000'
  for (const part of PARTS) {
    cpSync(join(import.meta.dirname, '../..', part), join(context, part), { recursive: true })
  }
  importBase(provideBase(), BASE, storage)
  image = build('first')
  mkdirSync(root)
  for (const { file } of image.layers) run('tar', ['-xf', file, '-C', root])
  mkdirSync(`${root}.mount`)
  mkdirSync(join(root, 'mnt'), { recursive: true })
})

after(() => rmSync(folder, { recursive: true, force: true }))

test('it adds less than 60 MB to its base', (context) => {
  const added = image.layers.slice(1).reduce((sum, { bytes }) => sum + bytes, 0)
  context.diagnostic(`${(added / 1e6).toFixed(1)} MB over the base, uncompressed`)
  assert.ok(added < SIZE_MAX, `${added} bytes`)
})

test('two builds of one tree are the same, layer for layer', () => {
  const second = build('second')
  assert.deepEqual(
    second.layers.map(({ id }) => id),
    image.layers.map(({ id }) => id),
  )
})

test('an image for another processor holds the same programs, and nothing of it runs while it is built', () => {
  const other = process.arch === 'arm64' ? 'amd64' : 'arm64'
  const base = `${BASE}-${other}`
  mkdirSync(join(folder, 'empty'))
  writeFileSync(join(folder, 'empty/file'), 'No program is in this base.')
  importBase(join(folder, 'empty'), base, storage, `linux/${other}`)
  const target = { base, 'build-base': BASE, platform: `linux/${other}` }
  const { architecture, layers } = build(other, target)
  assert.equal(architecture, other)
  assert.equal(layers.at(-1)?.id, image.layers.at(-1)?.id)
})

test('it runs as a user without a name, needs no shell, and says what it is', () => {
  const { User, Entrypoint, Labels } = image.config
  assert.equal(User, '65532:65532')
  assert.deepEqual(Entrypoint, ['node', '/app/cli/container.ts'])
  assert.equal(Labels['org.opencontainers.image.version'], manifest.version)
  assert.match(Labels['org.opencontainers.image.revision'] ?? '', /^[0-9a-f]{40}$/)
})

test('it holds no test, no tool of development, and nothing of the machine that built it', () => {
  const names = run('tar', ['-tf', image.layers.at(-1)!.file]).split('\n')
  const unwanted =
    /\.test\.ts$|^app\/test\/|npmrc|\.d\.ts$|node_modules\/(typescript|@biomejs|knip|node)\/|^root\/.|^tmp\/.|^run\/./
  assert.deepEqual(
    names.filter((name) => unwanted.test(name)),
    [],
  )
  for (const name of Object.keys(manifest.devDependencies)) {
    // Tests use some packages that packages of the product need as well.
    if (lock.packages[`node_modules/${name}`]?.dev !== true) continue
    assert.ok(!names.includes(`app/node_modules/${name}/package.json`), name)
  }
})

test('every package that the programs use can be loaded', () => {
  const names = Object.keys(manifest.dependencies)
  const script = `for (const name of ${JSON.stringify(names)}) await import(name)`
  const ran = inContainer([
    'sh',
    '-c',
    'cd /app && exec node --input-type=module --eval "$0"',
    script,
  ])
  assert.equal(ran.status, 0, ran.stderr)
})

test('without arguments it is the tool, and shows its help', () => {
  const { status, stdout } = inContainer(entry())
  assert.equal(status, 0)
  assert.match(stdout, /^Usage: gw /m)
  assert.equal(inContainer(entry('--version')).stdout.trim(), manifest.version)
  assert.equal(inContainer(['gw', '--version']).stdout.trim(), manifest.version)
})

test('"operator" is the operator, which says what it lacks', () => {
  assert.match(inContainer(entry('operator', '--help')).stdout, /^gw operator /)
  const { status, stderr } = inContainer(entry('operator', '--health-port', 'x'))
  assert.equal(status, 64)
  assert.match(stderr, /--health-port is "x"/)
})

test('without arguments in a pod it is the gateway, which ends at once when it is asked to', async () => {
  const port = await freePort()
  writeFileSync(join(`${root}.mount`, 'none'), '')
  const [program, given] = containerOf(entry(), {
    GW_BUNDLE_DIR: '/mnt',
    GW_TRUST_DIR: '/mnt',
    GW_GATEWAY_UID: 'a-gateway',
    GW_LISTEN_PORT: String(port),
    GW_PUSH_PORT: String(await freePort()),
  })
  const child = spawn(program, given, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  try {
    await until('it answers', async () => await answers(`http://127.0.0.1:${port}/healthz`), 60)
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`)
    assert.equal(ready.status, 503)
    // The process that was started is the program itself: each of those before it has made way for the next.
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null], output)
  } finally {
    child.kill('SIGKILL')
  }
})

test('the root is read-only to it, and /tmp is not', () => {
  const code = (file: string) => `require('node:fs').writeFileSync('${file}', 'x')`
  assert.match(inContainer(['node', '--eval', code('/app/x')]).stderr, /EROFS/)
  assert.equal(inContainer(['node', '--eval', code('/tmp/x')]).status, 0)
})

test('the list of what is in it names every package that is in it, and no tool of development', () => {
  const { components, dependencies, bomFormat } = makeBill()
  assert.equal(bomFormat, 'CycloneDX')
  const listed = new Set(components.map(({ name }) => name))
  for (const name of Object.keys(manifest.dependencies)) assert.ok(listed.has(name), name)
  for (const name of ['typescript', 'knip', 'openai']) assert.ok(!listed.has(name), name)
  const known = new Set(dependencies.map(({ ref }) => ref))
  for (const { dependsOn = [] } of dependencies) {
    for (const ref of dependsOn) assert.ok(known.has(ref), ref)
  }
  const names = run('tar', ['-tf', image.layers.at(-1)!.file])
  const held = [
    ...names.matchAll(/^app\/(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\/package\.json$/gm),
  ]
  assert.ok(held.length > 50)
  for (const [, name = ''] of held) assert.ok(listed.has(name), name)
})
