/**
 * A replacement for the public base image, for machines without a registry of images: Debian's libraries from its
 * mirror, Node and npm from the npm registry. Kept by its versions outside the tree, as a folder.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')
const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gw-test')
const SUITE = 'bookworm'
const PACKAGES = 'base-files,ca-certificates,libc6,libstdc++6,libatomic1,dash,coreutils,findutils'
const NPM = 'npm@11.19.1'

/** The folder with the file system of the base. */
export function provideBase(): string {
  const recipe = [SUITE, PACKAGES, NPM, process.version].join(' ')
  const name = createHash('sha256').update(recipe).digest('hex').slice(0, 12)
  const folder = join(CACHE, `image-base-${name}`)
  if (existsSync(folder)) return folder
  mkdirSync(CACHE, { recursive: true })
  const part = `${folder}.${process.pid}`
  try {
    run('mmdebstrap', ['--variant=extract', '--quiet', `--include=${PACKAGES}`, SUITE, part])
    const prefix = join(part, 'usr/local')
    // A real base includes npm.
    run('npm', ['install', '--global', '--no-audit', '--no-fund', '--prefix', prefix, NPM])
    mkdirSync(join(part, 'usr/local/bin'), { recursive: true })
    cpSync(process.execPath, join(part, 'usr/local/bin/node'), { dereference: true })
    for (const needless of [
      'usr/share/doc',
      'usr/share/man',
      'usr/share/locale',
      'var/cache',
      'var/lib/apt',
    ]) {
      rmSync(join(part, needless), { recursive: true, force: true })
    }
    if (!existsSync(folder)) renameSync(part, folder)
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
  return folder
}

function run(program: string, args: readonly string[]): void {
  const { status, error, stderr } = spawnSync(program, args, { cwd: ROOT, encoding: 'utf8' })
  if (error !== undefined) {
    throw new Error(`The stand-in base needs ${program}; apt-get install ${program}`, {
      cause: error,
    })
  }
  if (status !== 0) throw new Error(`${program} ended with ${status}:\n${stderr}`)
}

if (import.meta.main) process.stdout.write(`${provideBase()}\n`)
