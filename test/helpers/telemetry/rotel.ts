/** A real rotel, a collector in Rust with a stricter reader; it forwards what it has accepted. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../free-port.ts'
import { PYTHON, preparePython } from '../model/model-server.ts'
import { until } from '../until.ts'

const run = promisify(execFile)

const VERSION = '0.0.1a15'
const CACHE = join(import.meta.dirname, '../../../.cache')

export interface RunningRotel {
  readonly url: string
  stop(): Promise<void>
}

/** `to`: the base of a receiver of OTLP over HTTP. */
export async function startRotel(to: string): Promise<RunningRotel> {
  const program = await provideRotel()
  const [http, grpc] = [await freePort(), await freePort()]
  const child = spawn(program, [
    'start',
    `--otlp-http-endpoint=127.0.0.1:${http}`,
    `--otlp-grpc-endpoint=127.0.0.1:${grpc}`,
    '--exporter=otlp',
    '--otlp-exporter-protocol=http',
    `--otlp-exporter-endpoint=${to}`,
  ])
  let said = ''
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4000)
    })
  }
  await until('rotel listens', async () => {
    if (child.exitCode !== null) throw new Error(`rotel ended; ${remedyFor(said)}`)
    return await accepts(http)
  })
  return {
    url: `http://127.0.0.1:${http}`,
    async stop() {
      const exited = once(child, 'exit')
      child.kill()
      await exited
    },
  }
}

/** Its wheel holds the program, which needs the library of the Python that the wheel is for. */
async function provideRotel(): Promise<string> {
  const folder = join(CACHE, `rotel-${VERSION}`)
  const program = join(folder, 'rotel/rotel-agent')
  await preparePython()
  if (existsSync(program)) return program
  await mkdir(CACHE, { recursive: true })
  const fresh = await mkdtemp(join(CACHE, 'new-rotel-'))
  const options = ['--quiet', '--no-deps', '--only-binary=:all:', `--target=${fresh}`]
  try {
    await run(PYTHON, ['-m', 'pip', 'install', ...options, `rotel==${VERSION}`])
    await rename(fresh, folder)
  } catch (error) {
    if (!existsSync(program)) throw error
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
  return program
}

function remedyFor(said: string): string {
  const [library] = /libpython\d\.\d+/.exec(said) ?? []
  return library === undefined ? `its last words: ${said}` : `apt-get install ${library}: ${said}`
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
