/** Installs the pinned clients: one Python environment for each group, and one folder of npm packages. */
import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { VERSIONS } from './rows.ts'

const run = promisify(execFile)
const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gw-test', 'clients')
const INSTALL_MS_MAX = 900_000

const environments = new Map<string, Promise<string>>()

/** The Python interpreter of a group, installed once. */
export function pythonOf(group: string): Promise<string> {
  const known = environments.get(group) ?? makePython(group)
  environments.set(group, known)
  return known
}

async function makePython(group: string): Promise<string> {
  const wanted = VERSIONS.python[group] ?? []
  // The programs of a Python environment contain the path of its folder, so it must not move.
  const folder = join(CACHE, `python-${group}-${digestOf(wanted)}`)
  const done = join(folder, 'installed')
  if (!existsSync(done)) {
    await rm(folder, { recursive: true, force: true })
    await run('python3', ['-m', 'venv', folder])
    const options = { timeout: INSTALL_MS_MAX }
    await run(join(folder, 'bin/pip'), ['install', '--quiet', ...wanted], options)
    await writeFile(done, '')
  }
  return join(folder, 'bin/python')
}

let packages: Promise<string> | undefined

/** The folder with `node_modules` and copies of the drivers, which resolve packages there; created once. */
export function nodeFolder(): Promise<string> {
  packages ??= makeNodeFolder()
  return packages
}

async function makeNodeFolder(): Promise<string> {
  const folder = join(CACHE, `node-${digestOf(VERSIONS.node)}`)
  if (!existsSync(folder)) {
    const partial = `${folder}.${process.pid}`
    await mkdir(partial, { recursive: true })
    const manifest = { private: true, dependencies: VERSIONS.node }
    await writeFile(join(partial, 'package.json'), JSON.stringify(manifest))
    // Versions of several years are installed together, so their peer dependencies conflict.
    const flags = ['--legacy-peer-deps', '--no-audit', '--no-fund', '--loglevel=error']
    await run('npm', ['install', ...flags], { cwd: partial, timeout: INSTALL_MS_MAX })
    await rename(partial, folder)
  }
  await cp(join(import.meta.dirname, 'node'), folder, { recursive: true })
  return folder
}

/** Builds the Go client where Go is installed. */
export async function goProgram(): Promise<string> {
  const finder = join(import.meta.dirname, '../helpers/kubernetes/programs/go.sh')
  const { stdout } = await run('bash', [finder])
  await mkdir(CACHE, { recursive: true })
  const program = join(CACHE, 'go-client')
  const source = join(import.meta.dirname, 'go/main.go')
  await run(stdout.trim(), ['build', '-o', program, source], { timeout: INSTALL_MS_MAX })
  return program
}

function digestOf(wanted: unknown): string {
  return hash('sha256', JSON.stringify(wanted)).slice(0, 12)
}
