/** A real model server for tests: llama.cpp with a tiny model whose answers are known. */
import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { answers, until } from '../until.ts'

const WORDS = Array.from({ length: 64 }, (_, index) => `w${String(index + 1).padStart(3, '0')} `)

/** The whole answer of the model `script`: 64 words and an emoji of four tokens. */
export const SCRIPTED_TEXT = `${WORDS.join('')}😀`

/** Its length: 64 words, four tokens of the emoji, and the token that ends the answer. */
export const SCRIPTED_TOKENS = 69

export interface ModelServerOptions {
  /** `script` ends by itself; `loop` says the words again and again. */
  readonly model?: 'script' | 'loop'
  /** Layers that only cost time: 2 make about 200 tokens a second from 10,000. */
  readonly slowLayers?: number
  readonly port?: number
  /** Requests served at a time; the others wait. */
  readonly parallel?: number
  /** Tokens of prompt and answer for one request. */
  readonly context?: number
  readonly apiKey?: string
  /** How it makes one vector of a text; absent: it has no embeddings. */
  readonly pooling?: 'mean'
  /** The model's name in answers. */
  readonly alias?: string
}

export interface ModelServer {
  readonly url: string
  /** The tokenizer.json of its model. */
  readonly tokenizerFile: string
  stop(): Promise<void>
}

const run = promisify(execFile)
const here = import.meta.dirname
const cache = join(here, '../../../.cache')
const venv = join(cache, 'python')
const stamp = join(venv, 'installed.txt')
const requirements = join(here, 'requirements.txt')
const makeModel = join(here, 'make-model.py')
const setupSecondsMax = 1200

/** The interpreter with the pins of `requirements.txt`, once `preparePython` has resolved. */
export const PYTHON = join(venv, 'bin/python')

/** Starts a server on 127.0.0.1 and resolves once it answers. */
export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const { model = 'script', slowLayers = 0, apiKey, ...numbers } = options
  await preparePython()
  const file = await prepareModel(model, slowLayers)
  const settings = Object.entries({ ...numbers, 'api-key': apiKey })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `--${name}=${value}`)
  const child = spawn(PYTHON, [join(here, 'serve.py'), ...settings, file])
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-4000)
  })
  try {
    const url = await firstLine(child)
    await until('the model server is healthy', () => answers(`${url}/health`))
    return { url, tokenizerFile: join(dirname(file), 'tokenizer.json'), stop: () => stop(child) }
  } catch (error) {
    await stop(child)
    const remedy = log.includes('libgomp') ? 'apt-get install libgomp1' : 'see its last words'
    throw new Error(`The model server did not start; ${remedy}: ${log}`, { cause: error })
  }
}

/** Installs the pinned Python packages if they are missing. */
export async function preparePython(): Promise<void> {
  const wanted = await readFile(requirements, 'utf8')
  const isInstalled = async () => (await readFile(stamp, 'utf8').catch(() => '')) === wanted
  if (await isInstalled()) return
  await withSetupLock(async () => {
    if (await isInstalled()) return
    await rm(venv, { recursive: true, force: true })
    await run('python3', ['-m', 'venv', venv]).catch((cause: unknown) => {
      const remedy = 'apt-get install python3 python3-venv python3-pip'
      throw new Error(`These tests need Python 3 with venv and pip: ${remedy}`, { cause })
    })
    await run(PYTHON, ['-m', 'pip', 'install', '--quiet', '--requirement', requirements])
    await writeFile(stamp, wanted)
  })
}

/** The path of the model's file, which is made again after a change of its program. */
export async function prepareModel(model: 'script' | 'loop', slowLayers: number): Promise<string> {
  const hash = createHash('sha256')
  for (const source of [makeModel, requirements]) hash.update(await readFile(source))
  const name = `tiny-${model}${slowLayers > 0 ? `-slow${slowLayers}` : ''}.gguf`
  const file = join(cache, 'models', hash.digest('hex').slice(0, 12), name)
  if (existsSync(file)) return file
  await withSetupLock(async () => {
    if (existsSync(file)) return
    await mkdir(dirname(file), { recursive: true })
    const loop = model === 'loop' ? ['--loop'] : []
    await run(PYTHON, [makeModel, ...loop, `--slow=${slowLayers}`, `${file}.part`])
    await rename(`${file}.part`, file)
  })
  return file
}

/**
 * Test files run at the same time, and one of them does the set-up. SQLite's lock is the system's: it ends with its
 * holder, so an interrupted set-up leaves nothing to clean.
 */
async function withSetupLock(work: () => Promise<void>): Promise<void> {
  await mkdir(cache, { recursive: true })
  const lock = new DatabaseSync(join(cache, 'setup.lock'), { timeout: 0 })
  try {
    await until('no other process sets up', () => take(lock), setupSecondsMax)
    await work()
  } finally {
    lock.close()
  }
}

function take(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    // 5 is SQLITE_BUSY.
    if (error instanceof Error && 'errcode' in error && error.errcode === 5) return false
    throw error
  }
}

async function firstLine(child: ChildProcessWithoutNullStreams): Promise<string> {
  await once(child, 'spawn')
  for await (const line of createInterface({ input: child.stdout })) return line
  throw new Error('It ended before it listened.')
}

async function stop(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  // It needs no clean end.
  child.kill('SIGKILL')
  await exited
}
