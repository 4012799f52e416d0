/**
 * Builds the image with buildah, podman or docker, the first that works here. `node test/helpers/image/build.ts --help`
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { arch, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { VERSION } from '../../../dataplane/base/version.ts'
import { baseFault } from './pinned-base.ts'

const ROOT = join(import.meta.dirname, '../../..')

const HELP = `Builds the image of the operator, the data plane and the tool gw.

  --image NAME     what to call it (localhost/gw:${VERSION})
  --base NAME      image to build on (that of the Dockerfile)
  --build-base NAME  image to run npm in, where the base is of another processor and holds that alone
  --platform NAME  linux/amd64 or linux/arm64 (that of this machine)
  --output FILE    also write it to this archive, as docker load and ctr import take it
  --storage DIR    where buildah keeps images, instead of its usual place
  --release        refuse a base without a digest (NAME@sha256:DIGEST)
  --allow-tag      build a release on a tag all the same
  --tool NAME      buildah, podman or docker; absent: the first that works

Where packages come from is what npm is configured to; NPMRC names another file for it.
`

export interface BuildOptions {
  readonly image: string
  readonly base?: string | undefined
  readonly 'build-base'?: string | undefined
  readonly platform?: string | undefined
  readonly output?: string | undefined
  readonly storage?: string | undefined
  readonly tool?: string | undefined
  /** The tree that is built; this one if absent. */
  readonly context?: string
}

interface Tool {
  readonly program: string
  /** Exits with 0 if the tool works, not merely if it is installed. */
  readonly works: readonly string[]
  readonly build: readonly string[]
  save(image: string, file: string): readonly string[]
}

const TOOLS: readonly Tool[] = [
  {
    program: 'buildah',
    works: ['version'],
    build: ['build', '--isolation', 'chroot', '--layers=false'],
    save: (image, file) => ['push', '--quiet', image, `docker-archive:${file}:${image}`],
  },
  {
    program: 'podman',
    works: ['info'],
    build: ['build'],
    save: (image, file) => ['save', '--quiet', '--output', file, image],
  },
  {
    program: 'docker',
    works: ['info'],
    build: ['build'],
    save: (image, file) => ['save', '--output', file, image],
  },
]

/** Processors by their names in images. */
const GO_NAMES: Readonly<Record<string, string>> = { x64: 'amd64' }

/** Throws the tool's message if it fails. */
export function buildImage(options: BuildOptions): void {
  const tool = chooseTool(options.tool)
  const { context = ROOT } = options
  const place = placeOf(options)
  // The same tree has the same time: that of its commit, or SOURCE_DATE_EPOCH.
  const epoch = process.env.SOURCE_DATE_EPOCH || git('log', '-1', '--format=%ct') || '0'
  const folder = mkdtempSync(join(tmpdir(), 'gw-image-'))
  try {
    const facts = {
      VERSION,
      REVISION: git('rev-parse', 'HEAD') || 'unknown',
      SOURCE_DATE_EPOCH: epoch,
      ...(options.base !== undefined && { BASE_IMAGE: options.base }),
      ...(options['build-base'] !== undefined && { BUILD_BASE_IMAGE: options['build-base'] }),
      // Docker sets it; for others it is the platform of the target.
      ...(tool.program !== 'docker' && { BUILDPLATFORM: `linux/${GO_NAMES[arch()] ?? arch()}` }),
    }
    const args = Object.entries(facts).flatMap(([name, value]) => [
      '--build-arg',
      `${name}=${value}`,
    ])
    // Otherwise the image would contain the time of its build, and no two would be equal.
    const moment = tool.program === 'docker' ? [] : ['--timestamp', epoch]
    run(tool.program, [
      ...place,
      ...tool.build,
      ...moment,
      ...args,
      ...(options.platform === undefined ? [] : ['--platform', options.platform]),
      ...secretsOf(folder),
      '--tag',
      options.image,
      '--file',
      join(context, 'Dockerfile'),
      context,
    ])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  if (options.output === undefined) return
  rmSync(options.output, { force: true })
  run(tool.program, [...place, ...tool.save(options.image, options.output)])
}

/** Makes an image from a folder with a whole file system; only with buildah. */
export function importBase(
  folder: string,
  image: string,
  storage: string,
  platform?: string,
): void {
  const place = placeOf({ image, storage })
  const own = mkdtempSync(join(tmpdir(), 'gw-base-'))
  const file = join(own, 'Dockerfile')
  try {
    writeFileSync(file, 'FROM scratch\nCOPY . /\n')
    const kind = platform === undefined ? [] : ['--platform', platform]
    const named = ['--tag', image, '--file', file]
    run('buildah', [...place, 'build', '--layers=false', ...kind, ...named, folder])
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
}

/** Buildah's own storage, of a kind that works on every file system. */
export function placeOf({ storage }: BuildOptions): string[] {
  if (storage === undefined) return []
  const runRoot = join(storage, 'run')
  return ['--root', join(storage, 'root'), '--runroot', runRoot, '--storage-driver', 'vfs']
}

function chooseTool(name: string | undefined): Tool {
  const candidates = TOOLS.filter(({ program }) => name === undefined || program === name)
  const found = candidates.find(({ program, works }) => {
    return spawnSync(program, works, { stdio: 'ignore' }).status === 0
  })
  if (found !== undefined) return found
  const names = candidates.map(({ program }) => program).join(', ')
  throw new Error(`None of these works here: ${names || name}. On Debian: apt-get install buildah`)
}

/** The settings that npm needs on this machine, for its one step: the image contains none of them. */
function secretsOf(folder: string): string[] {
  const given = process.env.NPMRC
  const authority = process.env.NODE_EXTRA_CA_CERTS ?? npmSetting('cafile')
  const registry = npmSetting('registry')
  const lines = registry === undefined ? [] : [`registry=${registry}`]
  const secrets: string[] = []
  if (authority && existsSync(authority)) {
    secrets.push('--secret', `id=ca,src=${authority}`)
    lines.push('cafile=/run/gw-ca.crt')
  }
  const file = given || join(folder, 'npmrc')
  if (!given) writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 })
  return [...secrets, '--secret', `id=npmrc,src=${file}`]
}

