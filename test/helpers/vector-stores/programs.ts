/** Chroma and Postgres with pgvector, from Python packages: unpacked into a folder, not installed. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PYTHON, preparePython } from '../model/model-server.ts'

const run = promisify(execFile)

/** Kept between runs, in a folder that Postgres can read too: it refuses to run as root. */
const CACHE = process.env.GW_TEST_SERVERS ?? join(tmpdir(), 'gw-test-servers')
const PACKAGES = ['chromadb==1.5.9', 'pgserver==0.1.4']

/** The folder of the packages. Two tests that unpack at the same time both succeed, and one of them is kept. */
export async function storePackages(): Promise<string> {
  const folder = join(CACHE, `vector-stores-${PACKAGES.join('-').replaceAll('==', '-')}`)
  await preparePython()
  if (existsSync(folder)) return folder
  await mkdir(CACHE, { recursive: true })
  const fresh = await mkdtemp(join(CACHE, 'new-'))
  await chmod(fresh, 0o755)
  const options = ['--quiet', '--no-deps', '--only-binary=:all:', `--target=${fresh}`]
  try {
    await run(PYTHON, ['-m', 'pip', 'install', ...options, ...PACKAGES])
    await rename(fresh, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
  return folder
}
