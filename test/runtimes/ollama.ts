/** A real Ollama with the scripted model; built once into the user's cache. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../helpers/free-port.ts'
import { prepareModel, preparePython } from '../helpers/model/model-server.ts'
import { answers, until } from '../helpers/until.ts'
import { CACHE, type Runtime } from './cache.ts'

const PROGRAM = join(CACHE, 'ollama-v0.17.4/ollama')
const here = import.meta.dirname
const run = promisify(execFile)

/** Serves the scripted model by the name `tiny`. */
export async function startOllama(): Promise<Runtime> {
  if (!existsSync(PROGRAM)) await run(join(here, 'build-ollama.sh'), [PROGRAM])
  await preparePython()
  const model = await prepareModel('script', 0)
  const folder = await mkdtemp(join(tmpdir(), 'gw-ollama-'))
  const host = `127.0.0.1:${await freePort()}`
  const own = { OLLAMA_HOST: host, OLLAMA_MODELS: join(folder, 'models'), HOME: folder }
  const env = { ...process.env, ...own, OLLAMA_NO_CLOUD: '1', OLLAMA_NUM_PARALLEL: '1' }
  const child = spawn(PROGRAM, ['serve'], { env, stdio: 'ignore' })
  const stop = async () => {
    await end(child)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await until('Ollama answers', () => answers(`http://${host}/api/version`))
    const modelfile = join(folder, 'Modelfile')
    const rest = await readFile(join(here, 'modelfile.txt'), 'utf8')
    await writeFile(modelfile, `FROM ${model}\n${rest}`)
    await run(PROGRAM, ['create', 'tiny', '-f', modelfile], { env })
    return { url: `http://${host}`, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** It ends its runners with itself. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