function npmSetting(name: string): string | undefined {
  const { stdout } = spawnSync('npm', ['config', 'get', name], { cwd: ROOT, encoding: 'utf8' })
  const value = stdout?.trim() ?? ''
  return ['', 'null', 'undefined'].includes(value) ? undefined : value
}

function git(...args: readonly string[]): string {
  const { stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  return stdout?.trim() ?? ''
}

function run(program: string, args: readonly string[]): void {
  const env = { ...process.env, DOCKER_BUILDKIT: '1' }
  const child = spawnSync(program, args, { env, encoding: 'utf8', maxBuffer: 1 << 26 })
  if (child.status === 0) return
  if (child.error !== undefined) {
    throw new Error(`${program} is needed; apt-get install ${program}`, { cause: child.error })
  }
  throw new BuildError(program, `${child.stdout}\n${child.stderr}`, child.status)
}

/** The errors of builders that cannot fetch an image, without another cause. */
const NOT_FETCHED =
  /registry|initializing source|short-name|manifest unknown|failed to resolve source/i

/** The message is a line for people; `output` has the builder's text. */
export class BuildError extends Error {
  readonly output: string

  constructor(program: string, output: string, status: number | null) {
    const lines = output.split('\n').filter((line) => line.trim() !== '')
    const last = lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1) ?? 'no output'
    const isBase = NOT_FETCHED.test(last)
    const advice = isBase
      ? '; the base image comes from a registry, give one that this machine has with make image BASE_IMAGE=NAME'
      : ''
    super(`${program} ended with ${status}: ${last.trim().slice(0, 300)}${advice}`)
    this.output = isBase ? '' : output
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      image: { type: 'string', default: `localhost/gw:${VERSION}` },
      base: { type: 'string' },
      'build-base': { type: 'string' },
      platform: { type: 'string' },
      output: { type: 'string' },
      storage: { type: 'string' },
      tool: { type: 'string' },
      release: { type: 'boolean' },
      'allow-tag': { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  const fault = baseFault(values)
  if (values.help) process.stdout.write(HELP)
  else if (fault !== undefined) {
    process.stderr.write(`error: ${fault}\n`)
    process.exitCode = 1
  } else {
    try {
      buildImage(values)
      process.stdout.write(`${values.output ?? values.image}\n`)
    } catch (error) {
      if (error instanceof BuildError) process.stderr.write(error.output)
      process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`)
      process.exitCode = 1
    }
  }
}
