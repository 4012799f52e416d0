/** OpenAI's own client in a pod that gets only the address and the key. */
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { clientPod, clientPrograms } from './objects.ts'
import { SPACE } from './spaces.ts'
import { ROOT, SECONDS_MAX, type World } from './world.ts'

export interface SdkRequest {
  /** The gateway's URL, with the version of the API. */
  readonly baseUrl: string
  readonly key: string
  readonly model: string
  readonly content: string
}

export interface SdkAnswer {
  readonly text: string
  /** The number of pieces of the answer. */
  readonly pieces: number
}

export async function streamBySdk(world: World, request: SdkRequest): Promise<SdkAnswer> {
  const { image, kubectl } = world
  const wait = ['node', '-e', 'process.on("SIGTERM", process.exit); setInterval(() => {}, 1e9)']
  const env = { OPENAI_BASE_URL: request.baseUrl, OPENAI_API_KEY: request.key }
  await kubectl(['-n', SPACE, 'delete', 'pod', 'sdk', '--ignore-not-found', '--wait'])
  await world.apply(clientPrograms(), clientPod({ name: 'sdk', image, command: wait, env }))
  const ready = ['wait', '--for=condition=Ready', 'pod/sdk', `--timeout=${SECONDS_MAX}s`]
  await kubectl(['-n', SPACE, ...ready])
  const exec = ['-n', SPACE, 'exec', '-i', 'sdk', '--', 'node']
  await kubectl([...exec, '-e', UNPACK], { stdin: JSON.stringify(await filesOfSdk()) })
  const text = await kubectl([...exec, '/scratch/stream.ts', request.model, request.content])
  await kubectl(['-n', SPACE, 'delete', 'pod', 'sdk', '--wait=false'])
  return JSON.parse(text)
}

const UNPACK = `
const { mkdirSync, readFileSync, writeFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
for (const [name, text] of Object.entries(JSON.parse(readFileSync(0, 'utf8')))) {
  mkdirSync(dirname(join('/scratch', name)), { recursive: true })
  writeFileSync(join('/scratch', name), text)
}`

/** The package as installed here, without files that are not run. */
async function filesOfSdk(): Promise<Record<string, string>> {
  const cwd = join(ROOT, 'node_modules/openai')
  const files: Record<string, string> = {
    'stream.ts': await readFile(join(import.meta.dirname, 'client/stream.ts'), 'utf8'),
  }
  const take = async (name: string) => {
    files[`node_modules/openai/${name}`] = await readFile(join(cwd, name), 'utf8')
  }
  await take('package.json')
  for await (const name of glob('**/*.{js,mjs}', { cwd, exclude: ['src/**'] })) await take(name)
  return files
}
