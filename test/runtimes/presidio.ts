/** The example sidecar with a real Presidio behind it: installed once into a folder of the user's cache. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { CACHE, type Runtime } from './cache.ts'

const EXAMPLE = join(import.meta.dirname, '../../charts/gw/examples/guardrail')
const REQUIREMENTS = join(EXAMPLE, 'requirements.txt')
const run = promisify(execFile)

/** Blocks these kinds of data, and masks all others. */
export async function startPresidio(blocked: readonly string[]): Promise<Runtime> {
  const python = await prepare()
  const argv = [join(EXAMPLE, 'sidecar.py'), '--port', '0', '--block', blocked.join(',')]
  const child = spawn(python, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line = ''] = await once(createInterface(child.stdout), 'line')
  const url = /http:\S+/.exec(line)?.[0]
  if (url === undefined) throw new Error(`The sidecar said: ${line}`)
  return {
    url,
    async stop() {
      const exited = once(child, 'exit')
      child.kill()
      await exited
    },
  }
}

/** The interpreter that has what the example requires. */
async function prepare(): Promise<string> {
  const [version] = (await readFile(REQUIREMENTS, 'utf8')).trim().split('\n')
  const folder = join(CACHE, String(version).replace('==', '-'))
  const python = join(folder, 'bin/python')
  if (existsSync(join(folder, 'installed'))) return python
  await rm(folder, { recursive: true, force: true })
  await mkdir(CACHE, { recursive: true })
  await run('python3', ['-m', 'venv', folder])
  await run(python, ['-m', 'pip', 'install', '--quiet', '--requirement', REQUIREMENTS])
  await mkdir(join(folder, 'installing'))
  await rename(join(folder, 'installing'), join(folder, 'installed'))
  return python
}
