/** A real Triton server: installed once into a folder of the user's cache. It has no OpenAI frontend, only its own API. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { CACHE, type Runtime } from './cache.ts'

const VERSION = '0.7.0'
/** Its backend needs the shared library of Debian's Python. */
const PYTHON = '/usr/bin/python3'
const run = promisify(execFile)

export interface Triton extends Runtime {
  readonly metricsUrl: string
}

export async function startTriton(): Promise<Triton> {
  const child = spawn(await prepare(), [join(import.meta.dirname, 'serve-triton.py')], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const stop = async () => {
    if (child.exitCode !== null) return
    const exited = once(child, 'exit')
    child.stdin.end('\n')
    await exited
  }
  for await (const line of createInterface(child.stdout)) {
    const [, http, metrics] = /^triton (\d+) (\d+)$/.exec(line) ?? []
    if (http === undefined) continue
    const at = (port = '') => `http://127.0.0.1:${port}`
    return { url: at(http), metricsUrl: at(metrics), stop }
  }
  throw new Error('Triton ended before it served.')
}

async function prepare(): Promise<string> {
  const folder = join(CACHE, `pytriton-${VERSION}`)
  const python = join(folder, 'bin/python')
  if (existsSync(python)) return python
  const partial = `${folder}.${process.pid}`
  await rm(partial, { recursive: true, force: true })
  await run(PYTHON, ['-m', 'venv', partial])
  const packages = [`nvidia-pytriton==${VERSION}`, 'numpy']
  await run(join(partial, 'bin/python'), ['-m', 'pip', 'install', '--quiet', ...packages])
  await rename(partial, folder)
  return python
}
