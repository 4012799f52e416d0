/** A real Chroma in a folder of the test. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { PYTHON } from '../model/model-server.ts'
import { answers, until } from '../until.ts'
import { storePackages } from './programs.ts'

/** A row of a store: its payload is what each kind of store keeps with the text. */
export interface StoredPassage {
  readonly id: string
  readonly vector: readonly number[]
  readonly text: string
  readonly tenant: string
  readonly source: string
}

export interface ChromaServer {
  readonly url: string
  /** Replaces the collection. */
  fill(collection: string, passages: readonly StoredPassage[]): Promise<void>
  stop(): Promise<void>
}

const RUN =
  "import chromadb_rust_bindings, sys; chromadb_rust_bindings.cli(['chroma'] + sys.argv[1:])"
const DATABASE = '/api/v2/tenants/default_tenant/databases/default_database'

export async function startChroma(): Promise<ChromaServer> {
  const packages = await storePackages()
  const folder = await mkdtemp(join(tmpdir(), 'gw-chroma-'))
  const port = await freePort()
  const place = ['--host', '127.0.0.1', '--port', String(port), '--path', folder]
  const env = { ...process.env, PYTHONPATH: packages }
  const child = spawn(PYTHON, ['-c', RUN, 'run', ...place], { env, stdio: 'ignore' })
  const exited = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  await until('Chroma answers', () => answers(`${url}/api/v2/heartbeat`))
  const post = async (path: string, body: object) => {
    const answer = await fetch(url + DATABASE + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as { readonly id: string }
  }
  return {
    url,
    async fill(name, passages) {
      await fetch(`${url}${DATABASE}/collections/${name}`, { method: 'DELETE' })
      const configuration = { hnsw: { space: 'cosine' } }
      const { id } = await post('/collections', { name, configuration })
      await post(`/collections/${id}/add`, {
        ids: passages.map((one) => one.id),
        embeddings: passages.map((one) => one.vector),
        documents: passages.map((one) => one.text),
        metadatas: passages.map(({ tenant, source }) => ({ tenant, source })),
      })
    },
    async stop() {
      child.kill('SIGKILL')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}
