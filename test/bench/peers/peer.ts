/** A peer: a program at a fixed version, downloaded into the user's cache, configured for the same upstream. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Process } from '../processes.ts'

export interface PeerOptions {
  readonly folder: string
  readonly port: number
  /** For metrics or administration, if the peer requires a port for them. */
  readonly secondPort: number
  /** The model server. */
  readonly upstreamPort: number
  /** The cap of its rate, if the peer has one; absent: plenty. */
  readonly requestsMax?: number | undefined
}

export interface Peer {
  readonly name: string
  readonly title: string
  readonly healthPath: string
  start(options: PeerOptions): Started
}

interface Started {
  readonly process: Process
  readonly headers?: Readonly<Record<string, string>>
  /** Takes the key away while it runs, in the way that it documents. */
  revoke?(): void
}

const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'gw-test')

/** Returns the program's folder. An unfinished download starts again. */
export function bring(name: string, install: (home: string) => void): string {
  const home = join(CACHE, name)
  const done = join(home, 'complete')
  if (existsSync(done)) return home
  rmSync(home, { recursive: true, force: true })
  mkdirSync(home, { recursive: true })
  install(home)
  writeFileSync(done, '')
  return home
}

/** A package of PyPI in a separate environment; returns the folder of its programs. */
export function bringPython(name: string, version: string, requirement = name): string {
  const home = bring(`${name}-${version}`, (folder) => {
    run('python3', ['-m', 'venv', folder])
    run(join(folder, 'bin/pip'), ['install', '--quiet', `${requirement}==${version}`])
  })
  return join(home, 'bin')
}

/** A crate that is compiled here; returns the folder of its programs. */
export function bringCargo(name: string, version: string): string {
  const home = bring(`${name}-${version}`, (folder) =>
    run('cargo', ['install', '--quiet', '--locked', '--root', folder, name, '--version', version]),
  )
  return join(home, 'bin')
}

/** Writes a file that a running peer watches, so that it never reads half of it. */
export function replace(file: string, content: object): void {
  writeFileSync(`${file}.new`, JSON.stringify(content))
  renameSync(`${file}.new`, file)
}

const HELP: Readonly<Record<string, string>> = {
  python3: 'apt-get install python3-venv',
  cargo: 'install Rust 1.88 or later with rustup, and apt-get install libssl-dev pkg-config',
}

export function run(program: string, programArguments: readonly string[]): void {
  try {
    execFileSync(program, programArguments, { stdio: 'inherit' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new Error(`${program} is missing; on Debian: ${HELP[program] ?? `install ${program}`}`)
  }
}
