/** A peer: a program at a fixed version, downloaded into the user's cache, configured for the same upstream. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
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
  start(options: PeerOptions): {
    readonly process: Process
    readonly headers?: Readonly<Record<string, string>>
  }
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

export function run(program: string, programArguments: readonly string[]): void {
  execFileSync(program, programArguments, { stdio: 'inherit' })
}
